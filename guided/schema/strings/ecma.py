r"""Text of an ECMA-262 regular expression -> tree of the texts that contain a match.

Patterns have the semantics of flag ``u``: characters are code points, ``\d`` and ``\w`` are ASCII, ``.`` is any character except a line
terminator, ``^`` and ``$`` are the ends of the text. Where that would be a syntax error, Annex B (the web's legacy syntax) applies: a
``{`` that begins no count is a character, ``\-`` is ``-``, ``\x`` and ``\u`` without their digits are letters, a backslash and a number
without such a group are octal, lookahead can be repeated. This is decided for each construct, not for the pattern as a whole. ES2025's
modifiers ``(?i:...)`` are supported.

Common syntax outside ECMA-262: ``(?i)``, ``(?s)`` and ``(?m)`` at the start are flags of the whole pattern, ``(?P<n>...)`` is a named
group, ``(?#...)`` a comment, ``\A`` the start, ``\Z`` and ``\z`` the end of the text. Refused: backreferences and atomic groups, which no
automaton supports; possessive quantifiers; escaped letters without a meaning.

Ref: ECMA-262, 22.2 and B.1.2.
"""

import re
from functools import partial

from guided.limits import Limits
from guided.patterns.anchors import LAST
from guided.patterns.charset import SURROGATE, Charset
from guided.patterns.parse import OpenGroup, Reader, folding_of
from guided.patterns.source import DOTALL, IGNORECASE, MULTILINE, Source
from guided.patterns.tree import Chars, Look, Node
from guided.schema.strings.ecma_escapes import TERMINATORS, Escapes, character_class, escape
from guided.schema.strings.searching import found_in

__all__ = ["ecma_tree", "parse_ecma"]

# Capturing groups; escapes and classes are skipped, also a class without an end.
_CAPTURES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?|(\((?!\?)|\(\?P?<(?![=!]))", re.DOTALL)
# Flag u is always on, and may be written.
_LETTERS = {"i": IGNORECASE, "m": MULTILINE, "s": DOTALL, "u": 0}
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
    return _Reader(pattern, limits, limits.intervals).tree()


class _Reader(Reader):
    """A pattern of ECMA-262 that is being read."""

    quantifier = re.compile(r"(?:[*+?]|\{(?P<low>[0-9]+)(?P<comma>,(?P<high>[0-9]*))?\})(?P<mode>[?+]?)")
    in_line, last = ~TERMINATORS, LAST
    first_of_line = Look(Chars(in_line), behind=True, negative=True)
    last_of_line = Look(Chars(in_line), behind=False, negative=True)

    def tree(self, most_states: int | None = None) -> Node:
        """See `Reader`."""
        text = self.source.text
        captures = sum(found.group(1) is not None for found in _CAPTURES.finditer(text)) if "\\" in text else 0
        self._escapes = Escapes(captures, "(?<" in text or "(?P<" in text)
        return super().tree(most_states)

    def characters(self, run: str) -> int:
        """See `Reader`; a lone surrogate is in no text."""
        if run.isascii() or not SURROGATE.search(run):
            return super().characters(run)
        for character in run:
            if SURROGATE.match(character):
                self.open[-1].charset(Charset.EMPTY)
            else:
                super().characters(character)
        return len(run)

    def escape(self, start: int, flags: int) -> str | Charset | Node:  # noqa: ARG002 - as in `Reader`
        """See `Reader`."""
        return escape(self.source, start, self._escapes)

    def brackets(self, start: int, flags: int) -> Charset:
        """See `Reader`."""
        return character_class(self.source, start, folding_of(flags))

    def opening(self, start: int, flags: int) -> OpenGroup | int | None:
        """See `Reader`."""
        return _opening(self.source, start, flags)

    def assertion(self, look: Look, start: int) -> None:  # noqa: ARG002 - as in `Reader`
        """See `Reader`; Annex B allows repeated lookahead, but not repeated lookbehind."""
        group = self.open[-1]
        (group.anchor if look.behind else group.node)(look)


def _opening(source: Source, start: int, flags: int) -> OpenGroup | int | None:
    """Read what follows the ``(`` at ``start``."""
    if not source.accept("?") or source.accept(":"):
        return OpenGroup(start, flags)
    for sign, behind, negative in (("=", False, False), ("!", False, True), ("<=", True, False), ("<!", True, True)):
        if source.accept(sign):
            return OpenGroup(start, flags, partial(Look, behind=behind, negative=negative))
    if source.accept("#"):
        source.run(_COMMENT)
        if not source.accept(")"):
            raise source.error("missing ), unterminated comment", start)
        return None
    if source.accept("<") or source.accept("P<"):
        place = source.position
        name = source.until(">", "group name")
        if not name.replace("$", "_").isidentifier():
            raise source.error(f"bad character in group name {name!r}", place)
        # Why duplicates are allowed: alternatives may share a group name (ES2025), and backreferences are refused anyway.
        return OpenGroup(start, flags)
    if source.accept(">"):
        raise source.error("atomic group: its language depends on the order of attempts", start)
    if source.accept("P="):
        raise source.error("backreference: no automaton can compare with an earlier match", start)
    if source.accept("("):
        raise source.error("conditional group: no automaton can ask whether an earlier group matched", start)
    return _flags(source, start, flags)


def _flags(source: Source, start: int, flags: int) -> OpenGroup | int:
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
        return OpenGroup(start, (flags | added) & ~removed)
    if found[2]:
        raise source.error("flags can be turned off for a group only", place)
    return added


def _sum(letters: str, source: Source, place: int) -> int:
    found = 0
    for offset, letter in enumerate(letters):
        if letter not in _LETTERS:
            raise source.error(f"unknown flag {letter!r}", place + offset)
        found |= _LETTERS[letter]
    return found
