"""`JsonSchema`: the spec of the JSON texts whose values a schema allows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import InvalidOperation
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypedDict, TypeVar, Unpack, cast, overload

from guided.engine.grammar import Grammar
from guided.engine.specs import Lowered, fingerprint_of, options_of
from guided.errors import LimitError, SchemaError, VocabularyError, brief, shown
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import Formulas
from guided.schema.grammar.lark import MOST_RULES, lark_grammar
from guided.schema.inputs import input_of
from guided.schema.json_values import check_levels, parse_json, text_of, value_of
from guided.schema.layout import whitespace_pattern
from guided.schema.lowering import Lowering
from guided.schema.machine import Machine
from guided.schema.reader import TypeReader

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

__all__ = ["JsonSchema", "SchemaOptions"]

T_co = TypeVar("T_co", covariant=True)

_SHOWN_OPTIONS = ("whitespace", "property_order", "numbers", "escapes", "format", "unsupported")


class SchemaOptions(TypedDict, total=False):
    """The keyword arguments of `JsonSchema`."""

    whitespace: str
    property_order: Literal["schema", "any"]
    numbers: Literal["plain", "any", "dumps"]
    escapes: Literal["canonical", "any", "dumps"]
    format: Literal["assert", "annotate", "strict"]
    unsupported: Literal["refuse", "record"]
    registry: Mapping[str, Any] | None
    operation: str | None
    engine: Literal["nested", "lalr"]
    source: Literal["auto", "schema"]
    strict_keywords: bool
    additional_properties: bool


@dataclass(frozen=True, slots=True, init=False, repr=False)
class JsonSchema(Generic[T_co]):
    """The JSON texts (RFC 8259) whose values a schema allows; every keyword is enforced or refused. See docs/json-schema.md.

    ``JsonSchema[T]``: the value of a text is a T; Any where a JSON Schema is given.

    Parameters
    ----------
    schema : dict, bool, str, path, type or callable
        A JSON Schema as parsed JSON, as JSON text, or a file of it (draft 2020-12 unless ``$schema`` names another); a type: a pydantic
        model, dataclass, TypedDict, NamedTuple, Enum, Literal, Annotated, container, union, or whatever pydantic knows; a
        function, whose arguments are meant; a tool as OpenAI, Anthropic or MCP define it; an operation of OpenAPI 3.
    whitespace : str
        ``"compact"``, ``"flexible"``, ``"pretty(N)"`` as ``json.dumps(value, indent=N)`` writes, or a regular expression.
    property_order : {"schema", "any"}
        Declared names in the order of the schema, or in any order.
    numbers : {"plain", "any", "dumps"}
        Without exponents, and integers without a fraction; all of RFC 8259; or the same with integers plain.
    escapes : {"canonical", "any", "dumps"}
        Each character in its shortest spelling; in any; or as ``json.dumps`` writes it, with ``ensure_ascii`` or without.
    format : {"assert", "annotate", "strict"}
        Known formats are enforced; none is; or unknown ones are refused as well.
    unsupported : {"refuse", "record"}
        A keyword that cannot be enforced is refused, or dropped and listed in ``index.unenforced``, with its JSON Pointer.
    registry : mapping of str to schema, optional
        Schemas that ``$ref`` may lead to, by URI. Nothing is fetched.
    operation : str, optional
        Of a document of OpenAPI: which operation, by ``operationId`` or as ``"POST /pets"``.
    engine : {"nested", "lalr"}
        What runs the texts: formulas and their derivatives; or the Lark grammar that `lark` gives, which says less (docs/json-schema.md).
    source : {"auto", "schema"}
        What `schema` may be: anything above; or a JSON Schema and nothing else, as a dict, a bool or JSON text. Use ``"schema"`` for
        what strangers send: no path is read, and no tool, operation or type is recognized.
    strict_keywords : bool
        Refuse keywords that the draft does not know, but for annotations, ``x-...`` and other private names. Otherwise those that look
        misspelled are in ``index.notes``.
    additional_properties : bool
        False: an object that declares property names, and says nothing of others, has no others. See docs/json-schema.md for what that
        means under ``allOf``, ``anyOf`` and references.

    Attributes
    ----------
    schema : dict or bool
        What it comes to.
    options : JsonOptions
    registry : Mapping of str to schema

    Raises
    ------
    SchemaError
        The text is no JSON, or the type has no schema; when compiled: the schema is malformed, or cannot be enforced, with JSON Pointer
        and keyword.
    LimitError
        It nests too deep.
    TypeError, ValueError
        An argument is of another type, or an option unknown.
    """

    kind: ClassVar[str] = "json schema"

    schema: Any
    options: JsonOptions
    registry: Mapping[str, Any] = field(repr=False)
    engine: Literal["nested", "lalr"]
    _text: str = field(repr=False)
    _reader: TypeReader | None = field(repr=False)
    _unenforced: tuple[tuple[str, str], ...] = field(repr=False)

    @overload
    def __init__(self, schema: "type[T_co] | TypeAdapter[T_co]", **options: Unpack[SchemaOptions]) -> None: ...

    @overload
    def __init__(
        self: "JsonSchema[Any]",
        schema: Mapping[str, Any] | bool | str | PathLike[str],
        **options: Unpack[SchemaOptions],
    ) -> None: ...

    @overload
    def __init__(self, schema: "TypeForm[T_co]", **options: Unpack[SchemaOptions]) -> None: ...

    @overload
    def __init__(self: "JsonSchema[Any]", schema: Callable[..., Any], **options: Unpack[SchemaOptions]) -> None: ...

    @suggest_keywords()
    def __init__(
        self,
        schema: Any,
        *,
        whitespace: str = "flexible",
        property_order: Literal["schema", "any"] = "schema",
        numbers: Literal["plain", "any", "dumps"] = "plain",
        escapes: Literal["canonical", "any", "dumps"] = "canonical",
        format: Literal["assert", "annotate", "strict"] = "assert",  # noqa: A002 - the contract's name
        unsupported: Literal["refuse", "record"] = "refuse",
        registry: Mapping[str, Any] | None = None,
        operation: str | None = None,
        engine: Literal["nested", "lalr"] = "nested",
        source: Literal["auto", "schema"] = "auto",
        strict_keywords: bool = False,
        additional_properties: bool = True,
    ) -> None:
        if engine not in ("nested", "lalr"):
            raise ValueError(f"engine is 'nested' or 'lalr', not {shown(engine)}")
        if source not in ("auto", "schema"):
            raise ValueError(f"source is 'auto' or 'schema', not {shown(source)}")
        options = JsonOptions(
            whitespace, property_order, numbers, escapes, format, unsupported, strict_keywords, additional_properties
        )
        if whitespace not in ("compact", "flexible") and options.indent is None:
            whitespace_pattern(whitespace)
        given = input_of(schema, operation, source)
        if given.unenforced and unsupported == "refuse":
            pointer, keyword = given.unenforced[0]
            raise SchemaError("no keyword of JSON Schema says this, so it cannot be enforced", pointer, keyword)
        known = dict(registry or {})
        for name, value in (
            ("schema", given.schema),
            ("options", options),
            ("registry", known),
            ("engine", engine),
            ("_text", _text_of(given.schema, known)),
            ("_reader", given.reader),
            ("_unenforced", given.unenforced),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        given = self.schema if self._reader is None else self._reader.given
        name = given.__name__ if isinstance(given, type) else brief(given, 80)
        return f"<JsonSchema of {name[:80]}{options_of(self.options, *_SHOWN_OPTIONS)}>"

    def __hash__(self) -> int:
        return hash((self._text, self.options, self.engine))

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of schema, registry and options."""
        kind = "json schema" if self.engine == "nested" else "json schema by lalr"
        return fingerprint_of(kind, self._text, repr(self.options))

    @property
    def data(self) -> str:
        """Schema, registry and options as text; a type is not kept, only its schema."""
        return text_of(
            {
                "schema": self.schema,
                "registry": self.registry,
                "options": asdict(self.options),
                "unenforced": self._unenforced,
                "engine": self.engine,
            }
        )

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "JsonSchema[Any]":
        """The spec of what `data` gave.

        Raises
        ------
        ValueError
            The text is something else.
        """
        try:
            content = value_of(data, limits)
            spec = cls(True, **content["options"], registry=content["registry"], engine=content["engine"])
            object.__setattr__(spec, "schema", content["schema"])
            object.__setattr__(spec, "_text", _text_of(spec.schema, spec.registry))
            unenforced = tuple((str(pointer), str(keyword)) for pointer, keyword in content["unenforced"])
            object.__setattr__(spec, "_unenforced", unenforced)
        except (KeyError, TypeError, RecursionError, LimitError, SchemaError, InvalidOperation) as error:
            raise ValueError(f"this is no JSON Schema with its options: {error}") from error
        return spec

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """The automaton of the texts.

        Raises
        ------
        SchemaError, LimitError
        VocabularyError
            There are texts, but all need bytes that the alphabet lacks.
        """
        if self.engine == "lalr":
            lowering = Lowering(self.schema, self.options, Formulas(), limits, self.registry)
            lowering.check()
            lowered = Grammar(self.lark(limits=limits)).pushdown(limits, alphabet)
            return replace(lowered, unenforced=self._unenforced, notes=lowering.notes)
        machine, lowering = self._machine(limits, alphabet)
        if machine.is_empty:
            if not all(alphabet) and not self._machine(limits, bytes([1] * 256))[0].is_empty:
                raise VocabularyError("every text of the schema needs a byte that no token of the vocabulary has alone")
            raise SchemaError("no value satisfies the schema", "", "schema")
        common = machine.structure
        unenforced = (*self._unenforced, *lowering.unenforced)
        return Lowered(machine, common, common.tables.n_controls, unenforced, lowering.notes)

    def _machine(self, limits: Limits, alphabet: bytes) -> tuple[Machine, Lowering]:
        formulas = Formulas()
        lowering = Lowering(self.schema, self.options, formulas, limits, self.registry)
        lowering.check()
        return Machine(lowering, formulas, self.options, limits, alphabet), lowering

    def lark(self, *, limits: Limits | None = None, most_rules: int = MOST_RULES) -> str:
        """The texts as a grammar: ``lark.Lark(spec.lark(), parser="lalr")`` accepts them and no others.

        Parameters
        ----------
        limits : Limits, optional
        most_rules : int
            Largest number of states of objects and arrays, and of alternatives of rules.

        Raises
        ------
        SchemaError
            The schema is malformed, no value satisfies it, or no context-free grammar says what a keyword asks for.
        LimitError
            The grammar would be too large.
        """
        return lark_grammar(self.schema, self.options, limits or Limits(), self.registry, most_rules=most_rules).text

    def read(self, text: str | bytes) -> T_co:
        """The value of a text: an instance of the type that was given; of a schema, the parsed JSON, numbers as int and float.

        A type's own validators run.

        Raises
        ------
        SchemaError
            The text is no JSON, or the type does not take its value: with the place in the value.
        """
        if self._reader is not None:
            return cast("T_co", self._reader.read(text))
        try:
            return cast("T_co", parse_json(text))
        except ValueError as error:
            raise SchemaError(f"the text is not valid JSON: {error}", "", "schema") from error

    def read_part(self, path: Sequence[str | int], text: str, parsed: Any) -> Any:
        """The value of a part of a text, as `read` has it there; ``parsed`` where the type of the part is not known.

        Parameters
        ----------
        path : sequence of str and int
            Keys and indices that lead to it.
        text : str
            The part's own.
        parsed : Any
            The same as parsed JSON.

        Raises
        ------
        SchemaError
            The type does not take it.
        """
        return parsed if self._reader is None else self._reader.read_part(path, text, parsed)


def _text_of(schema: Any, registry: Mapping[str, Any]) -> str:
    for value in (schema, *registry.values()):
        check_levels(value)
    return text_of([schema, registry])
