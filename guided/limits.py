"""Budgets that bound the time and memory of a compile for untrusted input.

Budgets count things that the input determines (states, edges, characters), never seconds, so the same input passes or
fails on every machine. Exceeding one raises `LimitError(what, given, limit)`, where ``what`` is the field's name.
docs/limits.md lists which inputs exceed each of them, and the cost of the worst inputs.
"""

from dataclasses import dataclass, field, fields
from functools import cache
from typing import cast

from guided.errors import ArgumentError
from guided.keywords import suggest_keywords_of_class

__all__ = ["Limits"]


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False)
class Limits:
    r"""Budgets of one compile. The defaults hold a compile of anything under about 3 s and 1 GB.

    Attributes
    ----------
    pattern_length : int
        Code points of a pattern.
    depth : int
        Nesting of groups in a pattern.
    intervals : int
        Intervals of characters in the sets of a pattern, or of all terminals of a grammar (a class such as ``\w`` has hundreds).
    nfa_states : int
        States of the nondeterministic automaton, counted repeats included; parts of a pattern (each counts six in a str, three
        in a tree); bytes of a choice's texts.
    states : int
        States of any deterministic automaton, before minimization too.
    transitions : int
        Cells of a transition table (states times classes); pairs (state, next state) of an index count as two.
    steps : int
        Elementary steps of a compile, such as members of state sets visited.
    tokens : int
        Width of a vocabulary's logits.
    token_length : int
        Bytes of a vocabulary's longest token.
    index_bytes : int
        Bytes of an index's tables, in memory and on disk.
    mask_bytes : int
        Bytes of masks that an index keeps; further masks are built each time.
    growth_bytes : int
        Approximate bytes that an index with a stack grows by while texts are read, masks included. Beyond that it drops what it has
        computed, except for the results of `Index.explore`, and computes it again on demand.
    call_steps : int
        Elementary steps of one call of an index with a stack: parts of formulas, alternatives of values, steps of completions. The
        default takes 0.5 to 1.5 s of CPU time. The formulas of a whole schema may take as many, its finite automaton (``eager``) twice
        as many.
    file_bytes : int
        Bytes of a text file (a tokenizer, tool definitions), and of a decompressed spec in an index file; characters of a JSON text,
        and of a request's constraint and its options.
    assertion_depth : int
        Nesting of lookaheads and lookbehinds in a pattern. At most 50.
    schema_depth : int
        Nesting of arrays and objects in a schema, keywords included. At most 200.
    schema_parts : int
        Parts of a schema; a shared Python object counts each time it occurs. At most 4,000,000.
    reference_depth : int
        Schemas in a row that apply to the same value, each within the last (``allOf``, ``anyOf``, ``not``) or referred to by it.
    unevaluated_cases : int
        Cases that ``unevaluatedProperties``, ``unevaluatedItems`` and ``additional_properties=False`` tell apart in one schema.
    digits : int
        Digits of a number in a schema, and of an integer that is read from a text (4,300 where a type reads it). At most 10,000.
    names : int
        Declared names of one object of a schema.
    enum_containers : int
        Arrays and objects of one ``enum``.
    listed_values : int
        Listed values of a subschema whose items or members must differ or be counted.
    listed_depth : int
        Nesting of arrays and objects in listed values. At most 16.
    whitespace_states : int
        States of the automaton of a schema's whitespace.
    configurations : int
        Configurations of a schema that becomes a finite automaton (``JsonSchema(eager=...)``). With ``eager="auto"``, a larger schema
        keeps its stack.
    composition_depth : int
        Nesting of compositions (`guided.Repeat`, ``+``, ``|``), and of groups in GBNF and llguidance's dialect. At most 200.
    grammar_symbols : int
        Terminals and rules of a Lark grammar, whichever are more. At most 65,534.
    lookahead : int
        Characters that a lookahead at the end of a Lark terminal may read.
    dead_end_steps : int
        Elementary steps of the check of a Lark grammar for dead ends, and of each query to it. `steps` bounds them too.
    dead_end_configurations : int
        Parser stacks that a search for a continuation of a Lark text visits where that check does not decide.
    pushes : int
        Stack changes of all tokens of one mask, of an index with a stack.
    readings : int
        Ways to divide a prefix of a Lark text into terminals, or of a composition's text into its parts.
    encoding_steps : int
        Tokens read by one search for a completion in the tokenizer's own encoding (``tokenization="canonical"``), about 10 us each.
    prefixes : int
        Token prefixes that one choice by exact probabilities evaluates; each takes a forward pass.

    Raises
    ------
    TypeError, ValueError
        A budget is not an int, is negative, or is above its maximum.
    """

    pattern_length: int = 1_000_000
    depth: int = 10_000
    intervals: int = 1_000_000
    nfa_states: int = 2_000_000
    states: int = 1_000_000
    transitions: int = 32_000_000
    steps: int = 80_000_000
    tokens: int = 1 << 22
    token_length: int = 1 << 20
    index_bytes: int = 1 << 29
    mask_bytes: int = 1 << 28
    growth_bytes: int = 48 << 20
    call_steps: int = 250_000
    file_bytes: int = 1 << 27
    assertion_depth: int = field(default=50, metadata={"most": 50})
    schema_depth: int = field(default=200, metadata={"most": 200})
    schema_parts: int = field(default=4_000_000, metadata={"most": 4_000_000})
    reference_depth: int = 10_000
    unevaluated_cases: int = 64
    digits: int = field(default=10_000, metadata={"most": 10_000})
    names: int = 10_000
    enum_containers: int = 64
    listed_values: int = 4_096
    listed_depth: int = field(default=16, metadata={"most": 16})
    whitespace_states: int = 500
    configurations: int = 20_000
    composition_depth: int = field(default=200, metadata={"most": 200})
    grammar_symbols: int = field(default=(1 << 16) - 2, metadata={"most": (1 << 16) - 2})
    lookahead: int = 256
    dead_end_steps: int = 80_000_000
    dead_end_configurations: int = 2_000
    pushes: int = 1 << 22
    readings: int = 256
    encoding_steps: int = 500
    prefixes: int = 10_000

    def __repr__(self) -> str:
        changed = [one.name for one in fields(self) if getattr(self, one.name) != one.default]
        shown = [f"{name}={_number(getattr(self, name))}" for name in changed[:6]]
        more = f", and {len(changed) - 6} more" if len(changed) > 6 else ""
        return f"Limits({', '.join(shown)}{more})"

    def __post_init__(self) -> None:
        for name, default, most in _defaults():
            value = getattr(self, name)
            # PERF: schemas of many tools each take default limits.
            if value is default:
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an int, not {type(value).__name__}")
            if value < 0:
                raise ArgumentError(name, "must not be negative")
            if most is not None and value > most:
                raise ArgumentError(name, f"must be at most {most:,}, not {_number(value)}")

    @staticmethod
    def of(given: "Limits | None") -> "Limits":
        """Return the limits, or the default ones.

        Raises
        ------
        TypeError
            It is another object.
        """
        if given is None:
            return _USUAL
        if not isinstance(given, Limits):
            raise TypeError(f"limits must be a Limits, not {type(given).__name__}")
        return given


@cache
def _defaults() -> tuple[tuple[str, int, int | None], ...]:
    """Name, default and maximum of each field."""
    return tuple((one.name, cast("int", one.default), one.metadata.get("most")) for one in fields(Limits))


def _number(value: int) -> str:
    # Python refuses to write numbers of more than 4,300 digits.
    return str(value) if value < 1 << 63 else f"2**{value.bit_length() - 1} or more"


_USUAL = Limits()
