"""The spec `Tools`: output of a model that can call tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from guided.automata.automaton import Automaton
from guided.automata.build import in_one_budget
from guided.calls.formats.detection import format_of
from guided.calls.formats.files import format_named
from guided.calls.formats.format import Format
from guided.calls.groups import Count
from guided.calls.inventory import ArgumentLists, Inventory, WritableTypes, rest_frame
from guided.calls.lowering import options_of
from guided.calls.modes import CALL, CALL_END, REASONING, TEXT
from guided.calls.naming import LeftOut, inventory
from guided.calls.options import choice_of, chosen_tools, reasoning_texts
from guided.calls.schema import SchemaType
from guided.calls.texts import Texts
from guided.calls.tool import AnyTool, Tool, as_tool
from guided.encoding import fingerprint_of
from guided.engine.algebra import Composable
from guided.engine.templates import Template, value_data
from guided.errors import LimitError, SchemaError, check_word, listed, shown
from guided.export.framing import framed_grammar
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.formula.atoms import Caps
from guided.schema.frontend.json_values import text_of
from guided.schema.frontend.location import pointer_to
from guided.schema.pushdown.frames import Frame

if TYPE_CHECKING:
    from guided.engine.marked_grammar import MarkedGrammar

__all__ = ["Tools"]

# Names of the state labels in an exported grammar.
PARTS = {TEXT: "text", CALL: "call", CALL_END: "calls", REASONING: "reasoning"}
# Types that `Tools.lower` returns.
Lowering: TypeAlias = "Automaton | Template | Inventory | MarkedGrammar"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Tools(Composable):
    """Tool calls, within running text or alone.

    Parameters
    ----------
    tools : iterable of callable, Mapping, Tool or MCP tool
        At least one, with distinct names.
    format : str, path or Format
        How calls are written: a name (`guided.calls.formats`), a file, a `Format`, or ``"auto"`` to take it from the model's chat
        template.
    tool_choice : str or iterable of str
        ``"auto"``: free text with any number of calls, each after the format's trigger; once the trigger is complete, a call must
        follow. ``"required"``: exactly one call and nothing else. A name or a list of names: like ``"required"``, restricted to these
        tools. ``"none"``: text without calls.
    parallel_tool_calls : bool or pair of int
        Whether several calls are allowed where a call is required and in lists of calls. A pair is the minimum and maximum number of
        calls, with None for no maximum; a pair also counts the calls in running text, if there are any.
    strict : bool
        Whether a JSON definition that does not mention additional arguments allows none. If False, it must forbid them explicitly.
    engine : {"nested", "lalr"}
        What recognizes the texts: automata with nested schema values, or the Lark grammar that `lark` returns, which is less expressive
        (docs/tools.md).
    max_length, max_digits, max_items, max_properties : int, optional
        Bounds for values that have a ``type`` but none of their own, as for `JsonSchema`. Unbounded by default: the
        token budget ends them.
    duplicates : {"error", "rename"}
        Whether two tools with the same name are an error or are renamed (`guided.calls.naming.distinct`).
    reasoning : bool or pair of str
        Whether a text may begin with reasoning, in which no call can start. A pair gives the delimiters; the first is empty if the
        prompt already opens the reasoning. True uses the format's delimiters.
    chat_template : str or object
        For ``format="auto"``: a chat template, or a tokenizer or model that has one.
    unsupported : {"error", "skip"}
        Whether a tool that cannot be lowered or written in the format is an error, or is left out with a note (`notes`). Of more than a
        hundred tools, those of documents are lowered when a text has passed their names (docs/limits.md).
    argument_order : {"declared", "any"}, optional
        Whether arguments come in the order of their schema or signature, or in any order. By default, that of the format.

    Raises
    ------
    SchemaError
        A tool cannot be lowered, two tools have the same name, or the choice names no tool.
    PatternError
        A pattern is malformed.

    Examples
    --------
    >>> spec = Tools([get_weather], format="tooldec", tool_choice="required")
    >>> guided.compile(spec, vocabulary).accepts(b'get_weather(city="Oslo")')
    True
    """

    format: Format
    tool_choice: str | tuple[str, ...]
    parallel_tool_calls: bool | tuple[int, int | None]
    engine: Literal["nested", "lalr"]
    count: Count
    reasoning: tuple[str, str] | None
    argument_lists: ArgumentLists = field(repr=False)
    is_inventory: bool = field(repr=False)
    texts: Texts = field(repr=False)
    _caps: Caps = field(repr=False)
    _strict: bool = field(repr=False)
    _inventories: dict[Texts, Inventory] = field(repr=False)
    _tools: tuple[Tool, ...] | None = field(repr=False)
    _options: dict[str, Any] = field(repr=False)

    @suggest_keywords()
    def __init__(
        self,
        tools: Iterable[AnyTool],
        format: "str | PathLike[str] | Format" = "json",  # noqa: A002 - the contract's name
        tool_choice: str | Iterable[str] | Mapping[str, Any] = "auto",
        parallel_tool_calls: bool | Sequence[int | None] = False,
        strict: bool = True,
        engine: Literal["nested", "lalr"] = "nested",
        max_length: int | None = None,
        max_digits: int | None = None,
        max_items: int | None = None,
        max_properties: int | None = None,
        duplicates: Literal["error", "rename"] = "error",
        reasoning: bool | Sequence[str] = False,
        chat_template: Any = None,
        unsupported: Literal["error", "skip"] = "error",
        argument_order: Literal["declared", "any"] | None = None,
    ) -> None:
        check_word("engine", engine, "nested", "lalr")
        form = format_of(chat_template) if format == "auto" else format_named(format)
        if argument_order is not None:
            check_word("argument_order", argument_order, "declared", "any")
        if argument_order is not None and argument_order != form.argument_order:
            form = replace(form, argument_order=argument_order)
        count = Count.of(parallel_tool_calls, form)
        check_word("unsupported", unsupported, "error", "skip")
        caps = Caps(max_length, max_digits, max_items, max_properties)
        choice = choice_of(tool_choice)
        names = () if choice == "none" else None if isinstance(choice, str) else frozenset(choice)
        writable = WritableTypes(form, caps, bool(strict))

        def check(tool: Tool) -> None:
            if _is_plain_definition(tool) and (names is None or tool.name in names):
                writable.check(tool)

        left_out = list[LeftOut]()
        is_skipping = unsupported == "skip"
        # Why no common budget where tools are left out: one that exceeds it would leave none to those after it.
        listed = partial(inventory, tools, duplicates, check, left_out if is_skipping else None)
        found = listed() if is_skipping else in_one_budget(listed)
        chosen = chosen_tools(choice, found, left_out)
        argument_lists = ArgumentLists({tool.name: tool for tool in chosen}, form, caps, bool(strict), left_out)
        is_inventory = (
            engine == "nested" and not form.by_name and bool(chosen) and all(map(_is_plain_definition, chosen))
        )
        if is_skipping and chosen and (not is_inventory or argument_lists.are_few):
            argument_lists = argument_lists.without_unwritable()
            lost = {tool.name for tool in chosen} - argument_lists.tools.keys()
            found = tuple(tool for tool in found if tool.name not in lost)
        elif not is_inventory or argument_lists.are_few:
            argument_lists.check()
        delimiters = reasoning_texts(reasoning, form)
        values: dict[str, Any] = {
            "format": form,
            "tool_choice": choice,
            "parallel_tool_calls": (count.fewest, count.most) if count.is_counted else count.most is None,
            "engine": engine,
            "count": count,
            "reasoning": delimiters,
            "argument_lists": argument_lists,
            "is_inventory": is_inventory,
            "texts": Texts(form, choice in ("auto", "none"), count, delimiters),
            "_caps": caps,
            "_strict": bool(strict),
            "_inventories": {},
            "_tools": found,
            "_options": {
                "format": form,
                "tool_choice": choice,
                "parallel_tool_calls": parallel_tool_calls,
                "strict": strict,
                "engine": engine,
                **asdict(caps),
                "duplicates": duplicates,
                "reasoning": reasoning,
                "unsupported": unsupported,
                "argument_order": argument_order,
            },
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        names = list(self.argument_lists) or [tool.name for tool in self.tools]
        return (
            f"<Tools {listed(names)}; format {shown(self.format.name, 30)}, tool_choice {shown(self.tool_choice, 40)}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: value readers are closures, which cannot be pickled, so the tools are built again.
        return _remade, (self._given, self._options, self.texts)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools in order, including those that ``tool_choice`` excludes."""
        found = self._tools
        if found is None:
            # PERF: listing 100,000 tools takes longer than adding one to them (`python -m benchmarks.inventory`).
            found = tuple(self.argument_lists.tools.values())
            object.__setattr__(self, "_tools", found)
        return found

    @property
    def _given(self) -> tuple[AnyTool, ...]:
        """All tools, and behind them those that are left out."""
        return *self.tools, *(one.item for one in self.argument_lists.left_out)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec is made of: tools by their arguments, format and options."""
        if self.is_inventory:
            return self.inventory().fingerprint
        # The texts of documents, and their numbers. Why by text: equal types share a document only while the caches of types hold it.
        texts_of: dict[int, str] = {}
        documents: dict[str, int] = {}

        def made_of(kind: SchemaType) -> list[Any]:
            text = texts_of.get(id(kind.document)) or texts_of.setdefault(id(kind.document), text_of(kind.document))
            return [documents.setdefault(text, len(documents)), *value_data(kind.value)]

        calls = [
            [name, listed.first_key, listed.variadic is not None, listed.whole and made_of(listed.whole)]
            + [[slot.label, slot.required, *(made_of(one.type) for one in slot.kinds)] for slot in listed.slots]
            for name, listed in self.argument_lists.items()
        ]
        names = [tool.name for tool in self.tools] if self.format.by_name and not calls else []
        texts = replace(self.texts, continues=True, must_call=False)
        content = [asdict(texts), asdict(self._caps), names, calls, [*documents]]
        return self.texts.fingerprint(fingerprint_of("tools", self.engine, text_of(content)))

    @property
    def is_running_text(self) -> bool:
        """Return whether calls are within running text (``tool_choice`` "auto" or "none")."""
        return self.texts.is_running

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the calls; the index repeats those that are known when it is compiled.

        Of more than a hundred definitions, about the tools that a text has reached; Python also warns of each (`UserWarning`).
        """
        return self.argument_lists.notes

    @property
    def strict(self) -> bool:
        """Return whether a JSON definition that does not mention additional arguments allows none."""
        return self._strict

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary: those that open and close a call, and others of the format."""
        return self.texts.markers

    def inventory(self) -> Inventory:
        """The spec that lowers a definition once a text has passed the tool's name; of definitions only."""
        found = self._inventories.get(self.texts)
        if found is None:
            made = Inventory.of(self.argument_lists, self.texts, self._caps, self._strict)
            found = self._inventories.setdefault(self.texts, made)
        return found

    def with_changes(self, add: Iterable[AnyTool] = (), remove: Iterable[str] = ()) -> "Tools":
        """Return a copy with tools added and removed.

        If all tools are given by definitions, the unchanged ones are only copied, and compiling an index from the result costs as much as
        from a rebuilt spec.

        Parameters
        ----------
        add : iterable of tools
        remove : iterable of str
            Names of tools.

        Raises
        ------
        SchemaError
            A name to remove is unknown, two tools have the same name, or no tool is left.
        """
        if isinstance(remove, str) or isinstance(add, Mapping | str | Tool) or callable(add):
            raise TypeError("add must be a list of tools and remove a list of names")
        gone = dict.fromkeys(remove)
        known = self.argument_lists.tools if self.is_inventory else {tool.name for tool in self.tools}
        for name in gone:
            if name not in known:
                raise SchemaError(f"unknown tool {shown(name)}", pointer_to(name), "remove")
        added = tuple(map(as_tool, add))
        names = {tool.name for tool in added}
        is_plain = self.is_inventory and isinstance(self.tool_choice, str) and len(names) == len(added)
        is_plain = is_plain and self._options["unsupported"] == "error"
        twice = next((tool.name for tool in added if tool.name in known and tool.name not in gone), None)
        is_plain = is_plain and (twice is None or self._options["duplicates"] == "error")
        n_tools = len(known) + len(added) - len(gone)
        if not is_plain or not n_tools or not all(map(_is_plain_definition, added)):
            kept = [tool for tool in self._given if not isinstance(tool, Tool) or tool.name not in gone]
            return _remade([*kept, *added], self._options, self.texts)
        if twice is not None:
            raise SchemaError("duplicate tool name", pointer_to(twice), "name")
        writable = WritableTypes(self.format, self._caps, self._strict)
        for tool in added:
            writable.check(tool)
        argument_lists = self.argument_lists.changed(added, gone)
        if argument_lists.are_few:
            argument_lists.check()
        inventories = {key: found.changed(argument_lists, added, [*gone]) for key, found in self._inventories.items()}
        return self._with(_tools=None, argument_lists=argument_lists, _inventories=inventories)

    def _with(self, **values: Any) -> "Tools":
        copy = object.__new__(Tools)
        for item in fields(Tools):
            object.__setattr__(copy, item.name, values.get(item.name, getattr(self, item.name)))
        return copy

    def lower(self, limits: Limits) -> Lowering:
        """The automaton of the texts, with labeled states (`guided.calls.modes`), or a spec with a stack if some arguments need one.

        The spec with a stack is an `Inventory` if all tools are definitions, and otherwise a frame around schema values. More than a
        hundred definitions are an inventory in any case.

        Raises
        ------
        SchemaError
            ``engine="lalr"`` and no Lark grammar can express the texts.
        LimitError
            A budget is exceeded.
        """
        if self.is_inventory and not self.argument_lists.are_flat:
            return self.inventory()
        if self.engine == "lalr":
            from guided.engine.grammar import Grammar
            from guided.engine.marked_grammar import MarkedGrammar

            return MarkedGrammar(Grammar(self.lark(limits=limits)), self.fingerprint, self.markers, self.notes)
        frame = self._frame(limits)
        if not frame.values:
            return frame.automaton
        return Template(frame, options_of(self.format, self._caps), self.fingerprint, self.markers, self.notes)

    def lark(self, *, limits: Limits | None = None) -> str:
        """A Lark grammar of the UTF-8 texts: ``lark.Lark(spec.lark(), parser="lalr")`` accepts these and no others.

        Raises
        ------
        SchemaError
            No context-free grammar can express an argument's schema.
        LimitError
            The grammar would be too large.
        """
        limits = limits or Limits()
        frame = self._frame(limits, has_texts=True)
        return framed_grammar(frame, options_of(self.format, self._caps), limits, names=PARTS).text

    def first_call(self, must_call: bool = False) -> "Tools":
        """Return the spec of the texts that end with their first call, where a result is inserted next.

        ``must_call``: whether texts without a call are left out.
        """
        return self._with(texts=replace(self.texts, continues=False, must_call=must_call))

    def with_options(self, **changes: Any) -> "Tools":
        """Return a copy with some arguments replaced."""
        return _remade(changes.pop("tools", self._given), {**self._options, **changes}, self.texts)

    def _frame(self, limits: Limits, *, has_texts: bool = False) -> Frame:
        """The texts around schema values; with ``has_texts``, those in a notation are part of it."""
        call, embedded = self.argument_lists.made_call(has_texts) if has_texts else self.argument_lists.call
        try:
            found = self.texts.automaton(call, self.argument_lists or [tool.name for tool in self.tools], limits)
        except LimitError:
            for name, argument_list in self.argument_lists.items():
                rest_frame(argument_list, self.format, limits, name)
            raise
        return embedded.frame(found)


def _remade(tools: Sequence[AnyTool], options: Mapping[str, Any], texts: Texts) -> Tools:
    made = Tools(tools, **options)
    return made if texts.continues else made.first_call(texts.must_call)


def _is_plain_definition(tool: Tool) -> bool:
    return tool.is_definition and not tool.types
