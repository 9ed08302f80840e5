"""Budgets that hold a compile to bounded time and memory, whoever wrote the input.

Budgets count things that the input determines (states, edges, characters), never seconds, so the same input passes or
fails on every machine. Passing one raises `LimitError(what, given, limit)`, where ``what`` is the field's name.
docs/limits.md has what passes each of them, and what the worst inputs cost.
"""

from dataclasses import dataclass, fields

from guided.keywords import suggest_keywords_of_class

__all__ = ["Limits"]


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False)
class Limits:
    r"""Budgets of one compile. The defaults hold a compile of anything under about 5 s and 1 GB.

    Attributes
    ----------
    pattern_length : int
        Code points of a pattern.
    depth : int
        Nesting of groups in a pattern.
    intervals : int
        Intervals of characters that the sets of a pattern are computed from (a class such as ``\w`` has hundreds).
    nfa_states : int
        States of the nondeterministic automaton, counted repeats included; parts of a pattern (four for each as it is read,
        three as a tree); bytes of a choice's texts.
    states : int
        States of any deterministic automaton on the way (before minimization too).
    transitions : int
        Cells of a transition table (states times classes); pairs (state, next state) of an index, each of which takes two cells.
    steps : int
        Elementary steps of all determinizations of a compile (members of state sets visited).
    tokens : int
        Width of a vocabulary's logits.
    token_length : int
        Bytes of a vocabulary's longest token.
    index_bytes : int
        Bytes of an index's tables, in memory and on disk.
    mask_bytes : int
        Bytes of masks that an index keeps. Passing it is no error: further masks are built each time.
    growth_bytes : int
        Bytes of memory, roughly, that an index with a stack grows by while texts are read, masks included. Passing it is no error: the
        index drops what it has computed, except for what `Index.explore` made, and computes it again where it is needed.
    call_steps : int
        Elementary steps of one call of an index that has a stack: parts of formulas, alternatives of values, steps of completions. The
        default takes 1 to 3 s of CPU time. The formulas of a whole schema may take eight times as many.
    file_bytes : int
        Bytes of a text file that is read whole (a tokenizer, tool definitions), and of a spec in an index file, decompressed.

    Raises
    ------
    TypeError, ValueError
        A budget is no int, or is negative.
    """

    pattern_length: int = 1_000_000
    depth: int = 10_000
    intervals: int = 2_000_000
    nfa_states: int = 2_000_000
    states: int = 1_000_000
    transitions: int = 64_000_000
    steps: int = 200_000_000
    tokens: int = 1 << 22
    token_length: int = 1 << 20
    index_bytes: int = 1 << 29
    mask_bytes: int = 1 << 28
    growth_bytes: int = 48 << 20
    call_steps: int = 500_000
    file_bytes: int = 1 << 27

    def __repr__(self) -> str:
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        shown = [f"{name}={_number(getattr(self, name))}" for name in changed[:6]]
        more = f", and {len(changed) - 6} more" if len(changed) > 6 else ""
        return f"Limits({', '.join(shown)}{more})"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name} is an int, not {type(value).__name__}")
            if value < 0:
                raise ValueError(f"{field.name} is not negative, as the one given is")


def _number(value: int) -> str:
    # Python refuses to write numbers of more than 4,300 digits.
    return str(value) if value < 1 << 63 else f"2**{value.bit_length() - 1} or more"
