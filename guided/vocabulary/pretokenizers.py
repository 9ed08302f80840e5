r"""Pretokenizers: how a text is split into words before each is encoded by itself, as an automaton over texts with marked boundaries.

A pretokenizer is a regular expression whose leftmost matches, alternatives in order and quantifiers greedy, cover the text. Whether a word
ends at a position depends on the text after it (``\s+(?!\S)``, ``'re`` against ``'r``). A *hypothesis* is one way to place the boundaries
of a prefix that later text may confirm:

- *threads*: positions in the expression, in the order of priority, from which the current word may continue;
- *watchers*: threads of earlier words that take priority over the match assumed for them, and must therefore never match.

At a boundary the threads of highest priority before the first match become a watcher. Where no boundary is, threads behind a match are
dropped, since the match would be preferred. A text has exactly one set of boundaries, so at its end at most one hypothesis is confirmed.

Characters are reduced to classes, those that the expressions tell apart, and the expressions are read over letters for classes. The
properties of characters are those of Python's ``unicodedata``; characters that were assigned in a later version of Unicode than the
tokenizer's may be classified differently.
"""

import typing
import unicodedata
from functools import cache
from typing import TypeAlias

from guided.limits import Limits
from guided.patterns.parse import parse_in_order
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat

__all__ = ["END", "NAMES", "PATTERNS", "Hypotheses", "Pretokenizer", "PretokenizerName", "pretokenizer"]

PretokenizerName: TypeAlias = typing.Literal["none", "gpt2", "gpt2-digits", "llama3", "qwen2"]
NAMES: tuple[PretokenizerName, ...] = typing.get_args(PretokenizerName)

# Character classes, each with a letter in the expressions below. Letters of contractions have classes of their own.
_OTHER, _LETTER, _NUMBER, _SPACE, _NEWLINE, _WHITE, _QUOTE = range(7)
_CONTRACTED = "strevmld"
_CLASSES = "oLN nw'" + _CONTRACTED
_LETTERS = frozenset([_LETTER, *range(_QUOTE + 1, len(_CLASSES))])
# After the last character.
END = -1

_WHITESPACE = frozenset(
    [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
)

_GPT2 = "'(?:[sdmt]|ll|ve|re)| ?[Lstrevmld]+|{numbers}| ?[o']+|[ nw]+(?![^{blanks}])|[ nw]+"
_LLAMA = "'(?:[sdmt]|ll|ve|re)|[o 'w]?[Lstrevmld]+|N{{1,{digits}}}| ?[o']+n*|[ nw]*n+|[ nw]+(?![^ nw])|[ nw]+"
# The expressions over classes by name.
_EXPRESSIONS: "dict[PretokenizerName, str]" = {
    "none": ".+",
    "gpt2": _GPT2.format(numbers=" ?N+", blanks=" nw"),
    # Digits are split off one by one before the other words, which therefore end before them as at the end of the text.
    "gpt2-digits": _GPT2.format(numbers="N", blanks=" nwN"),
    "llama3": _LLAMA.format(digits=3),
    "qwen2": _LLAMA.format(digits=1),
}

# The expressions of tokenizer files by name. Each name has the forms in which files write it.
PATTERNS: "dict[PretokenizerName, tuple[str, ...]]" = {
    "gpt2": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
    "llama3": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}

# Threads of a hypothesis: positions in a program, ordered by priority.
_NONE = frozenset[int]()
_Threads: TypeAlias = "tuple[int, ...]"
_Hypothesis: TypeAlias = "tuple[_Threads, frozenset[_Threads]]"
Hypotheses: TypeAlias = "frozenset[_Hypothesis]"


class Pretokenizer:
    """The automaton of one pretokenizer.

    Parameters
    ----------
    name : {"none", "gpt2", "gpt2-digits", "llama3", "qwen2"}
        ``"none"``: the whole text is one word.

    Attributes
    ----------
    start : frozenset
        Hypotheses of the empty text.
    """

    def __init__(self, name: PretokenizerName) -> None:
        self._folds = name in ("llama3", "qwen2")
        self._code: list[tuple[str, frozenset[int], int, int]] = []
        self._class_of: dict[str, int] = {}
        self._compile(parse_in_order(_EXPRESSIONS[name], 0, Limits()))
        self._code.append(("match", _NONE, 0, 0))
        self.start: Hypotheses = frozenset([((0,), frozenset[_Threads]())])
        self._steps: dict[tuple[_Threads, int], tuple[_Threads, bool]] = {}

    def class_of(self, character: str) -> int:
        """Return the class of a character."""
        found = self._class_of.get(character)
        if found is None:
            found = self._class_of[character] = self._classify(character)
        return found

    def _classify(self, character: str) -> int:
        folded = {"ſ": "s"}.get(character, character.lower()) if self._folds else character
        if folded in _CONTRACTED:
            return _QUOTE + 1 + _CONTRACTED.index(folded)
        if character == "'":
            return _QUOTE
        if character in "\r\n":
            return _NEWLINE
        if character == " ":
            return _SPACE
        if ord(character) in _WHITESPACE:
            return _WHITE
        return {"L": _LETTER, "N": _NUMBER}.get(unicodedata.category(character)[0], _OTHER)

    def shape(self, text: str) -> bytes:
        """Return the classes of a text's characters, where letters that cannot belong to a contraction are alike.

        A contraction has at most two letters, which follow a quote: in the text, or before it.
        """
        classes = [self.class_of(character) for character in text]
        found = bytearray(classes)
        # Number of letters since the last quote or the beginning of the text; above 2 after another character.
        n_letters = 0
        for i, one in enumerate(classes):
            if one in _LETTERS:
                n_letters += 1
                if n_letters > 2:
                    found[i] = _LETTER
            else:
                n_letters = 0 if one == _QUOTE else 3
        return bytes(found)

    def step(self, hypotheses: Hypotheses, may_end: bool, may_continue: bool, following: int) -> Hypotheses:
        """Return the hypotheses after one more character.

        Parameters
        ----------
        hypotheses : frozenset
            Before it.
        may_end, may_continue : bool
            Whether a word may end before the character, and whether the current word may continue with it.
        following : int
            The character's class.
        """
        found = set[_Hypothesis]()
        for threads, watchers in hypotheses:
            watched = self._watched(watchers, following)
            if watched is None:
                continue
            onward, matches = self._step(threads, following)
            if may_continue and onward:
                found.add((onward, watched))
            if may_end and matches:
                begun, _ = self._step((0,), following)
                found.add((begun, watched | {onward} if onward else watched))
        return frozenset(found)

    def may_end(self, hypotheses: Hypotheses) -> bool:
        """Return whether a text with these hypotheses may end; the empty text may."""
        if hypotheses == self.start:
            return True
        return any(
            self._step(threads, END)[1] and self._watched(watchers, END) is not None for threads, watchers in hypotheses
        )

    def _watched(self, watchers: frozenset[_Threads], following: int) -> frozenset[_Threads] | None:
        """Return the watchers after a character; None if one of them matches before it."""
        after = [self._step(watcher, following) for watcher in watchers]
        if any(matches for _, matches in after):
            return None
        return frozenset(onward for onward, _ in after if onward)

    def _step(self, threads: _Threads, following: int) -> tuple[_Threads, bool]:
        """Return the threads after a character, without those behind a match before it, and whether there is such a match."""
        key = threads, following
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._computed(threads, following)
        return found

    def _computed(self, threads: _Threads, following: int) -> tuple[_Threads, bool]:
        onward, seen = list[int](), set[int]()
        todo = list(reversed(threads))
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            kind, chars, first, second = self._code[at]
            match kind:
                case "match":
                    return tuple(onward), True
                case "chars":
                    if following in chars and at + 1 not in onward:
                        onward.append(at + 1)
                case "before":
                    if following not in chars:
                        todo.append(at + 1)
                case _:
                    todo += [second, first]
        return tuple(onward), False

    def _compile(self, node: Node) -> None:
        code = self._code
        match node:
            case Literal(text):
                code += [("chars", frozenset([_CLASSES.index(letter)]), 0, 0) for letter in text]
            case Chars(charset) | Look(Chars(charset)):
                held = frozenset(number for number, letter in enumerate(_CLASSES) if letter in charset)
                code.append(("before" if isinstance(node, Look) else "chars", held, 0, 0))
            case Concat(items):
                for item in items:
                    self._compile(item)
            case Alternate(items):
                jumps = []
                for item in items[:-1]:
                    fork = self._fork()
                    self._compile(item)
                    jumps.append(self._fork())
                    self._set(fork, fork + 1, len(code))
                self._compile(items[-1])
                for jump in jumps:
                    self._set(jump, len(code), len(code))
            case Repeat(item, minimum, maximum):
                for _ in range(minimum):
                    self._compile(item)
                forks = []
                for _ in range(1 if maximum is None else maximum - minimum):
                    forks.append(self._fork())
                    self._compile(item)
                if maximum is None:
                    self._set(self._fork(), forks[0], forks[0])
                for fork in forks:
                    self._set(fork, fork + 1, len(code))

    def _fork(self) -> int:
        self._code.append(("fork", _NONE, 0, 0))
        return len(self._code) - 1

    def _set(self, fork: int, first: int, second: int) -> None:
        self._code[fork] = "fork", _NONE, first, second


@cache
def pretokenizer(name: PretokenizerName) -> Pretokenizer:
    """Return the pretokenizer of a name, shared by all vocabularies."""
    return Pretokenizer(name)
