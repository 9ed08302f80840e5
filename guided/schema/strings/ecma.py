r"""Text of an ECMA-262 regular expression -> tree of the texts that contain a match.

Patterns have the semantics of flag ``u``: characters are code points, ``\d`` and ``\w`` are ASCII, ``.`` is any character except a line
terminator, ``^`` and ``$`` are the ends of the text. Where that would be a syntax error, Annex B (the web's legacy syntax) applies: a
``{`` that begins no count is a character, ``\-`` is ``-``, ``\x`` and ``\u`` without their digits are letters, a backslash and a number
without such a group are octal, lookahead can be repeated. This is decided for each construct, not for the pattern as a whole. ES2025's
modifiers ``(?i:...)`` are supported.

Common syntax outside ECMA-262: ``(?i)``, ``(?s)`` and ``(?m)`` at the start are flags of the whole pattern, ``(?P<n>...)`` is a named
group, ``(?#...)`` a comment, ``\A`` the start, ``\Z`` and ``\z`` the end of the text. Refused: backreferences and atomic groups, which no
automaton supports; possessive quantifiers; escaped letters without a meaning.

One loop over the text and one explicit stack of open groups: linear time, no recursion, every error at its offset.

Ref: ECMA-262, 22.2 and B.1.2.
"""

import re

from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.anchors import FIRST, LAST
from guided.patterns.branches import Branches, Last
from guided.patterns.casefold import Folding, unicode_folding
from guided.patterns.charset import Charset
from guided.patterns.groups import Assertion, Comment, GlobalFlags, OpenGroup
from guided.patterns.source import Source
from guided.patterns.tree import Chars, Look, Node
from guided.schema.strings.ecma_escapes import TERMINATORS, Escapes, character_class, escape
from guided.schema.strings.searching import found_in

__all__ = ["ecma_tree", "parse_ecma"]

_ORDINARY = re.compile(r"[^\\\[(){*+?^$|.]+")
_COUNTS = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# Capturing groups; escapes and classes are skipped, also a class without an end.
_CAPTURES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?|(\((?!\?)|\(\?P?<(?![=!]))", re.DOTALL)
_FIRST_OF_LINE = Look(Chars(~TERMINATORS), behind=True, negative=True)
_LAST_OF_LINE = Look(Chars(~TERMINATORS), behind=False, negative=True)
_DOT = ~TERMINATORS
_IGNORECASE, _MULTILINE, _DOTALL = 1, 2, 4
# Flag u is always on, and may be written.
_LETTERS = {"i": _IGNORECASE, "m": _MULTILINE, "s": _DOTALL, "u": 0}
_FLAGS = re.compile(r"([a-zA-Z]*)(-([a-zA-Z]*))?([:)])")
_COMMENT = re.compile(r"[^)]*")


def ecma_tree(source: str, limits: Limits = Limits()) -> Node:  # noqa: B008 - frozen
    """Return the tree of the texts that contain a match of a pattern.

    Parameters
    ----------
    source : str
        A regular expression in the syntax of ECMA-262.
    limits : Limits
        ``pattern_length``, ``depth`` and ``intervals`` apply.

    Raises
    ------
    PatternError
        The pattern is malformed or uses refused syntax; ``position`` is the offset of the error.
    LimitError
        A budget is exceeded.
    """
    return found_in(parse_ecma(source, limits))


def parse_ecma(pattern: str, limits: Limits = Limits()) -> Node:  # noqa: B008 - frozen
    """Return the tree of a pattern itself, with its anchors; otherwise as `ecma_tree`."""
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern must be a str, not {type(pattern).__name__}")
    if len(pattern) > limits.pattern_length:
        raise LimitError("pattern_length", len(pattern), limits.pattern_length)
    source = Source(pattern, limits.intervals)
    captures = sum(found.group(1) is not None for found in _CAPTURES.finditer(pattern)) if "\\" in pattern else 0
    escapes = Escapes(captures, "(?<" in pattern or "(?P<" in pattern)
    stack = [OpenGroup(0, 0)]
    while not source.at_end:
        _read_token(source, stack, escapes, limits)
    if len(stack) > 1:
        raise source.error("missing ), unterminated group", stack[-1].start)
    return stack[0].branches.close(source.spend)


def _read_token(source: Source, stack: list[OpenGroup], escapes: Escapes, limits: Limits) -> None:
    """Read one token: a run of ordinary characters, an atom, a quantifier, or a piece of a group."""
    group = stack[-1]
    flags, branches = group.flags, group.branches
    start = source.position
    run = source.run(_ORDINARY)
    if run:
        _characters(branches, run, flags)
        return
    sign = source.text[start]
    if sign in "*+?{" and _quantifier(source, branches):
        return
    source.position += 1
    match sign:
        case "\\":
            _add(branches, escape(source, start, escapes), flags)
        case "[":
            branches.charset(character_class(source, start, _folding(flags)))
        case ".":
            branches.charset(Charset.UNIVERSE if flags & _DOTALL else _DOT)
        case "^":
            branches.anchor(_FIRST_OF_LINE if flags & _MULTILINE else FIRST)
        case "$":
            branches.anchor(_LAST_OF_LINE if flags & _MULTILINE else LAST)
        case "|":
            branches.end_branch()
        case "(":
            _open_group(source, start, stack, limits)
        case ")":
            _close_group(source, start, stack)
        case _:
            _characters(branches, sign, flags)


def _add(branches: Branches, atom: str | Charset | Node, flags: int) -> None:
    match atom:
        case str():
            _characters(branches, atom, flags)
        case Charset():
            branches.charset(atom)
        case Node():
            branches.anchor(atom)


def _characters(branches: Branches, run: str, flags: int) -> None:
    folding = _folding(flags)
    if run.isascii() or not any("\ud800" <= character <= "\udfff" for character in run):
        branches.characters(run, folding)
        return
    for character in run:
        if "\ud800" <= character <= "\udfff":  # in no text
            branches.charset(Charset.EMPTY)
        else:
            branches.characters(character, folding)


def _quantifier(source: Source, branches: Branches) -> bool:
    """Read the quantifier that begins here; return False and read nothing if it is a literal character."""
    start = source.position
    sign = source.text[start]
    if sign == "{":
        counts = _COUNTS.match(source.text, start)
        if counts is None:
            return False
        source.position = counts.end()
        minimum = _count(counts[1], source, start)
        maximum = minimum if counts[2] is None else _count(counts[3], source, start) if counts[3] else None
        if maximum is not None and maximum < minimum:
            raise source.error("numbers out of order in a quantifier", start + 1)
    else:
        source.position += 1
        minimum, maximum = _SIGNS[sign]
    if branches.last in (Last.NOTHING, Last.ANCHOR):
        raise source.error("nothing to repeat", start)
    if branches.last is Last.REPEAT:
        raise source.error("nothing to repeat: a quantifier may only be followed by ?", start)
    if not source.accept("?") and source.accept("+"):
        raise source.error("possessive quantifier: its language depends on the order of attempts", start)
    branches.repeat(minimum, maximum)
    return True


def _count(digits: str, source: Source, start: int) -> int:
    try:
        return int(digits)
    except ValueError:  # Python's own limit on the digits of an int, 4,300 unless changed
        raise source.error("the repetition number is too large", start) from None


def _open_group(source: Source, start: int, stack: list[OpenGroup], limits: Limits) -> None:
    group = stack[-1]
    match _opening(source, start, group.flags):
        case int(flags):
            stack.append(OpenGroup(start, flags))
        case Assertion() as assertion:
            stack.append(OpenGroup(start, group.flags, assertion))
        case GlobalFlags(added):
            if len(stack) > 1 or not group.branches.is_untouched:
                raise source.error("flags for the whole pattern must be at its start", start)
            group.flags |= added
        case Comment():
            pass
    if len(stack) - 1 > limits.depth:
        raise LimitError("depth", len(stack) - 1, limits.depth)


def _close_group(source: Source, start: int, stack: list[OpenGroup]) -> None:
    if len(stack) == 1:
        raise source.error("unmatched )", start)
    closed = stack.pop()
    node = closed.branches.close(source.spend)
    branches = stack[-1].branches
    if closed.assertion is None:
        branches.node(node)
        return
    look = Look(node, closed.assertion.behind, closed.assertion.negative)
    # Why: Annex B allows repeated lookahead, but not repeated lookbehind.
    (branches.anchor if look.behind else branches.node)(look)


def _folding(flags: int) -> Folding | None:
    return unicode_folding() if flags & _IGNORECASE else None


def _opening(source: Source, start: int, flags: int) -> int | Assertion | GlobalFlags | Comment:
    """Read what follows the ``(`` at ``start``; an int is a group with those flags inside."""
    if not source.accept("?"):
        return flags
    if source.accept(":"):
        return flags
    for sign, behind, negative in (("=", False, False), ("!", False, True), ("<=", True, False), ("<!", True, True)):
        if source.accept(sign):
            return Assertion(behind, negative)
    if source.accept("#"):
        source.run(_COMMENT)
        if not source.accept(")"):
            raise source.error("missing ), unterminated comment", start)
        return Comment()
    if source.accept("<") or source.accept("P<"):
        place = source.position
        name = source.until(">", "group name")
        if not name.replace("$", "_").isidentifier():
            raise source.error(f"bad character in group name {name!r}", place)
        # Why duplicates are allowed: alternatives may share a group name (ES2025), and backreferences are refused anyway.
        return flags
    if source.accept(">"):
        raise source.error("atomic group: its language depends on the order of attempts", start)
    if source.accept("P="):
        raise source.error("backreference: no automaton can compare with an earlier match", start)
    if source.accept("("):
        raise source.error("conditional group: no automaton can ask whether an earlier group matched", start)
    return _flags(source, start, flags)


def _flags(source: Source, start: int, flags: int) -> int | GlobalFlags:
    found = _FLAGS.match(source.text, source.position)
    if found is None or not (found[1] or found[3]):
        raise source.error("invalid group", start)
    place = source.position
    added = _sum(found[1], source, place)
    removed = _sum(found[3] or "", source, found.start(3)) if found[2] else 0
    if added & removed:
        raise source.error("a flag is turned on and off", place)
    source.position = found.end()
    if found[4] == ":":
        return (flags | added) & ~removed
    if found[2]:
        raise source.error("flags can be turned off for a group only", place)
    return GlobalFlags(added)


def _sum(letters: str, source: Source, place: int) -> int:
    found = 0
    for offset, letter in enumerate(letters):
        if letter not in _LETTERS:
            raise source.error(f"unknown flag {letter!r}", place + offset)
        found |= _LETTERS[letter]
    return found
