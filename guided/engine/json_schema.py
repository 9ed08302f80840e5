"""`JsonSchema`: the spec of JSON texts that are valid against a schema."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import InvalidOperation
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.flattening import flattened
from guided.automata.pushdown import Pushdown
from guided.encoding import fingerprint_of
from guided.engine.algebra import Composable
from guided.engine.diagnosis import diagnosis
from guided.engine.reading import JsonTexts
from guided.engine.specs import (
    FINITE_SPECS,
    NO_VALUE,
    Choice,
    Lowered,
    Regex,
    Substring,
    finite_data,
    finite_spec,
    options_of,
)
from guided.engine.templates import options_data, read_options
from guided.errors import ArgumentError, LimitError, SchemaError, VocabularyError, brief, check_word, kind_of, shown
from guided.export.characters import operand_of
from guided.export.lark import DEFAULT_RULES, lark_grammar
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.formula.atoms import CAPS, Arguments, Caps, JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.inputs import input_of
from guided.schema.frontend.json_values import check_levels, text_of, value_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.references import reachable
from guided.schema.pushdown.layout import whitespace_pattern
from guided.schema.pushdown.machine import SchemaMachine
from guided.schema.report.contradictions import contradiction, impossible
from guided.schema.strings.notation import Texts

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

    from guided.schema.frontend.reader import TypeReader

__all__ = ["JsonSchema", "SchemaOptions", "Whitespace"]

Whitespace: TypeAlias = str | int | tuple[str, str]

T_co = TypeVar("T_co", covariant=True)

# Last bytes of a JSON text, by its first.
_LAST_BYTES = {
    byte: last
    for begins, last in (
        (b"{", b"}"),
        (b"[", b"]"),
        (b'"', b'"'),
        (b"-0123456789", b"0123456789"),
        (b"tf", b"e"),
        (b"n", b"l"),
    )
    for byte in begins
}
_ALL_BYTES = bytes([1] * 256)
_NO_KEYWORD = (
    "JSON Schema has no keyword for this constraint, so it cannot be enforced; "
    "with unsupported='record', values are generated without it, and the type checks them when they are read"
)
_NO_OBJECT = "no object satisfies the schema and can be written in this style"
_SHOWN_OPTIONS = ("whitespace", "property_order", "numbers", "escapes", "format", "unsupported")


class SchemaOptions(TypedDict, total=False):
    """Keyword arguments of `JsonSchema`."""

    whitespace: "Whitespace"
    property_order: Literal["schema", "any"]
    numbers: Literal["plain", "any", "dumps"]
    escapes: Literal["canonical", "any", "dumps"] | Iterable[str]
    format: Literal["assert", "annotate", "strict"]
    unsupported: Literal["refuse", "record"]
    registry: Mapping[str, Any] | None
    operation: str | None
    engine: Literal["nested", "lalr"]
    source: Literal["auto", "schema"]
    strict_keywords: bool
    additional_properties: bool
    eager: bool | Literal["auto"]
    formats: Mapping[str, Regex | Choice[Any] | Substring] | None
    max_length: int | None
    max_digits: int | None
    max_items: int | None
    max_properties: int | None


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class JsonSchema(Composable, Generic[T_co]):
    r"""JSON texts (RFC 8259) that are valid against a schema; every keyword is enforced or refused. See docs/json-schema.md.

    ``JsonSchema[T]``: `read` returns a T; Any if the schema is a JSON Schema.

    Parameters
    ----------
    schema : dict, bool, str, path, type or callable
        A JSON Schema as parsed JSON, JSON text or a file (draft 2020-12 unless ``$schema`` names another); a type: a pydantic model,
        dataclass, TypedDict, NamedTuple, Enum, Literal, Annotated, container, union, or any other type pydantic knows; a function, for
        its arguments; a tool in the format of OpenAI, Anthropic or MCP; an operation of OpenAPI 3 or Swagger 2.
    whitespace : str, int or (str, str)
        ``"compact"``, ``"flexible"``, ``"pretty(N)"`` as ``json.dumps(value, indent=N)`` writes, a regular expression; the maximum number
        of characters wherever JSON allows whitespace; or exact separators, as those of ``json.dumps``: ``(", ", ": ")``.
    property_order : {"schema", "any"}
        Declared names in the order of the schema, or in any order.
    numbers : {"plain", "any", "dumps"}
        ``"plain"``: no exponents, and integers without a fraction; ``"any"``: all of RFC 8259; ``"dumps"``: the same, but integers plain.
    escapes : {"canonical", "any", "dumps"} or iterable of str
        Each character in its shortest spelling; in any spelling; or as ``json.dumps`` writes it, with ``ensure_ascii`` or without. Or the
        escapes that may be written, by what follows the backslash, some of ``" \ / b f n r t u``: then no string contains a character
        that needs another one.
    format : {"assert", "annotate", "strict"}
        Enforce known formats; enforce none; or enforce known and refuse unknown ones.
    formats : mapping of str to Regex, Choice or Substring, optional
        Formats of your own: strings with ``"format": name`` are texts of the spec. A name of a known format replaces it.
    unsupported : {"refuse", "record"}
        Refuse keywords that cannot be enforced, or drop them and list them in ``index.unenforced`` with their JSON Pointers.
    registry : mapping of str to schema, optional
        Schemas by URI that ``$ref`` may refer to. Nothing is fetched, and only those that may be referred to are read.
    operation : str, optional
        Operation of an OpenAPI document, by ``operationId`` or as ``"POST /pets"``.
    engine : {"nested", "lalr"}
        Execute by formulas and their derivatives, or by the Lark grammar of `lark`, which expresses less (docs/json-schema.md).
    source : {"auto", "schema"}
        Accept any of the above as `schema`, or only a JSON Schema as a dict, a bool or JSON text. Use ``"schema"`` for untrusted input: no
        path is read, and no tool, operation or type is recognized.
    strict_keywords : bool
        Refuse keywords unknown to the draft, except annotations, ``x-...`` and other private names. Otherwise ``index.notes`` lists those
        that look misspelled.
    additional_properties : bool
        If False, an object schema that declares property names and does not mention others allows no others. docs/json-schema.md
        describes the effect under ``allOf``, ``anyOf`` and references.
    max_length, max_digits, max_items, max_properties : int, optional
        Bounds for values that have a ``type`` but no bound of their own: characters of strings, digits of numbers before and after the
        point (at most 4,000), items of arrays, members of open objects. ``index.notes`` says where they apply. Unbounded by default: the
        token budget ends them.
    eager : bool or "auto"
        If True, compile to a finite automaton, all of whose states are known before the first text; a schema that needs more than
        `Limits.configurations` states is refused. ``"auto"``: only if the schema needs no more.

    Attributes
    ----------
    schema : dict or bool
        The resulting JSON Schema. It must not be changed afterwards.
    options : JsonOptions
    registry : Mapping of str to schema
        Those documents of the registry that the schema may refer to.

    Raises
    ------
    SchemaError
        The text is not JSON, or the type has no schema. When compiled: the schema is malformed or cannot be enforced, with JSON Pointer
        and keyword.
    LimitError
        The schema nests too deeply.
    TypeError, ValueError
        An argument has the wrong type, or an option is unknown.
    """

    kind: ClassVar[str] = "json schema"

    schema: Any
    options: JsonOptions
    registry: Mapping[str, Any] = field(repr=False)
    engine: Literal["nested", "lalr"]
    eager: bool | Literal["auto"]
    # Schema and registry as text; empty until needed.
    _written: str
    _reader: "TypeReader | None"
    _unenforced: tuple[tuple[str, str], ...]

    @overload
    def __init__(self, schema: "type[T_co] | TypeAdapter[T_co]", **options: Unpack[SchemaOptions]) -> None: ...

    @overload
    def __init__(
        self: "JsonSchema[Any]",
        schema: Mapping[str, Any] | bool | str | PathLike[str] | Callable[..., Any],
        **options: Unpack[SchemaOptions],
    ) -> None: ...

    @overload
    def __init__(self, schema: "TypeForm[T_co]", **options: Unpack[SchemaOptions]) -> None: ...

    @suggest_keywords()
    def __init__(
        self,
        schema: Any,
        *,
        whitespace: "Whitespace" = "flexible",
        property_order: Literal["schema", "any"] = "schema",
        numbers: Literal["plain", "any", "dumps"] = "plain",
        escapes: Literal["canonical", "any", "dumps"] | Iterable[str] = "canonical",
        format: Literal["assert", "annotate", "strict"] = "assert",  # noqa: A002 - the contract's name
        unsupported: Literal["refuse", "record"] = "refuse",
        registry: Mapping[str, Any] | None = None,
        operation: str | None = None,
        engine: Literal["nested", "lalr"] = "nested",
        source: Literal["auto", "schema"] = "auto",
        strict_keywords: bool = False,
        additional_properties: bool = True,
        eager: bool | Literal["auto"] = False,
        formats: Mapping[str, Regex | Choice[Any] | Substring] | None = None,
        max_length: int | None = None,
        max_digits: int | None = None,
        max_items: int | None = None,
        max_properties: int | None = None,
    ) -> None:
        if not isinstance(eager, bool) and eager != "auto":
            raise ArgumentError("eager", f"must be True, False or 'auto', not {shown(eager)}")
        check_word("engine", engine, "nested", "lalr")
        check_word("source", source, "auto", "schema")
        for name, mapping in (("formats", formats), ("registry", registry)):
            if mapping is not None and not isinstance(mapping, Mapping):
                raise TypeError(f"{name} must be a dict, not {type(mapping).__name__}")
        options = JsonOptions(
            _whitespace(whitespace),
            property_order,
            numbers,
            _escapes(escapes),
            format,
            unsupported,
            strict_keywords,
            additional_properties,
            _own_formats(formats or {}),
            Caps(max_length, max_digits, max_items, max_properties),
        )
        if (
            isinstance(options.whitespace, str)
            and options.whitespace not in ("compact", "flexible")
            and options.indent is None
        ):
            whitespace_pattern(options.whitespace)
        given = input_of(schema, operation, source)
        if given.unenforced and unsupported == "refuse":
            pointer, keyword = given.unenforced[0]
            raise SchemaError(_NO_KEYWORD, pointer, keyword)
        known = reachable(given.schema, registry or {})
        for document in (given.schema, *known.values()):
            check_levels(document)
        for name, value in (
            ("schema", given.schema),
            ("options", options),
            ("registry", known),
            ("engine", engine),
            ("eager", eager),
            ("_written", ""),
            ("_reader", given.reader),
            ("_unenforced", given.unenforced),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        given = self.schema if self._reader is None else self._reader.given
        name = given.__name__ if isinstance(given, type) else brief(given, 80)
        return f"<JsonSchema of {name[:80]}{options_of(self.options, *_SHOWN_OPTIONS)}{options_of(self.options.caps, *CAPS)}>"

    @property
    def _text(self) -> str:
        if not self._written:
            object.__setattr__(self, "_written", text_of([self.schema, self.registry]))
        return self._written

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self._text, self.options, self.engine, self.eager, self._reader, self._unenforced

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity[:4])

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of schema, registry and options."""
        return fingerprint_of("json schema", self._text, text_of(self._chosen))

    @property
    def data(self) -> str:
        """Schema, registry and options as text; of a type only its schema."""
        made_of = {"schema": self.schema, "registry": self.registry, "unenforced": self._unenforced}
        return text_of(made_of | self._chosen)

    @property
    def _chosen(self) -> dict[str, Any]:
        """Options as JSON values."""
        formats = {name: texts.key for name, texts in self.options.formats}
        return {"options": options_data(self.options), "formats": formats, "engine": self.engine, "eager": self.eager}

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "JsonSchema[Any]":
        """Return the spec that `data` describes.

        Raises
        ------
        ValueError
            The text does not describe such a spec.
        """
        try:
            content = value_of(data, limits)
            spec = cls(True, engine=content["engine"], eager=content["eager"])
            formats = {name: finite_spec(value_of(key, limits)) for name, key in content["formats"].items()}
            for name, value in (
                ("schema", content["schema"]),
                ("registry", dict(content["registry"])),
                ("options", read_options(content["options"], _own_formats(formats))),
                ("_unenforced", tuple((str(pointer), str(keyword)) for pointer, keyword in content["unenforced"])),
            ):
                object.__setattr__(spec, name, value)
            for document in (spec.schema, *spec.registry.values()):
                check_levels(document)
        except (KeyError, TypeError, RecursionError, LimitError, SchemaError, InvalidOperation) as error:
            raise ValueError(f"not a valid JSON Schema with options: {error}") from error
        return spec

    def written_as(self, arguments: Arguments | None, excludes: tuple[str, ...] = ()) -> "JsonSchema[Any]":
        """Return the spec of the same values: objects whose members are written as arguments, or JSON for None.

        ``excludes``: texts that no string and no name contains.
        """
        if (arguments, excludes) == (self.options.arguments, self.options.excludes):
            return self
        other = copy(self)
        object.__setattr__(other, "options", replace(self.options, arguments=arguments, excludes=excludes))
        return other

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """Return the automaton of the texts.

        Raises
        ------
        SchemaError, LimitError
        VocabularyError
            Valid texts exist, but all need bytes that the alphabet lacks.
        """
        if self.engine == "lalr":
            from guided.engine.lark_lowering import lower
            from guided.lalr.sources import source_of

            lowering = Lowering(self.schema, self.options, Formulas(), limits, self.registry)
            lowering.check()
            source = source_of(self.lark(limits=limits), "start", None, "contextual", ())
            lowered = lower(source.tables(Limits()), source.start, None, limits, alphabet)
            flat = self._flat(lowered.automaton, limits)
            return replace(lowered, unenforced=self._unenforced, notes=lowering.notes, flat=flat)
        machine, lowering = self._machine(limits, alphabet)
        if machine.is_empty:
            if not all(alphabet) and not self._machine(limits, bytes([1] * 256))[0].is_empty:
                raise VocabularyError("every text of the schema needs a byte that the vocabulary cannot encode")
            place = contradiction(self.schema, self.options, limits, self.registry)
            is_json = self.options.arguments is None
            has_value = (
                not is_json and not self.written_as(None, self.options.excludes)._machine(limits, alphabet)[0].is_empty
            )
            raise SchemaError(_NO_OBJECT if has_value else NO_VALUE, *place)
        common = machine.structure
        unenforced = (*self._unenforced, *lowering.unenforced)
        begins = (machine.tables.rows[machine.start] != DEAD).tobytes()
        last = None if self.options.arguments is not None else _last_bytes(begins)
        flat = self._flat(machine, limits)
        return Lowered(
            machine, common, common.tables.n_controls, unenforced, lowering.notes, last_bytes=last, flat=flat
        )

    def impossible_parts(self, limits: Limits) -> tuple[str, ...]:
        """Return a note on each part of the schema that no value ever has (`guided.schema.report.contradictions`)."""
        return impossible(self.schema, self.options, limits, self.registry)

    def diagnosis(self, data: bytes, limits: Limits) -> str:
        """Return why the schema rejects a text, or the beginning of one; empty if that is not known (`guided.engine.diagnosis`)."""
        if self.options.arguments is not None:
            return ""

        def automaton_of(options: JsonOptions) -> Pushdown:
            other = copy(self)
            object.__setattr__(other, "options", options)
            object.__setattr__(other, "eager", False)
            return other.pushdown(limits, _ALL_BYTES).automaton

        return diagnosis(data, self.schema, self.options, limits, self.registry, automaton_of)

    def _flat(self, automaton: Pushdown, limits: Limits) -> Callable[[], Automaton | None] | None:
        """Return a function that makes the finite automaton of the texts, if one is wanted."""
        if not self.eager:
            return None

        def made() -> Automaton | None:
            try:
                found = flattened(automaton, limits.configurations)
            except LimitError:
                if self.eager is True:
                    raise
                return None
            if found is None and self.eager is True:
                most = limits.configurations
                reason = 'the schema needs a stack or too many states: leave out eager, or use eager="auto"'
                raise LimitError("configurations", most + 1, most, reason)
            return found

        return made

    def _machine(self, limits: Limits, alphabet: bytes) -> tuple[SchemaMachine, Lowering]:
        formulas = Formulas()
        lowering = Lowering(self.schema, self.options, formulas, limits, self.registry)
        lowering.check()
        machine = SchemaMachine(lowering, formulas, self.options, limits, alphabet, arguments=self.options.arguments)
        return machine, lowering

    def lark(self, *, limits: Limits | None = None, most_rules: int = DEFAULT_RULES) -> str:
        """Return a Lark grammar of the texts: ``lark.Lark(spec.lark(), parser="lalr")`` accepts exactly them.

        Parameters
        ----------
        limits : Limits, optional
        most_rules : int
            Maximum number of states of objects and arrays, and of alternatives of rules.

        Raises
        ------
        SchemaError
            The schema is malformed, no value satisfies it, or a keyword cannot be expressed by a context-free grammar.
        LimitError
            The grammar would be too large.
        """
        return lark_grammar(self.schema, self.options, limits or Limits(), self.registry, most_rules=most_rules).text

    def read(self, text: str | bytes) -> T_co:
        """Return the value of a text: an instance of the given type, or for a schema the parsed JSON with numbers as int and float.

        Of members that are written as arguments, the text.

        Validators of the type run.

        Raises
        ------
        SchemaError
            The text is not JSON, or the type rejects its value; with the position in the value.
        LimitError
            For a schema: an integer has more digits than `Limits.digits`. For a type: its unions overlap at too many levels of the value.
        """
        if self._reader is not None:
            return cast("T_co", self._reader.read(text))
        if self.options.arguments is not None:
            return cast("T_co", text if isinstance(text, str) else text.decode())
        return cast("T_co", JsonTexts().read(text))

    def read_part(self, path: Sequence[str | int], text: str, parsed: Any) -> Any:
        """Return the value of a part of a text as `read` would build it there; ``parsed`` if the type of the part is unknown.

        Parameters
        ----------
        path : sequence of str and int
            Keys and indices that lead to the part.
        text : str
            Text of the part.
        parsed : Any
            The part as parsed JSON.

        Raises
        ------
        SchemaError
            The type rejects it.
        """
        return parsed if self._reader is None else self._reader.read_part(path, text, parsed)


@lru_cache(maxsize=64)
def _last_bytes(begins: bytes) -> bytes | None:
    """Return the last bytes of JSON texts; None if some are none. ``begins``: a flag for each byte, whether it begins one."""
    first = [byte for byte, is_first in enumerate(begins) if is_first]
    return b"".join([_LAST_BYTES[byte] for byte in first]) if _LAST_BYTES.keys() >= {*first} else None


def _whitespace(given: Any) -> Any:
    """Return `JsonOptions.whitespace` of an option; what is none stays as it is, and is refused there."""
    if isinstance(given, list):
        return tuple(given)
    if not isinstance(given, int) or isinstance(given, bool):
        return given
    if given < 0:
        raise ArgumentError("whitespace", f"must be at least 0 characters, not {shown(given)}")
    return "compact" if not given else f"[ \\t\\n\\r]{{0,{given}}}"


def _escapes(given: Any) -> Any:
    if isinstance(given, str):
        return given
    try:
        return tuple(sorted(set(given)))
    except TypeError:
        raise TypeError(f"escapes must be a str or a list of str, not {shown(given)}") from None


def _own_formats(given: Mapping[str, Any]) -> tuple[tuple[str, Texts], ...]:
    """Return `JsonOptions.formats`; the key of each is the spec as text."""
    found = []
    for name, spec in given.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a format must be a str, not {type(name).__name__}")
        if not isinstance(spec, FINITE_SPECS):
            advice = f": a pattern is guided.Regex({shown(spec, 40)})" if isinstance(spec, str) else ""
            raise TypeError(f"format {shown(name)} must be a Regex, Choice or Substring, not {kind_of(spec)}{advice}")
        automaton = spec.lower(Limits())
        if automaton.is_empty():
            raise SchemaError("a format must have at least one text", f"/{name}", "formats")
        found.append((name, Texts(text_of(finite_data(spec)), f"of format {name!r}", operand_of(automaton))))
    return tuple(found)
