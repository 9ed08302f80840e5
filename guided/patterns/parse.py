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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import TypeAlias

from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.anchors import FIRST, FIRST_OF_LINE, LAST_OF_LINE, LAST_OR_NEWLINE, without_outer_anchors
from guided.patterns.bounds import max_width
from guided.patterns.casefold import Folding, ascii_folding, unicode_folding
from guided.patterns.characters import NEWLINE
from guided.patterns.charset import SURROGATE, Charset
from guided.patterns.escapes import bracket_set, escape
from guided.patterns.source import (
    ASCII,
    DOTALL,
    IGNORECASE,
    LETTERS,
    MULTILINE,
    TYPES,
    VERBOSE,
    Intervals,
    Source,
    checked_flags,
    flags_after,
    flags_inside,
)
from guided.patterns.tree import Chars, Literal, Look, Node, Repeat, concat, union, union_in_order

__all__ = ["OpenGroup", "Reader", "folding_of", "parse", "parse_in_order"]

_ORDINARY = re.compile(r"[^\\\[(){*+?^$|.]+")
_ORDINARY_VERBOSE = re.compile(r"[^\\\[(){*+?^$|.# \t\n\r\v\f]+")
_SPACE_VERBOSE = re.compile(r"[ \t\n\r\v\f]+")
_COMMENT = re.compile(r"(?:[^\\)]+|\\.)*+", re.DOTALL)
_COMMENT_VERBOSE = re.compile(r"#(?:[^\\\n]+|\\.)*+", re.DOTALL)
# Cost of reading a token, in emitted states of a literal.
_TOKEN = 6
_REMOVABLE = {letter: flag for letter, flag in LETTERS.items() if not flag & TYPES}
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


# Joins the alternatives of a group; calls its second argument with the number of intervals that are merged.
Join: TypeAlias = Callable[[Sequence[Node], Callable[[int], None]], Node]


class Last(Enum):
    """Kind of the item read last in an alternative."""

    NOTHING = auto()
    ANCHOR = auto()
    REPEAT = auto()
    ITEM = auto()


@dataclass(slots=True)
class OpenGroup:
    """A group that is still open; the whole pattern is the outermost one.

    Characters collect in a literal run, whose last character a quantifier can still take. Only the last item can be repeated, as in `re`:
    not an anchor, a repeat or nothing.

    Attributes
    ----------
    start : int
        Offset of its ``(``.
    flags : int
        Flags inside it.
    assertion : callable, optional
        Returns the assertion about the node of the group.
    name : str, optional
        Its name.
    captures : bool
        Whether it has a number.
    last : Last
        The item that a quantifier would repeat.
    """

    start: int
    flags: int
    assertion: Callable[[Node], Look] | None = None
    name: str | None = None
    captures: bool = False
    last: Last = Last.NOTHING
    _finished: list[Node] = field(default_factory=list)
    _items: list[Node] = field(default_factory=list)
    _run: list[str] = field(default_factory=list)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing but comments has been read."""
        return self.last is Last.NOTHING and not self._finished

    def characters(self, run: str, folding: Folding | None) -> int:
        """Add characters, and return the number of parts; under ``folding`` each is replaced by its class."""
        self.last = Last.ITEM
        if folding is None:
            self._run.append(run)
            return 1
        for character in run:
            equal = folding.character(character)
            if equal is None:
                self._run.append(character)
            else:
                self._end_run()
                self._items.append(equal)
        return len(run)

    def charset(self, charset: Charset) -> None:
        """Add one character of a set."""
        self.last = Last.ITEM
        single = charset.single()
        if single is None:
            self.node(Chars(charset))
        else:
            self._run.append(single)

    def node(self, node: Node) -> None:
        """Add a group or an assertion."""
        self.last = Last.ITEM
        self._end_run()
        self._items.append(node)

    def anchor(self, node: Node) -> None:
        """Add an anchor, which cannot be repeated."""
        self.node(node)
        self.last = Last.ANCHOR

    def repeat(self, minimum: int, maximum: int | None, is_lazy: bool = False) -> None:
        """Repeat the last item.

        Invariant: `last` is ``ITEM``.
        """
        if self._run:
            run = "".join(self._run)
            self._run = [run[:-1]] if len(run) > 1 else []
            self._end_run()
            item: Node = Literal(run[-1])
        else:
            item = self._items.pop()
        self._items.append(item if minimum == maximum == 1 else Repeat(item, minimum, maximum, is_lazy))
        self.last = Last.REPEAT

    def end_branch(self) -> None:
        """Finish an alternative and begin the next."""
        self._end_run()
        self._finished.append(concat(self._items) if self._items else Literal(""))
        self._items = []
        self.last = Last.NOTHING

    def close(self) -> list[Node]:
        """Finish the last alternative, and return all."""
        self.end_branch()
        return self._finished

    def _end_run(self) -> None:
        if self._run:
            self._items.append(Literal("".join(self._run)))
            self._run = []


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
    reader = _reader(pattern, flags, limits, union, limits.intervals)
    tree = reader.tree(limits.nfa_states)
    return without_outer_anchors(tree) if reader.has_anchors else tree


def parse_in_order(pattern: str, flags: int, limits: Limits, intervals: Intervals | None = None) -> Node:
    """Return the tree of a pattern with the preferences of a backtracking matcher: for ``match`` instead of ``fullmatch``.

    Alternatives keep their order, lazy repeats are marked, and no anchor is dropped. Arguments and errors are those of `parse`, and
    ``intervals`` a counter to continue.
    """
    return _reader(pattern, flags, limits, union_in_order, intervals or limits.intervals).tree(limits.nfa_states)


def _reader(
    pattern: str,
    flags: int,
    limits: Limits,
    join: Join,
    intervals: int | Intervals,
) -> "Reader":
    reader = Reader(pattern, limits, intervals, join)
    surrogate = SURROGATE.search(pattern)
    if surrogate:
        raise reader.source.error("lone surrogate: text is UTF-8, which has none", surrogate.start())
    reader.open[0].flags = checked_flags(flags, pattern)
    return reader


class Reader:
    """A pattern that is being read. A subclass overrides what another notation writes or means differently.

    Invariant: ``open`` holds the groups around the cursor, outermost first.
    """

    quantifier = re.compile(r"(?:[*+?]|\{(?!\})(?P<low>[0-9]*)(?P<comma>,(?P<high>[0-9]*))?\})(?P<mode>[?+]?)")
    in_line, first_of_line, last_of_line, last = ~NEWLINE, FIRST_OF_LINE, LAST_OF_LINE, LAST_OR_NEWLINE

    def __init__(
        self,
        pattern: str,
        limits: Limits,
        intervals: int | Intervals,
        join: Join = union,
    ) -> None:
        if not isinstance(pattern, str):
            raise TypeError(f"a pattern must be a str, not {type(pattern).__name__}")
        if len(pattern) > limits.pattern_length:
            raise LimitError("pattern_length", len(pattern), limits.pattern_length)
        self.source, self.limits, self.join = Source(pattern, intervals), limits, join
        self.open = [OpenGroup(0, 0)]
        self.groups, self.names, self.has_anchors = 0, dict[str, int](), False

    def tree(self, most_states: int | None = None) -> Node:
        """Return the tree of the whole pattern."""
        source, tokens = self.source, 0
        while source.position < len(source.text):
            tokens += self._token()
            if most_states is not None and _TOKEN * tokens > most_states:
                raise LimitError("nfa_states", _TOKEN * tokens, most_states, "the pattern has too many parts")
        if len(self.open) > 1:
            raise source.error("missing ), unterminated subpattern", self.open[-1].start)
        return self.join(self.open[0].close(), source.spend)

    def characters(self, run: str) -> int:
        """Read ordinary characters; return the number of parts."""
        group = self.open[-1]
        return group.characters(run, folding_of(group.flags))

    def escape(self, start: int, flags: int) -> str | Charset | Node:
        """Return the escape after a backslash at ``start``."""
        return escape(self.source, start, flags, self.groups)

    def brackets(self, start: int, flags: int) -> Charset:
        """Return the set after a ``[`` at ``start``."""
        return bracket_set(self.source, start, flags, folding_of(flags))

    def opening(self, start: int, flags: int) -> OpenGroup | int | None:
        """Return what a ``(`` at ``start`` opens: a group, flags of the whole pattern, or None for a comment."""
        return _opening(self.source, start, flags)

    def assertion(self, look: Look, start: int) -> None:
        """Add an assertion whose group began at ``start``."""
        if look.behind and max_width(look.item) is None:
            reason = "look-behind of unbounded width; bound its repeats, as in {0,100}"
            raise self.source.error(reason, start)
        self.open[-1].node(look)

    def _token(self) -> int:
        """Read one token: a run of ordinary characters, an atom, a quantifier, or a piece of a group. Return the number of its parts."""
        source, group = self.source, self.open[-1]
        flags = group.flags
        if flags & VERBOSE and (source.run(_SPACE_VERBOSE) or self._comment()):
            return 1
        start = source.position
        run = (_ORDINARY_VERBOSE if flags & VERBOSE else _ORDINARY).match(source.text, start)
        if run:
            source.position = run.end()
            return self.characters(run[0])
        sign = source.text[start]
        if sign in "*+?{" and self._repeat(start):
            return 1
        source.position += 1
        match sign:
            case "\\":
                match self.escape(start, flags):
                    case str(text):
                        self.characters(text)
                    case Charset() as charset:
                        group.charset(charset)
                    case node:
                        self._anchor(node)
            case "[":
                group.charset(self.brackets(start, flags))
            case ".":
                group.charset(Charset.UNIVERSE if flags & DOTALL else self.in_line)
            case "^":
                self._anchor(self.first_of_line if flags & MULTILINE else FIRST)
            case "$":
                self._anchor(self.last_of_line if flags & MULTILINE else self.last)
            case "|":
                group.end_branch()
            case "(":
                self._open_group(start)
            case ")":
                self._close_group(start)
            case _:
                group.characters(sign, None)
        return 1

    def _anchor(self, node: Node) -> None:
        self.has_anchors = True
        self.open[-1].anchor(node)

    def _repeat(self, start: int) -> bool:
        """Read a quantifier ``* + ? {m} {m,} {,n} {m,n}``, lazy with a ``?`` behind it; return whether one begins here.

        A ``{`` that does not begin a count is a character. A possessive ``+`` is refused: its language would depend on the order of
        attempts.
        """
        source, group = self.source, self.open[-1]
        found = self.quantifier.match(source.text, start)
        if found is None:
            return False
        source.position = found.end()
        if found["low"] is None:
            minimum, maximum = _SIGNS[source.text[start]]
        else:
            minimum = self._count(found["low"], start) or 0
            maximum = self._count(found["high"] if found["comma"] else found["low"], start)
            if maximum is not None and maximum < minimum:
                raise source.error("min repeat greater than max repeat", start + 1)
        if group.last in (Last.NOTHING, Last.ANCHOR):
            raise source.error("nothing to repeat", start)
        if group.last is Last.REPEAT:
            raise source.error("multiple repeat", start)
        if found["mode"] == "+":
            raise source.error(
                "possessive quantifier: its language depends on the order of attempts; leave out the +", start
            )
        group.repeat(minimum, maximum, found["mode"] == "?")
        return True

    def _count(self, digits: str, start: int) -> int | None:
        try:
            return int(digits) if digits else None
        except ValueError:  # Python's own limit on the digits of an int, 4,300 unless changed
            raise self.source.error("the repetition number is too large", start) from None

    def _open_group(self, start: int) -> None:
        group = self.open[-1]
        match self.opening(start, group.flags):
            case OpenGroup() as opened:
                self.groups += opened.captures
                if opened.name is not None:
                    self._define(opened.name, start)
                self.open.append(opened)
                depth = len(self.open) - 1
                if depth > self.limits.depth:
                    raise LimitError("depth", depth, self.limits.depth)
            case int(added):
                if len(self.open) > 1 or not group.is_untouched:
                    raise self.source.error("global flags not at the start of the expression", start)
                group.flags = flags_after(group.flags, added, self.source, start)

    def _define(self, name: str, start: int) -> None:
        if name in self.names:
            reason = f"redefinition of group name {name!r} as group {self.groups}; was group {self.names[name]}"
            raise self.source.error(reason, start + len("(?P<"))
        self.names[name] = self.groups

    def _close_group(self, start: int) -> None:
        if len(self.open) == 1:
            raise self.source.error("unbalanced parenthesis", start)
        closed = self.open.pop()
        node = self.join(closed.close(), self.source.spend)
        if closed.assertion is None:
            self.open[-1].node(node)
        else:
            self.assertion(closed.assertion(node), closed.start)

    def _comment(self) -> bool:
        """Skip a comment of verbose mode; an escaped newline does not end it."""
        source = self.source
        found = source.run(_COMMENT_VERBOSE)
        if found and source.text.startswith("\\", source.position):
            raise source.error("bad escape (end of pattern)", source.position)
        return bool(found)


def folding_of(flags: int) -> Folding | None:
    """Return the folding of characters whose case does not matter; None if it does."""
    if not flags & IGNORECASE:
        return None
    return ascii_folding() if flags & ASCII else unicode_folding()


def _opening(source: Source, start: int, flags: int) -> OpenGroup | int | None:
    """Read the syntax after the ``(`` at ``start``, up to the contents of the group.

    Raises
    ------
    PatternError
        The syntax is unknown or incomplete, or requires a backreference, a conditional or an atomic group.
    """
    if not source.accept("?"):
        return OpenGroup(start, flags, captures=True)
    sign = _sign(source)
    if sign == "P":
        return _named(source, start, flags)
    if sign == ":":
        return OpenGroup(start, flags)
    if sign == "#":
        source.run(_COMMENT)
        if not source.accept(")"):
            raise source.error("missing ), unterminated comment", start)
        return None
    if sign in "=!":
        return OpenGroup(start, flags, partial(Look, behind=False, negative=sign == "!"))
    if sign == "<":
        direction = _sign(source)
        if direction not in "=!":
            raise source.error(f"unknown extension ?<{direction}", start + 1)
        return OpenGroup(start, flags, partial(Look, behind=True, negative=direction == "!"))
    if sign == "(":
        raise source.error("conditional group: no automaton can ask whether an earlier group matched", start)
    if sign == ">":
        raise source.error(
            "atomic group: its language depends on the order of attempts; write (?: in place of (?>", start
        )
    if sign in LETTERS or sign in "-L":
        source.position -= 1
        return _flags(source, start, flags)
    raise source.error(f"unknown extension ?{sign}", start + 1)


def _sign(source: Source) -> str:
    sign = source.take()
    if not sign:
        raise source.error("unexpected end of pattern", source.position)
    return sign


def _named(source: Source, start: int, flags: int) -> OpenGroup:
    if source.accept("<"):
        place = source.position
        name = source.until(">", "group name")
        _check_name(name, source, place)
        return OpenGroup(start, flags, name=name, captures=True)
    if source.accept("="):
        place = source.position
        _check_name(source.until(")", "group name"), source, place)
        raise source.error("backreference: no automaton can compare with an earlier match", start)
    raise source.error(f"unknown extension ?P{_sign(source)}", start + 1)


def _check_name(name: str, source: Source, place: int) -> None:
    if not name.isidentifier():
        raise source.error(f"bad character in group name {name!r}", place)


def _flags(source: Source, start: int, flags: int) -> OpenGroup | int:
    """Read ``i)``, ``i:``, ``i-s:`` or ``-s:``."""
    added = removed = 0
    end = "-"
    if not source.accept("-"):
        added, end = _letters(source, LETTERS, ")-:", "missing -, : or )")
    if end == ")":
        return added
    if end == "-":
        removed, _ = _letters(source, _REMOVABLE, ":", "missing :")
        if added & removed:
            raise source.error("bad inline flags: flag turned on and off", source.position - 1)
    return OpenGroup(start, flags_inside(flags, added, removed))


def _letters(source: Source, allowed: Mapping[str, int], ends: str, missing: str) -> tuple[int, str]:
    """Read at least one flag and the character after the last one."""
    found = 0
    while True:
        place = source.position
        letter = source.take()
        if found and letter and letter in ends:
            return found, letter
        if letter == "L":
            raise source.error("bad inline flags: cannot use 'L' flag with a str pattern", place)
        if letter not in LETTERS:
            reason = "unknown flag" if letter.isalpha() else missing if found else "missing flag"
            raise source.error(reason, place)
        if letter not in allowed:
            raise source.error("bad inline flags: cannot turn off flags 'a', 'u' and 'L'", place)
        found |= allowed[letter]
        if found & TYPES == TYPES:
            raise source.error("bad inline flags: flags 'a', 'u' and 'L' are incompatible", place)
