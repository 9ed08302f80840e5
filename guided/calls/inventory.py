"""`Inventory`: the spec of calls of any number of tools, which lowers a tool once a text has passed its name.

The language is that of `guided.calls.spec.Tools`; `guided.calls.call_states` describes its states. An inventory contains only tools with
JSON definitions. A tool that cannot be lowered raises an error with its place when a text reaches it.
"""

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from guided.automata.build import from_tree, one_budget
from guided.automata.calls import CallAutomaton
from guided.calls.argument_list import ArgumentList
from guided.calls.call_states import CallStates, Parts
from guided.calls.constraints import Caps
from guided.calls.embedded import EmbeddedValues
from guided.calls.formats.format import Format
from guided.calls.formats.texts import any_of
from guided.calls.groups import Count
from guided.calls.lowering import argument_list_of, least_length, rest_tree
from guided.calls.name_masks import NameMasks
from guided.calls.names import Names
from guided.calls.schema import VALUES, type_of_schema
from guided.calls.sources.documents import SOURCES
from guided.calls.texts import Texts
from guided.calls.tool import Entry, Tool
from guided.engine.fingerprints import fingerprint_of
from guided.engine.specs import Lowered
from guided.errors import SchemaError
from guided.files import pack, unpack
from guided.limits import Limits
from guided.patterns.tree import Call
from guided.schema.frontend.json_values import text_of, value_of
from guided.schema.pushdown.embedding import Embedding
from guided.schema.pushdown.frames import Frame, Value

__all__ = ["CHECKED_AT_ONCE", "ArgumentLists", "Inventory"]

# Up to this number, definitions are checked when the spec is made; of more, each when a text has passed its name, since published documents
# take 2 to 16 ms each.
CHECKED_AT_ONCE = 100
# Maximum number of parameters that a note lists.
_LISTED = 20

_MODULUS = 1 << 256
# Argument schemas that together contain all text that may surround a value.
_NUMBER = {"type": "number"}
_SAMPLES: tuple[dict[str, Any], ...] = (
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": _NUMBER, "b": _NUMBER, "c": _NUMBER}, "required": ["a"]},
    {"type": "object", "properties": {"a": _NUMBER, "b": _NUMBER}},
)


class ArgumentLists(Mapping[str, ArgumentList]):
    """The argument lists of tools by name, created on first access.

    Parameters
    ----------
    tools : Mapping of str to Tool
    """

    def __init__(self, tools: Mapping[str, Tool], form: Format, caps: Caps, strict: bool) -> None:
        self.tools = tools
        self._form, self._caps, self._strict = form, caps, strict
        self._made: dict[str, ArgumentList] = {}

    def changed(self, added: Iterable[Tool], removed: Iterable[str]) -> "ArgumentLists":
        """Return a copy with tools added and removed; those of the other tools are kept."""
        tools, made = dict(self.tools), dict(self._made)
        for name in removed:
            del tools[name]
            made.pop(name, None)
        tools.update((tool.name, tool) for tool in added)
        found = ArgumentLists(tools, self._form, self._caps, self._strict)
        found._made = made
        return found

    def __getitem__(self, name: str) -> ArgumentList:
        found = self._made.get(name)
        if found is None:
            with one_budget():
                found = self._make(name)
            for place in self.tools[name].never_written(self._caps, self._strict):
                warnings.warn(f"no value satisfies {place}, so calls never have it", UserWarning, stacklevel=2)
        return found

    def _make(self, name: str) -> ArgumentList:
        parameters = self.tools[name].parameters(self._caps, self._strict)
        found = self._made[name] = argument_list_of(name, parameters, self._form)
        return found

    def check(self) -> None:
        """Create all argument lists.

        Raises
        ------
        SchemaError
            A tool cannot be lowered.
        """
        with one_budget():
            for name in self.tools:
                if name not in self._made:
                    self._make(name)

    @property
    def are_few(self) -> bool:
        """Whether there are so few that all are created in advance."""
        return len(self.tools) <= CHECKED_AT_ONCE

    @property
    def are_flat(self) -> bool:
        """Whether the calls are a finite automaton that is small enough to be built as a whole: there are few, and none needs a stack."""
        return self.are_few and not any(argument_list.needs_stack for argument_list in self.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the tools whose argument lists are created."""
        made = (self.tools[name] for name in tuple(self._made))
        never = [place for tool in made for place in tool.never_written(self._caps, self._strict)]
        if not never:
            return ()
        listed = ", ".join([*never[:_LISTED], *(["..."] if len(never) > _LISTED else [])])
        return (f"no value satisfies these optional parameters, so calls never have them: {listed}",)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self.tools


@dataclass(frozen=True, slots=True, eq=False)
class Inventory:
    """Calls of many tools.

    Attributes
    ----------
    argument_lists : ArgumentLists
        Argument lists of the tools, all with JSON definitions.
    texts : Texts
    caps : Caps
    strict : bool
    names : Names
    total : int
        Sum of the tools' fingerprints as numbers, modulo 2**256, so that adding a tool means adding its fingerprint.
    """

    kind: ClassVar[str] = "inventory"

    argument_lists: ArgumentLists = field(repr=False)
    texts: Texts
    caps: Caps
    strict: bool
    names: Names = field(repr=False)
    total: int = field(repr=False)

    @classmethod
    def of(cls, argument_lists: ArgumentLists, texts: Texts, caps: Caps, strict: bool) -> "Inventory":
        """Build the spec of some tools. O(n log n) in their number."""
        total = sum(map(_number, argument_lists.tools.values()))
        return cls(argument_lists, texts, caps, strict, Names.of(argument_lists), total % _MODULUS)

    def changed(self, argument_lists: ArgumentLists, added: Sequence[Tool], removed: Sequence[str]) -> "Inventory":
        """Return a copy with tools added and removed. O(n) copies, no work for the other tools."""
        total = (
            self.total + sum(map(_number, added)) - sum(_number(self.argument_lists.tools[name]) for name in removed)
        )
        names = self.names.changed([tool.name for tool in added], removed)
        return replace(self, argument_lists=argument_lists, names=names, total=total % _MODULUS)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the spec, independent of the order of its tools."""
        texts = replace(self.texts, continues=True, must_call=False)
        found = fingerprint_of(self.kind, text_of([asdict(texts), asdict(self.caps), self.strict]), f"{self.total:x}")
        # Invariant: the same as the fingerprint of `guided.calls.spec.FirstCall`.
        return (
            found
            if self.texts.continues
            else fingerprint_of("next call" if self.texts.must_call else "first call", found)
        )

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary."""
        return self.texts.markers

    @property
    def data(self) -> str:
        """Documents and definitions, serialized and compressed."""
        sources: dict[int, int] = {}
        held: list[Any] = []
        listed = []
        for tool in self.argument_lists.tools.values():
            entry = tool.schema
            if isinstance(entry, Entry) and not isinstance(entry.source, Given):
                number = sources.setdefault(id(entry.source), len(sources))
                if number == len(held):
                    held.append([entry.source.kind, entry.source.fingerprint, entry.source.data])
                listed.append([tool.name, number, entry.key])
            else:
                listed.append([tool.name, -1, entry.source.data if isinstance(entry, Entry) else entry])
        content = {
            "texts": asdict(self.texts), "caps": asdict(self.caps), "strict": self.strict, "sources": held, "tools": listed,
        }  # fmt: skip
        return pack(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "Inventory":
        """Restore the spec from `data`.

        Raises
        ------
        ValueError
            The text is not an inventory.
        """
        try:
            text = unpack(data, (limits or Limits()).file_bytes).decode("utf-8", "surrogatepass")
            content = value_of(text, limits)
            sources = [_source(kind, fingerprint, document) for kind, fingerprint, document in content["sources"]]
            tools = {
                name: Tool(Entry(name, "", sources[number] if number >= 0 else Given(key), key if number >= 0 else ""))
                for name, number, key in content["tools"]
            }
            about = content["texts"]
            form = Format(**{name: _hashable(value) for name, value in about["form"].items()})
            reasoning = _hashable(about["reasoning"])
            is_running, continues, must_call = (bool(about[name]) for name in ("is_running", "continues", "must_call"))
            texts = Texts(form, is_running, Count(**about["count"]), reasoning, continues, must_call)
            caps, strict = Caps(**content["caps"]), bool(content["strict"])
            return cls.of(ArgumentLists(tools, form, caps, strict), texts, caps, strict)
        except (KeyError, IndexError, TypeError, AttributeError, RecursionError, SchemaError) as error:
            raise ValueError(f"not a valid inventory: {error}") from error

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """Build the automaton of the texts.

        Raises
        ------
        SchemaError, LimitError
        VocabularyError
            Every text needs bytes that the alphabet lacks.
        """
        automaton = Embedding(partial(CallStates, self._parts(limits)), VALUES, limits, alphabet)
        return Lowered(
            automaton,
            automaton.structure,
            automaton.structure.tables.n_controls,
            notes=self.argument_lists.notes,
            masks=NameMasks,
        )

    def _parts(self, limits: Limits) -> Parts:
        top, before, firsts, following = _around(self.texts, limits)
        if not self.argument_lists.are_few:
            return Parts(top, before, self.names, partial(self._rest, limits), firsts, following)
        self.argument_lists.check()
        lengths = {
            name: least_length(argument_list, self.texts.form) for name, argument_list in self.argument_lists.items()
        }
        return Parts(top, before, self.names, partial(self._rest, limits), firsts, following, lengths)

    def _rest(self, limits: Limits, name: str) -> tuple[Hashable, Callable[[], Frame]]:
        argument_list = self.argument_lists[name]
        return argument_list, partial(_rest_frame, argument_list, self.texts.form, limits)


class Given:
    """A source that holds one definition."""

    kind = "given"

    def __init__(self, schema: Any) -> None:
        self.data = schema
        self.fingerprint = fingerprint_of(self.kind, text_of(schema))

    def schema(self, _key: str) -> Any:
        """Return the schema of the definition."""
        return self.data


def _source(kind: str, fingerprint: str, document: Any) -> Any:
    found = SOURCES[kind](document)
    found.fingerprint = fingerprint
    return found


def _number(tool: Tool) -> int:
    """Fingerprint of a tool's name and arguments, as a number."""
    if isinstance(tool.schema, Entry):
        what = (tool.schema.source.fingerprint, tool.schema.key)
    else:
        what = (Given(tool.schema).fingerprint, "")
    return int(fingerprint_of("tool", tool.name, *what), 16)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


@lru_cache(maxsize=64)
def _around(texts: Texts, limits: Limits) -> tuple[Frame, Frame, bytes, bytes]:
    """The parts shared by all tools: text, calls before the name, the bytes after names and after values."""
    form = texts.form
    outside = texts.automaton(Call(0), (), limits)
    top = Frame(outside.automaton, outside.calls, (Value(True),))
    before = Frame(from_tree(any_of(form.texts("before_name"), form.id), limits), np.empty((0, 3), np.int32), ())
    firsts: set[int] = set()
    following: set[int] = set()
    argument_lists = [
        argument_list_of("tool", Tool({"name": "tool", "parameters": schema}).parameters(), form) for schema in _SAMPLES
    ]
    if form.is_json:
        argument_lists.append(ArgumentList((), None, (), type_of_schema({"type": "object"}, "", "")))
    for argument_list in argument_lists:
        rest = _rest_frame(argument_list, form, limits)
        following.update(rest.following)
        firsts.update(_onward(rest, 0))
    return top, before, bytes(sorted(firsts)), bytes(sorted(following))


def _onward(frame: Frame, state: int) -> list[int]:
    row = frame.automaton.table[state, frame.automaton.classes]
    return np.flatnonzero(row >= 0).tolist()


def _rest_frame(argument_list: ArgumentList, form: Format, limits: Limits) -> Frame:
    """The frame of the text after the name in calls with these arguments."""
    embedded = EmbeddedValues()
    return embedded.frame(CallAutomaton.from_tree(rest_tree(argument_list, form, embedded), limits))
