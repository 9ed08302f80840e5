"""`spec_of`: any constraint as its spec, the same everywhere: in `compile`, generators, compositions and the command line.

=================================================================  ===================================================================
given                                                              is
=================================================================  ===================================================================
a spec                                                             itself; the parts of a composition are converted by this table
str                                                                this text, letter for letter: ``Choice([text])``; a warning if it
                                                                   looks like a pattern
compiled pattern of ``re``                                         `Regex`
Enum class, ``Literal``, list of texts, numbers and Enum members   `Choice`
any other type: a class, ``list[int]``, ``int | None``, ...        `JsonSchema`
dict                                                               `Tools` of a tool's definition; `StructuralTag`; otherwise
                                                                   `JsonSchema` of a schema, a response format or an OpenAPI document
function or other callable, tool; list of these                    `Tools`
path of a file that ends in .json or .lark                         `JsonSchema`, `Grammar`
Lark object                                                        `Grammar`
=================================================================  ===================================================================
"""

import copy
import enum
import os
import re
import typing
import warnings
from collections.abc import Callable, KeysView, Mapping, Set
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_origin, overload

from guided.engine import compile as compiling
from guided.engine.algebra import Composable, Composition, folded
from guided.engine.index import Index
from guided.engine.specs import AnySpec, Choice, Regex, Spec
from guided.errors import shown
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.frontend.tool_definitions import definition_of, is_definition
from guided.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["compile", "spec_of"]

# A constraint as users write it.
Given: TypeAlias = Any
_TYPING = frozenset({"typing", "types", "typing_extensions"})
# What literal texts hardly ever contain.
_PATTERN_LIKE = re.compile(r"\\[dDsSwW]|\.[*+]|\][*+?{]")
_LISTS = (list, tuple, Set, KeysView)
_ACCEPTED = (
    "a spec, a str (a literal text), a compiled pattern, an Enum or Literal, a list of choices, a type, a JSON Schema as a dict, "
    "a function or a list of tools"
)


@suggest_keywords()
def compile(spec: Given, vocabulary: Vocabulary, limits: Limits | None = None) -> Index:  # noqa: A001 - the contract's name
    """Compile an output constraint and a tokenizer vocabulary into an index.

    Parameters
    ----------
    spec : Regex, Choice, Tools, JsonSchema, Grammar, composition, or any other constraint
        See `guided.calls.inputs` for what else is taken: types, Enums, dicts, functions, lists, patterns and literal texts.
    vocabulary : Vocabulary
        The tokens of the model.
    limits : Limits, optional
        Budgets; the defaults keep a compile under about 3 s and 1 GB.

    Returns
    -------
    Index
        Immutable and thread-safe. A generator that is made of it reads texts as the spec does.

    Raises
    ------
    PatternError, SchemaError, GrammarError
        The spec is malformed or cannot be enforced; with the position.
    VocabularyError
        The vocabulary cannot spell any text of the spec.
    LimitError
        A budget was exceeded.
    TypeError
        An argument has the wrong type.

    Notes
    -----
    Complexity: `guided.engine.compile.compile`.
    """
    return compiling.compile(spec_of(spec), vocabulary, limits)


@overload
def spec_of(given: Composition, tools: Callable[[list[Any]], Spec] | None = None) -> Composition: ...


@overload
def spec_of(given: Given, tools: Callable[[list[Any]], Spec] | None = None) -> AnySpec: ...


def spec_of(given: Given, tools: Callable[[list[Any]], Spec] | None = None) -> AnySpec:
    """Return the spec of a constraint.

    Parameters
    ----------
    given
        See the table above.
    tools : callable, optional
        Makes the spec of tools; by default `Tools` with its default format.

    Raises
    ------
    TypeError
        It is none of these.
    SchemaError, GrammarError
        It is malformed.
    """
    if isinstance(given, Composition):
        return _converted(given, tools or _tools)
    if _is_spec(given):
        return given
    if isinstance(given, str):
        if _PATTERN_LIKE.search(given):
            reason = f"{shown(given, 40)} is a literal text; a pattern is guided.Regex({shown(given, 40)})"
            warnings.warn(reason, UserWarning, stacklevel=3)
        return Choice([given])
    if isinstance(given, re.Pattern):
        return Regex.of(given)
    if isinstance(given, os.PathLike):
        return _of_file(Path(given))
    if isinstance(given, Mapping):
        return _of_mapping(given, tools or _tools)
    if isinstance(given, _LISTS):
        items = list(given)
        if any(map(_is_tool, items)):
            return (tools or _tools)(items)
        return Choice(items)
    if (isinstance(given, type) and issubclass(given, enum.Enum)) or _is_literal(given):
        return Choice(given)
    if _is_type(given):
        from guided.engine.json_schema import JsonSchema

        return JsonSchema(given)
    if type(given).__module__.partition(".")[0] == "lark":
        from guided.engine.grammar import Grammar

        return Grammar(given)
    if _is_tool(given):
        return (tools or _tools)([given])
    raise TypeError(f"expected {_ACCEPTED}, not {_named(given)}")


def _is_spec(given: object) -> "TypeIs[AnySpec]":
    """Return whether an object has the methods of a spec."""
    kind = type(given)
    return issubclass(kind, Composable) or (
        hasattr(kind, "fingerprint") and (hasattr(kind, "lower") or hasattr(kind, "pushdown"))
    )


def _is_literal(given: Any) -> bool:
    while type(given).__name__ == "TypeAliasType" and hasattr(given, "__value__"):
        given = given.__value__
    return get_origin(given) is Literal


def _is_type(given: Any) -> bool:
    """Return whether an object is a type: a class, an annotation, or pydantic's adapter of one."""
    if isinstance(given, type) or get_origin(given) is not None or typing.is_typeddict(given):
        return True
    kind = type(given)
    return kind.__name__ == "TypeAdapter" or (
        kind.__module__ in _TYPING and not callable(getattr(given, "__code__", None))
    )


def _is_tool(given: Any) -> bool:
    """Return whether an object is a tool: a definition, a `Tool`, or a callable other than a type."""
    if isinstance(given, Mapping):
        return is_definition(given)
    if isinstance(given, str | Composable | enum.Enum | int | float | None) or _is_type(given):
        return False
    if callable(given):
        # Models can be called, which says how they are used.
        return not hasattr(type(given), "prompt_tokens")
    from guided.calls.tool import Tool

    return isinstance(given, Tool) or definition_of(given) is not None


def _of_mapping(given: Mapping[str, Any], tools: Callable[[list[Any]], Spec]) -> AnySpec:
    if is_definition(given):
        return tools([given])
    if given.get("type") == "structural_tag":
        from guided.engine.structural_tags import StructuralTag

        return StructuralTag(given)
    if given.get("type") in ("json_object", "text") and given.keys() == {"type"}:
        wanted = "guided.JsonSchema({'type': 'object'})" if given["type"] == "json_object" else "None, for free text"
        raise TypeError(f"the response format {dict(given)} has no schema: pass {wanted}")
    from guided.engine.json_schema import JsonSchema

    return JsonSchema(given)


def _of_file(path: Path) -> AnySpec:
    if path.suffix == ".json":
        from guided.engine.json_schema import JsonSchema

        return JsonSchema(path)
    if path.suffix in (".lark", ".gbnf"):
        from guided.engine.grammar import Grammar

        return Grammar(path)
    raise TypeError(f"expected the path of a schema (.json) or a grammar (.lark, .gbnf), not {shown(str(path))}")


def _tools(items: list[Any]) -> Spec:
    # Why here: programs without calls do not import them.
    from guided.calls.spec import Tools

    return Tools(items)


def _converted(spec: Composition, tools: Callable[[list[Any]], Spec]) -> Composition:
    """Return a composition whose leaves are specs and strings; itself if they are."""

    def joined(part: Any, parts: list[Any]) -> Any:
        if not isinstance(part, Composition):
            return part if isinstance(part, str) else spec_of(part, tools)
        if all(one is other for one, other in zip(parts, part.parts, strict=True)):
            return part
        found = copy.copy(part)
        object.__setattr__(found, "parts", tuple(parts))
        return found

    found: Composition = folded(spec, joined)
    return found


def _named(given: Any) -> str:
    if isinstance(given, bool):
        return f"{given} (the schema of {'any value' if given else 'no value'} is guided.JsonSchema({given}))"
    name = type(given).__name__
    if isinstance(given, enum.Enum):
        return f"{name} {shown(given, 40)}: pass the class {name}, or a list of members"
    if isinstance(given, Vocabulary):
        return "a Vocabulary: the constraint comes first, as in guided.compile(City, vocabulary)"
    if is_dataclass(given) or hasattr(type(given), "model_fields"):
        return f"an instance of {name}: pass the class {name}"
    if given is None:
        return "None (free text is guided.generator(model, None), and guided.FreeText() in a composition)"
    if hasattr(type(given), "prompt_tokens"):
        return f"a {name}: the model comes first, as in guided.generator(model, City)"
    return f"{name} {shown(given, 40)}"
