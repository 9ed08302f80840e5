"""`Inventory`: the spec of calls of any number of tools, which lowers a tool once a text has passed its name.

The language is that of `guided.calls.spec.Tools`; `guided.calls.call_states` describes its states. An inventory contains only tools with
JSON definitions. A tool of a document that cannot be lowered raises an error with its place when a text reaches it.
"""

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from guided.automata.build import from_tree, in_one_budget
from guided.automata.calls import CallAutomaton
from guided.automata.pushdown import Pushdown
from guided.caching import cached_property
from guided.calls.argument_list import ArgumentList
from guided.calls.call_states import CallStates, Parts
from guided.calls.embedded import EmbeddedValues
from guided.calls.formats.format import LABEL, Format
from guided.calls.formats.texts import any_of
from guided.calls.groups import Count
from guided.calls.lowering import argument_list_of, call_tree, check_name, least_length, options_of, rest_tree
from guided.calls.names import Names
from guided.calls.naming import LeftOut
from guided.calls.parameters import Parameter
from guided.calls.schema import SchemaType, options_in, type_of_schema
from guided.calls.sources.documents import SOURCES
from guided.calls.texts import Texts
from guided.calls.tool import Entry, Tool
from guided.encoding import fingerprint_of
from guided.engine.specs import Lowered
from guided.engine.templates import impossible_in
from guided.errors import LimitError, PatternError, SchemaError, placed
from guided.files import pack, unpack
from guided.index.pushdown_masks import Masks
from guided.limits import Limits
from guided.patterns.tree import Call, Node
from guided.schema.formula.atoms import Caps
from guided.schema.frontend.json_values import text_of, value_of
from guided.schema.frontend.location import pointer_to
from guided.schema.pushdown.embedding import Embedding, check_documents
from guided.schema.pushdown.frames import Frame, SubTrie, Value
from guided.vocabulary.trie import TokenTrie

__all__ = ["CHECKED_AT_ONCE", "ArgumentLists", "Inventory", "WritableTypes", "rest_frame"]

# Up to this number, definitions are arranged in the format when the spec is made; of more, each when a text has passed its name, since
# those of published documents take 2 to 16 ms each. `WritableTypes` checks these before.
CHECKED_AT_ONCE = 100
# Maximum number of parameters that a note lists, and of tools with a note.
_LISTED = 20

_MODULUS = 1 << 256
# Argument schemas that together contain all text that may surround a value.
# Why also objects: some formats have patterns for single values.
_NUMBER = {"type": ["number", "object"]}
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
    left_out : sequence of LeftOut
        Tools that are left out, for the notes.
    """

    def __init__(
        self, tools: Mapping[str, Tool], form: Format, caps: Caps, strict: bool, left_out: Sequence[LeftOut] = ()
    ) -> None:
        self.tools = tools
        self.left_out = tuple(left_out)
        self._form, self._caps, self._strict = form, caps, strict
        self._made: dict[str, ArgumentList] = {}

    def changed(self, added: Iterable[Tool], removed: Iterable[str]) -> "ArgumentLists":
        """Return a copy with tools added and removed; those of the other tools are kept."""
        tools, made = dict(self.tools), dict(self._made)
        for name in removed:
            del tools[name]
            made.pop(name, None)
        tools.update((tool.name, tool) for tool in added)
        found = ArgumentLists(tools, self._form, self._caps, self._strict, self.left_out)
        found._made = made
        return found

    def without_unwritable(self) -> "ArgumentLists":
        """Return a copy without the tools that cannot be lowered or written in the format; it leaves them out."""
        left_out = list(self.left_out)
        for name, tool in self.tools.items():
            try:
                if name not in self._made:
                    self._make(name)
            except (LimitError, PatternError, SchemaError) as error:
                left_out.append(LeftOut(tool, error))
        found = self.changed((), [one.name for one in left_out[len(self.left_out) :]])
        if not found.tools:
            first = left_out[0]
            raise SchemaError(f"no tool can be used; the first: {first.error}", pointer_to(first.name), "unsupported")
        found.left_out = tuple(left_out)
        return found

    def __getitem__(self, name: str) -> ArgumentList:
        found = self._made.get(name)
        if found is None:
            found = in_one_budget(lambda: self._make(name))
            for place in self.tools[name].never_written(self._caps, self._strict):
                warnings.warn(f"no value satisfies {place}, so calls never have it", UserWarning, stacklevel=2)
        return found

    def _make(self, name: str) -> ArgumentList:
        with placed(pointer_to(name)):
            parameters = _parameters(self.tools[name], self._form, self._caps, self._strict)
            found = self._made[name] = argument_list_of(name, parameters, self._form)
        return found

    def check(self) -> None:
        """Create all argument lists.

        Raises
        ------
        SchemaError
            A tool cannot be lowered.
        """
        in_one_budget(lambda: [self._make(name) for name in self.tools if name not in self._made])

    def documents(self) -> Iterator[tuple[Any, str, str]]:
        """Yield the schemas of arguments, each with a pointer and its place; of many tools, without those of documents."""
        few = self.are_few
        for name, tool in self.tools.items():
            if not few and isinstance(tool.schema, Entry) and not isinstance(tool.schema.source, Given):
                continue
            # PERF: of many tools, those of all arguments together would take as long as to make the tools (`benchmarks.inventory`).
            options = self._caps, self._strict
            for parameter in _parameters(tool, self._form, *options) if few else tool.parameters(*options):
                place = pointer_to(name) if parameter.kind == "whole" else pointer_to(name, parameter.label)
                yield parameter.type.document, parameter.type.pointer, place

    @cached_property
    def call(self) -> tuple[Node | None, EmbeddedValues]:
        """The tree of a call, None if no tool can be called, and the schema values in it."""
        return self.made_call()

    def made_call(self, has_texts: bool = False) -> tuple[Node | None, EmbeddedValues]:
        """Make `call`; ``has_texts`` as of `EmbeddedValues`."""
        embedded = EmbeddedValues(has_texts)
        return (call_tree(tuple(self.items()), self._form, embedded) if self.tools else None), embedded

    @property
    def lowered(self) -> tuple[str, ...]:
        """The tools whose argument lists are created."""
        return tuple(self._made)

    @property
    def are_few(self) -> bool:
        """Whether there are so few that all are created in advance."""
        return len(self.tools) <= CHECKED_AT_ONCE

    @property
    def are_flat(self) -> bool:
        """Whether the calls are a finite automaton that is small enough to be built as a whole: there are few, and none has arguments."""
        return self.are_few and not any(listed.whole or listed.slots for listed in self.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the tools whose argument lists are created, and on those that are left out."""
        notes = [one.note for one in self.left_out[:_LISTED]]
        if len(self.left_out) > _LISTED:
            notes.append(f"left out {len(self.left_out) - _LISTED:,} more tools")
        made = (self.tools[name] for name in self.lowered)
        never = [place for tool in made for place in tool.never_written(self._caps, self._strict)]
        if never:
            listed = ", ".join([*never[:_LISTED], *(["..."] if len(never) > _LISTED else [])])
            notes.append(f"no value satisfies these optional parameters, so calls never have them: {listed}")
        return tuple(notes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self.tools


def _parameters(tool: Tool, form: Format, caps: Caps, strict: bool) -> Sequence[Parameter]:
    """Return the parameters of a tool, or the one that stands for all of them: where order or names are free, or values have types."""
    found = () if form.is_whole else tool.parameters(caps, strict)
    return tool.together(caps, strict) if form.is_whole or any(one.kind == "others" for one in found) else found


class WritableTypes:
    """Checks in microseconds whether a format can write definitions: their names, and each type of an argument once.

    The tools of documents are not lowered for it, so only their names are checked.
    """

    def __init__(self, form: Format, caps: Caps, strict: bool) -> None:
        self._form, self._caps, self._strict = form, caps, strict
        self._known: set[tuple[SchemaType, str]] = set()
        self._is_json = form.is_json

    def check(self, tool: Tool) -> None:
        """Raise SchemaError or LimitError if the format cannot write calls of a tool."""
        form = self._form
        check_name(tool.name, form)
        if self._is_json or isinstance(tool.schema, Entry):
            return
        parameters = _parameters(tool, form, self._caps, self._strict)
        if form.is_positional:
            argument_list_of(tool.name, parameters, form)
            return
        for parameter in parameters:
            key = parameter.type, parameter.kind
            if key not in self._known or not (form.is_quoted or LABEL.fullmatch(parameter.label)):
                argument_list_of(tool.name, (parameter,), form)
                self._known.add(key)


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
        options = text_of([asdict(texts), asdict(self.caps), self.strict])
        return self.texts.fingerprint(fingerprint_of(self.kind, options, f"{self.total:x}"))

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
        """See `StoredSpec`."""
        try:
            text = unpack(data, (limits or Limits()).file_bytes).decode("utf-8", "surrogatepass")
            content = value_of(text, limits)
            sources: list[Any] = []
            for kind, fingerprint, document in content["sources"]:
                sources.append(SOURCES[kind](document))
                sources[-1].fingerprint = fingerprint
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
        """See `StackSpec`."""
        parts = self._parts(limits)
        check_documents(self.argument_lists.documents(), options_in(None, self.caps), limits)
        automaton = Embedding(partial(CallStates, parts), options_of(self.texts.form, self.caps), limits, alphabet)
        return Lowered(
            automaton,
            automaton.structure,
            automaton.structure.tables.n_controls,
            notes=self.argument_lists.notes,
            masks=NameMasks,
        )

    def impossible_parts(self, limits: Limits) -> tuple[str, ...]:
        """Return notes on parts of the arguments that no text ever has, of the tools that are lowered so far."""
        values: list[Value] = []
        for name in self.argument_lists.lowered:
            embedded = EmbeddedValues(tool=name)
            rest_tree(self.argument_lists[name], self.texts.form, embedded)
            values += embedded.values
        return impossible_in(values, options_of(self.texts.form, self.caps), limits)

    def _parts(self, limits: Limits) -> Parts:
        top, before, firsts, following = _around(self.texts, limits)
        lengths = None
        if self.argument_lists.are_few:
            self.argument_lists.check()
            lengths = {name: least_length(listed, self.texts.form) for name, listed in self.argument_lists.items()}
        return Parts(top, before, self.names, partial(self._rest, limits), firsts, following, lengths)

    def _rest(self, limits: Limits, name: str) -> tuple[Hashable, Callable[[], Frame]]:
        argument_list = self.argument_lists[name]
        return argument_list, partial(rest_frame, argument_list, self.texts.form, limits, name)


class Given:
    """A source that holds one definition."""

    kind = "given"

    def __init__(self, schema: Any) -> None:
        self.data = schema
        self.fingerprint = fingerprint_of(self.kind, text_of(schema))

    def schema(self, _key: str) -> Any:
        """Return the schema of the definition."""
        return self.data


class NameMasks(Masks):
    """Computes the masks of one inventory.

    If a mask is needed at a place within names, each of its tokens may continue a name. The tries of tokens and names are therefore
    intersected first (`guided.calls.names`), and the common places become controls before the mask is computed.
    """

    @staticmethod
    def foresee(automaton: Pushdown, entry: int, trie: TokenTrie, begin: int, end: int) -> None:
        """See `MaskMaker`."""
        assert isinstance(automaton, Embedding), "values in calls are embedded"
        if entry >= 0 and begin < end:
            automaton.foresee(entry, SubTrie(trie.byte, trie.depth, trie.skip, begin, end))


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
        argument_lists.append(ArgumentList((), None, (), type_of_schema({"type": "object"}, "")))
    for argument_list in argument_lists:
        rest = rest_frame(argument_list, form, limits)
        following.update(rest.following)
        firsts.update(np.flatnonzero(rest.automaton.table[0, rest.automaton.classes] >= 0).tolist())
    return top, before, bytes(sorted(firsts)), bytes(sorted(following))


def rest_frame(argument_list: ArgumentList, form: Format, limits: Limits, tool: str = "") -> Frame:
    """The frame of the text after the name in calls with these arguments.

    Raises
    ------
    LimitError
        A budget is exceeded; at the tool, or at the argument that exceeds it alone.
    """

    def made(arguments: ArgumentList) -> Frame:
        embedded = EmbeddedValues(tool=tool)
        return embedded.frame(CallAutomaton.from_tree(rest_tree(arguments, form, embedded), limits))

    try:
        return made(argument_list)
    except LimitError:
        for slot in argument_list.slots:
            with placed(pointer_to(tool, slot.label)):
                made(ArgumentList((), None, (slot,)))
        with placed(pointer_to(tool)):
            raise
