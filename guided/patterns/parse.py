r"""Text of a regular expression -> tree, with the syntax of Python's `re` for str patterns and the semantics of ``re.fullmatch``.

One loop over the text and one explicit stack of open groups: linear time, no recursion, every error at its offset. Reasons and
offsets of syntax errors are those of `re`, unless it gives none or an inaccurate offset.

Extensions: ``\p{..}`` (see `properties`); lookbehind of bounded width need not have a fixed one; counts have no upper limit.
Refused, because no automaton of reasonable size exists: backreferences, conditional groups, unbounded lookbehind. Refused, because
the language would depend on the order in which a backtracking matcher tries: atomic groups, possessive quantifiers. Refused, because the
text is UTF-8: lone surrogates. Refused as in `re` for str patterns: the flag L.

The parser neither compiles nor simplifies: ``a^b`` is a tree that matches nothing, and ``(a{1000}){1000}`` a small one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.anchors import FIRST, FIRST_OF_LINE, LAST_OF_LINE, LAST_OR_NEWLINE, without_outer_anchors
from guided.patterns.branches import Branches, Last, Spend, union, union_in_order
from guided.patterns.casefold import Folding, ascii_folding, unicode_folding
from guided.patterns.characters import NEWLINE
from guided.patterns.charset import SURROGATE, Charset
from guided.patterns.escapes import bracket_set, escape
from guided.patterns.groups import Assertion, Comment, GlobalFlags, Group, OpenGroup, opening
from guided.patterns.source import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    Intervals,
    Source,
    join,
    of_argument,
)
from guided.patterns.tree import Look, Node
from guided.patterns.width import max_width

__all__ = ["parse", "parse_in_order"]

_ORDINARY = re.compile(r"[^\\\[(){*+?^$|.]+")
_ORDINARY_VERBOSE = re.compile(r"[^\\\[(){*+?^$|.# \t\n\r\v\f]+")
_SPACE_VERBOSE = re.compile(r"[ \t\n\r\v\f]+")
_COMMENT_VERBOSE = re.compile(r"#(?:[^\\\n]+|\\.)*+", re.DOTALL)
_NOT_NEWLINE = ~NEWLINE
# Cost of reading a token, in emitted states of a literal.
_TOKEN = 6
_COUNTS = re.compile(r"\{(?!\})(?P<low>[0-9]*)(?P<comma>,(?P<high>[0-9]*))?\}")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(slots=True)
class _ParserState:
    """A pattern being read. Invariant: ``open`` holds the groups around the cursor, outermost first."""

    source: Source
    open: list[OpenGroup]
    limits: Limits
    join: Callable[[Sequence[Node], Spend], Node]
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)


def parse(pattern: str, flags: int = 0, limits: Limits = Limits()) -> Node:  # noqa: B008 - frozen
    """Return the tree of a pattern.

    Parameters
    ----------
    pattern : str
        A regular expression in the syntax of `re`.
    flags : int
        Any of ``re.A``, ``I``, ``M``, ``S``, ``U`` and ``X``.
    limits : Limits
        ``pattern_length``, ``depth``, ``intervals`` and, by the parts of the pattern, ``nfa_states`` apply.

    Returns
    -------
    Node
        A tree whose language is the set of texts that ``re.fullmatch(pattern, text, flags)`` matches.

    Raises
    ------
    PatternError
        The pattern is malformed or uses refused syntax; ``position`` is the offset of the error.
    LimitError
        The pattern is longer than ``pattern_length``, nests groups deeper than ``depth``, its sets of characters exceed ``intervals``, or
        it has more groups, operators and runs of letters (letters, if their case does not matter) than a sixth of ``nfa_states``.
    """
    return without_outer_anchors(_tree(pattern, flags, limits, union, limits.intervals))


def parse_in_order(pattern: str, flags: int, limits: Limits, intervals: Intervals | None = None) -> Node:
    """Return the tree of a pattern with the preferences of a backtracking matcher: for ``match`` instead of ``fullmatch``.

    Alternatives keep their order, lazy repeats are marked, and no anchor is dropped. Arguments and errors are those of `parse`, and
    ``intervals`` a counter to continue.
    """
    return _tree(pattern, flags, limits, union_in_order, intervals or limits.intervals)


def _tree(
    pattern: str,
    flags: int,
    limits: Limits,
    join: Callable[[Sequence[Node], Spend], Node],
    intervals: int | Intervals,
) -> Node:
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern must be a str, not {type(pattern).__name__}")
    if len(pattern) > limits.pattern_length:
        raise LimitError("pattern_length", len(pattern), limits.pattern_length)
    source = Source(pattern, intervals)
    surrogate = SURROGATE.search(pattern)
    if surrogate:
        raise source.error("lone surrogate: text is UTF-8, which has none", surrogate.start())
    reading = _ParserState(source, [OpenGroup(0, of_argument(flags, pattern))], limits, join)
    tokens, most = 0, limits.nfa_states // _TOKEN
    while source.position < len(pattern):
        tokens += _read_token(reading)
        if tokens > most:
            raise LimitError("nfa_states", _TOKEN * tokens, limits.nfa_states, "the pattern has too many parts")
    if len(reading.open) > 1:
        raise source.error("missing ), unterminated subpattern", reading.open[-1].start)
    return reading.open[0].branches.close(source.spend, join)


def _read_token(reading: _ParserState) -> int:
    """Read one token: a run of ordinary characters, an atom, a quantifier, or a piece of a group. Return the number of its parts."""
    source, group = reading.source, reading.open[-1]
    flags, branches = group.flags, group.branches
    if flags & VERBOSE and (source.run(_SPACE_VERBOSE) or _comment(source)):
        return 1
    start = source.position
    run = source.run(_ORDINARY_VERBOSE if flags & VERBOSE else _ORDINARY)
    if run:
        return branches.characters(run, _folding(flags))
    sign = source.text[start]
    if sign in "*+?{" and _repeat(source, branches):
        return 1
    source.position += 1
    match sign:
        case "\\":
            _add(branches, escape(source, start, flags, reading.groups), flags)
        case "[":
            branches.charset(bracket_set(source, start, flags, _folding(flags)))
        case ".":
            branches.charset(Charset.UNIVERSE if flags & DOTALL else _NOT_NEWLINE)
        case "^":
            branches.anchor(FIRST_OF_LINE if flags & MULTILINE else FIRST)
        case "$":
            branches.anchor(LAST_OF_LINE if flags & MULTILINE else LAST_OR_NEWLINE)
        case "|":
            branches.end_branch()
        case "(":
            _open_group(reading, start)
        case ")":
            _close_group(reading, start)
        case _:
            branches.characters(sign, None)
    return 1


def _repeat(source: Source, branches: Branches) -> bool:
    """Read a quantifier ``* + ? {m} {m,} {,n} {m,n}``, lazy with a ``?`` behind it; return whether one begins here.

    A ``{`` that does not begin a count is a character. A possessive ``+`` is refused: the language would depend on what was tried first.

    Raises
    ------
    PatternError
        There is nothing to repeat, the maximum is below the minimum, or the quantifier is possessive.
    """
    start = source.position
    sign = source.text[start]
    if sign != "{":
        source.position += 1
        minimum, maximum = _SIGNS[sign]
    else:
        counts = _COUNTS.match(source.text, start)
        if counts is None:
            return False
        source.position = counts.end()
        minimum = _count(counts["low"], source, start) or 0
        maximum = _count(counts["high"] if counts["comma"] else counts["low"], source, start)
        if maximum is not None and maximum < minimum:
            raise source.error("min repeat greater than max repeat", start + 1)
    if branches.last in (Last.NOTHING, Last.ANCHOR):
        raise source.error("nothing to repeat", start)
    if branches.last is Last.REPEAT:
        raise source.error("multiple repeat", start)
    is_lazy = source.accept("?")
    if not is_lazy and source.accept("+"):
        raise source.error("possessive quantifier: its language depends on the order of attempts", start)
    branches.repeat(minimum, maximum, is_lazy)
    return True


def _count(digits: str, source: Source, start: int) -> int | None:
    try:
        return int(digits) if digits else None
    except ValueError:  # Python's own limit on the digits of an int, 4,300 unless changed
        raise source.error("the repetition number is too large", start) from None


def _add(branches: Branches, atom: str | Charset | Node, flags: int) -> None:
    match atom:
        case str():
            branches.characters(atom, _folding(flags))
        case Charset():
            branches.charset(atom)
        case Node():
            branches.anchor(atom)


def _open_group(reading: _ParserState, start: int) -> None:
    group = reading.open[-1]
    match opening(reading.source, start, group.flags):
        case Group(flags, name, captures):
            reading.groups += captures
            if name is not None:
                _define(reading, name, start)
            reading.open.append(OpenGroup(start, flags))
        case Assertion() as assertion:
            reading.open.append(OpenGroup(start, group.flags, assertion))
        case GlobalFlags(added):
            if len(reading.open) > 1 or not group.branches.is_untouched:
                raise reading.source.error("global flags not at the start of the expression", start)
            group.flags = join(group.flags, added, reading.source, start)
        case Comment():
            pass
    depth = len(reading.open) - 1
    if depth > reading.limits.depth:
        raise LimitError("depth", depth, reading.limits.depth)


def _define(reading: _ParserState, name: str, start: int) -> None:
    if name in reading.names:
        reason = f"redefinition of group name {name!r} as group {reading.groups}; was group {reading.names[name]}"
        raise reading.source.error(reason, start + len("(?P<"))
    reading.names[name] = reading.groups


def _close_group(reading: _ParserState, start: int) -> None:
    if len(reading.open) == 1:
        raise reading.source.error("unbalanced parenthesis", start)
    closed = reading.open.pop()
    node = closed.branches.close(reading.source.spend, reading.join)
    if closed.assertion is not None:
        if closed.assertion.behind and max_width(node) is None:
            reason = "look-behind of unbounded width; bound its repeats, as in {0,100}"
            raise reading.source.error(reason, closed.start)
        node = Look(node, closed.assertion.behind, closed.assertion.negative)
    reading.open[-1].branches.node(node)


def _comment(source: Source) -> bool:
    """Skip a comment of verbose mode; an escaped newline does not end it."""
    found = source.run(_COMMENT_VERBOSE)
    if found and source.text.startswith("\\", source.position):
        raise source.error("bad escape (end of pattern)", source.position)
    return bool(found)


def _folding(flags: int) -> Folding | None:
    if not flags & IGNORECASE:
        return None
    return ascii_folding() if flags & ASCII else unicode_folding()
