"""The texts of a schema as a Lark grammar."""

from guided.engine.json_schema import JsonSchema
from guided.limits import Limits
from guided.schema.grammar.lark import MOST_RULES
from guided.schema.grammar.lark import lark_grammar as written

__all__ = ["lark_grammar"]


def lark_grammar(spec: JsonSchema, *, limits: Limits | None = None, most_rules: int = MOST_RULES) -> str:
    """A grammar of the texts of a spec: ``lark.Lark(text, parser="lalr")`` accepts them and no others.

    Parameters
    ----------
    spec : JsonSchema
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
    return written(spec.schema, spec.options, limits or Limits(), spec.registry, most_rules=most_rules).text
