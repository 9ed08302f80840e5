"""Slow and obvious definitions that fast code is compared against, one section per subject."""

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np

from guided.automata.automaton import Automaton
from guided.engine import algebra
from guided.engine.algebra import Alternatives, Concatenation, FreeText, Maybe, Named, Part
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat
from guided.schema.frontend.lowering import Lowering
from guided.vocabulary.segmentation import Encoding
from guided.vocabulary.vocabulary import Vocabulary

# ------------------------------------------------------------------------------------------------------------ tries


@dataclass
class SlowTrie:
    """A trie as a dict from every nonempty prefix of a token to the ids of the tokens that end there."""

    ends: dict[bytes, list[int]]

    @property
    def preorder(self) -> list[bytes]:
        """The prefixes as nodes in preorder: byte strings in order, since a string sorts before its extensions."""
        return sorted(self.ends)

    @property
    def skips(self) -> list[int]:
        """By node, the first node after its subtree."""
        nodes = self.preorder
        return [
            next((i for i in range(first, len(nodes)) if not nodes[i].startswith(node)), len(nodes))
            for first, node in enumerate(nodes)
        ]


def slow_trie(tokens: Sequence[bytes | None]) -> SlowTrie:
    """The twin of `guided.vocabulary.trie.trie_of`."""
    ends: dict[bytes, list[int]] = {}
    for token, data in enumerate(tokens):
        for length in range(1, len(data or b"") + 1):
            ends.setdefault(data[:length], [])
        if data:
            ends[data].append(token)
    return SlowTrie(ends)


# --------------------------------------------------------------------------------------------------------- patterns


def matches(node: Node, text: str) -> bool:
    """Whether a whole text is in the language of a tree: the definition that `guided.patterns.tree` gives, word by word."""
    return len(text) in _Spans(text).ends(node, 0)


class _Spans:
    """Which spans of one text the nodes of a tree match. Recursive and memoized; for small trees and short texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[tuple[Node, int], frozenset[int]] = {}

    def ends(self, node: Node, start: int) -> frozenset[int]:
        """The ends of all spans from ``start`` that the node matches."""
        if (node, start) not in self.known:
            self.known[node, start] = frozenset(self._ends(node, start))
        return self.known[node, start]

    def _ends(self, node: Node, start: int) -> Iterable[int]:
        text, places = self.text, range(start, len(self.text) + 1)
        match node:
            case Literal(literal):
                return [start + len(literal)] if text.startswith(literal, start) else []
            case Chars(charset):
                return [start + 1] if start < len(text) and text[start] in charset else []
            case Concat(items):
                reached = frozenset([start])
                for item in items:
                    reached = self._step(item, reached)
                return reached
            case Alternate(items):
                return frozenset().union(*(self.ends(item, start) for item in items))
            case Repeat(item, minimum, maximum):
                return self._repeat(item, minimum, maximum, start)
            case Look(item, behind, negative):
                if behind:
                    found = any(start in self.ends(item, earlier) for earlier in range(start + 1))
                else:
                    found = bool(self.ends(item, start))
                return [start] if found != negative else []
            case Intersect(items):
                return [end for end in places if all(matches(item, text[start:end]) for item in items)]
            case Complement(item):
                return [end for end in places if not matches(item, text[start:end])]
        raise TypeError(node)

    def _step(self, item: Node, starts: frozenset[int]) -> frozenset[int]:
        return frozenset().union(*(self.ends(item, start) for start in starts))

    def _repeat(self, item: Node, minimum: int, maximum: int | None, start: int) -> frozenset[int]:
        # Positions only move forward, so after some turns the positions reached by exactly n turns stay the same.
        reached, turns = frozenset([start]), 0
        while turns < minimum:
            further = self._step(item, reached)
            if further == reached:
                turns = minimum
                break
            reached, turns = further, turns + 1
        everything = reached
        while maximum is None or turns < maximum:
            reached = self._step(item, reached)
            if reached <= everything:
                break
            everything, turns = everything | reached, turns + 1
        return everything


# --------------------------------------------------------------------------------------------------- automata, small


class AllTexts:
    """Every text over an alphabet to a length, shortest first, and which of them a tree matches; memoized by node.

    A node is a relation on the positions of each text: ``spans[t, i]`` has bit j where the node matches ``texts[t][i:j]`` in its
    place. `Intersect` and `Complement` look their operands up in the shorter text that the span is.
    """

    def __init__(self, alphabet: str, length: int) -> None:
        self.alphabet, self.length = alphabet, length
        self.texts = ["".join(text) for n in range(length + 1) for text in product(alphabet, repeat=n)]
        number = {text: t for t, text in enumerate(self.texts)}
        places = range(length + 1)
        self._inside = np.array([[i <= len(text) for i in places] for text in self.texts])
        self._sub = np.array([[[number[text[i:j]] for j in places] for i in places] for text in self.texts])
        self._is_span = np.array([[[i <= j <= len(text) for j in places] for i in places] for text in self.texts])
        self._lengths = np.array([len(text) for text in self.texts])
        self._known: dict[Node, np.ndarray] = {}

    def matched(self, node: Node) -> np.ndarray:
        """bool, shape (n_texts,): which texts the node matches from end to end."""
        return (self._spans(node)[:, 0] >> self._lengths) & 1 == 1

    def _spans(self, node: Node) -> np.ndarray:
        if node not in self._known:
            # Why so narrow: there are as many of these arrays as trees.
            self._known[node] = self._compute(node).astype(np.int16)
        return self._known[node]

    def _compute(self, node: Node) -> np.ndarray:
        match node:
            case Literal(literal):
                return self._of(lambda text, i: [i + len(literal)] if text.startswith(literal, i) else [])
            case Chars(charset):
                return self._of(lambda text, i: [i + 1] if i < len(text) and text[i] in charset else [])
            case Concat(items):
                return reduce(self._then, map(self._spans, items), self._nothing())
            case Alternate(items):
                return reduce(np.bitwise_or, map(self._spans, items), np.zeros_like(self._nothing()))
            case Repeat(item, minimum, maximum):
                once, reached = self._spans(item), self._nothing()
                for _ in range(minimum):
                    reached = self._then(reached, once)
                every = reached
                for _ in range(self.length + 1 if maximum is None else maximum - minimum):
                    reached = self._then(reached, once)
                    every = every | reached
                return every
            case Look(item, behind, negative):
                spans = self._spans(item)
                found = spans != 0
                if behind:
                    ends = np.bitwise_or.accumulate(spans, axis=1)
                    found = (ends >> np.arange(self.length + 1)) & 1 == 1
                return np.where(found != negative, self._nothing(), 0)
            case Intersect(items):
                return self._whole(np.logical_and.reduce([self.matched(item) for item in items]))
            case Complement(item):
                return self._whole(~self.matched(item))
        raise TypeError(node)

    def _of(self, ends: Callable[[str, int], list[int]]) -> np.ndarray:
        places = range(self.length + 1)
        return np.array([[sum(1 << j for j in ends(text, i)) for i in places] for text in self.texts]) * self._inside

    def _nothing(self) -> np.ndarray:
        return np.where(self._inside, 1 << np.arange(self.length + 1), 0)

    def _then(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        reached = np.zeros_like(first)
        for j in range(self.length + 1):
            reached |= np.where((first >> j) & 1 == 1, second[:, j : j + 1], 0)
        return reached

    def _whole(self, matched: np.ndarray) -> np.ndarray:
        return ((matched[self._sub] & self._is_span) << np.arange(self.length + 1)).sum(axis=2)

    def accepted(self, automaton: Automaton) -> np.ndarray:
        """bool, shape (n_texts,): which texts an automaton accepts, read one character after the other."""
        dead = automaton.n_states
        table = np.vstack(
            [np.where(automaton.table < 0, dead, automaton.table), np.full(automaton.table.shape[1], dead)]
        )
        level, levels = np.zeros(1, np.int64), [np.zeros(1, np.int64)]
        for _ in range(self.length):
            level = np.stack(
                [_read(table, automaton.classes, level, c.encode()) for c in self.alphabet], axis=1
            ).ravel()
            levels.append(level)
        return np.append(automaton.accepting, False)[np.concatenate(levels)]


def _read(table: np.ndarray, classes: np.ndarray, states: np.ndarray, data: bytes) -> np.ndarray:
    for byte in data:
        states = table[states, classes[byte]]
    return states


# ------------------------------------------------------------------------------------------------ the index, by hand


def transitions_of(automaton: Automaton) -> dict[tuple[int, int], int]:
    """An automaton as the function of the textbooks: (state, byte) -> state, where there is one."""
    rows = automaton.table[:, automaton.classes].tolist()
    return {(state, byte): target for state, row in enumerate(rows) for byte, target in enumerate(row) if target >= 0}


def find_subsequences(
    delta: Mapping[tuple[int, int], int], states: Iterable[int], token: bytes
) -> list[tuple[int, ...]]:
    """Algorithm 3 of Willard and Louf 2023: the sequences of states that read a token, by the state where they begin.

    As printed it appends an empty sequence where the walk fails; those are left out.
    """
    found = []
    for start in states:
        if (start, token[0]) not in delta:
            continue
        state, sequence = start, [start]
        for byte in token:
            if (state, byte) not in delta:
                sequence = []
                break
            state = delta[state, byte]
            sequence.append(state)
        if sequence:
            found.append(tuple(sequence))
    return found


def map_states(
    delta: Mapping[tuple[int, int], int], states: Sequence[int], tokens: Sequence[bytes | None]
) -> dict[int, dict[int, int]]:
    """Algorithm 4: for every state the tokens that can be read from it; here with the state that each leads to."""
    sigma: dict[int, dict[int, int]] = {state: {} for state in states}
    for token, data in enumerate(tokens):
        if data:
            for sequence in find_subsequences(delta, states, data):
                sigma[sequence[0]][token] = sequence[-1]
    return sigma


class SlowIndex:
    """What `guided.index` computes, from the definitions: Algorithm 4, then liveness and distances as fixpoints."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.states, self.final = range(automaton.n_states), automaton.n_states
        self.accepting = {state for state in self.states if automaton.accepting[state]}
        self.vocabulary = vocabulary
        sigma = map_states(transitions_of(automaton), self.states, vocabulary.tokens)
        self.distance = dict.fromkeys(self.accepting, 0)
        for count in range(1, automaton.n_states + 1):
            ring = [s for s in self.states if any(self.distance.get(t) == count - 1 for t in sigma[s].values())]
            if not any(state not in self.distance for state in ring):
                break
            for state in ring:
                self.distance.setdefault(state, count)
        self.steps = {
            state: {token: target for token, target in row.items() if target in self.distance}
            for state, row in sigma.items()
        }
        for state in self.accepting:
            self.steps[state] |= dict.fromkeys(vocabulary.eos, self.final)
        self.steps[self.final] = {}

    def allowed(self, state: int) -> list[int]:
        """Ids of the allowed tokens, EOS among them."""
        return sorted(self.steps[state])

    def allowed_within(self, state: int, budget: int) -> list[int]:
        """The allowed tokens after which ``budget - 1`` more reach acceptance; EOS costs nothing."""
        return sorted(t for t, s in self.steps[state].items() if s == self.final or self.distance[s] <= budget - 1)

    def mask(self, tokens: Iterable[int]) -> np.ndarray:
        """The mask of some tokens, bit by bit."""
        words = [0] * -(-self.vocabulary.size // 32)
        for token in tokens:
            words[token // 32] |= 1 << token % 32
        return np.array(words, np.uint32).view(np.int32)


# --------------------------------------------------------------------------------------------------------- sampling


def slow_masses(
    logits: Sequence[float], allowed: Iterable[int], temperature: float, top_k: int | None, min_p: float | None
) -> dict[int, float]:
    """The distribution of `guided.generate.sampler` without top-p (whose edge is a matter of rounding), token by token."""
    finite = [token for token in allowed if math.isfinite(logits[token])]
    ranked = sorted(finite, key=lambda token: (-logits[token], token))
    if temperature == 0:
        return {ranked[0]: 1.0}
    best = logits[ranked[0]]
    weights = {token: math.exp((logits[token] - best) / temperature) for token in ranked[:top_k]}
    weights = {token: weight for token, weight in weights.items() if weight >= (min_p or 0) and weight > 0}
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()}


def common_prefix(words: Sequence[Any]) -> Any:
    """The longest beginning that some texts or byte strings have in common."""
    prefix = words[0]
    while not all(word.startswith(prefix) for word in words):
        prefix = prefix[:-1]
    return prefix


# ----------------------------------------------------------------------------------------------------------- calls

_HEX = "[0-9a-fA-F]"
# Kind of an argument -> its spellings, as a regular expression of `re`.
CALL_SPELLINGS = {
    "int": r"(?:0|-?[1-9][0-9]*)",
    "bool": r"(?:true|false)",
    "choice": r'(?:"a"|"b c")',
    "optional": r"(?:null|0|-?[1-9][0-9]*)",
    "list": r"\[(?:(?:0|-?[1-9][0-9]*)(?:, ?(?:0|-?[1-9][0-9]*))*)?\]",
    "str": r'"(?:[ !#-\[\]-~\x80-\U0010ffff\x7f]|\\["\\bfnrt]|\\u(?:00[01]H|007[fF]|00[89a-fA-F]H|0[1-9a-fA-F]HH'
    r'|[1-9a-cA-CeEfF]HHH|[dD][0-7]HH|[dD][89abAB]HH\\u[dD][c-fC-F]HH))*"'.replace("H", _HEX),
}


def slow_call(tools: Mapping[str, Sequence[tuple[str, str, bool]]], style: str) -> re.Pattern[str]:
    """All calls of some tools, as one regular expression: every choice of optional arguments is written out.

    Parameters
    ----------
    tools : Mapping
        Name of a tool -> (name, kind, is required) of each argument.
    style : {"tooldec", "tooldec-positional", "json"}
        How calls are written.
    """
    calls = []
    for name, parameters in tools.items():
        for given in product((False, True), repeat=len(parameters)):
            chosen = [p for p, is_given in zip(parameters, given, strict=True) if is_given]
            if any(required and not is_given for (_, _, required), is_given in zip(parameters, given, strict=True)):
                continue
            if style == "tooldec-positional" and list(given) != sorted(given, reverse=True):
                continue
            keys = {"tooldec": "{}=", "tooldec-positional": "", "json": '"{}": ?'}[style]
            written = [keys.format(re.escape(label)) + _with_plus(kind, style) for label, kind, _ in chosen]
            begin = r'\{"name": ?"' if style == "json" else ""
            open_, close = (r'", ?"arguments": ?\{', r"\}\}") if style == "json" else (r"\(", r"\)")
            calls.append(begin + re.escape(name) + open_ + ", ?".join(written) + close)
    return re.compile("|".join(calls))


def _with_plus(kind: str, style: str) -> str:
    has_plus = style == "tooldec-positional" and kind in ("int", "optional")
    return rf"(?:{CALL_SPELLINGS[kind]}|\+(?:0|[1-9][0-9]*))" if has_plus else CALL_SPELLINGS[kind]


# ------------------------------------------------------------------------------------------------- formulas of schemas


class SlowTruth:
    """Whether formulas of a schema hold of values that have been read in full: atom by atom, as `guided.schema.formula.atoms` words them.

    ``has_format`` judges formats, ``matches`` searches for patterns.
    """

    def __init__(
        self,
        lowering: Lowering,
        has_format: Callable[[str, str], bool] = lambda name, text: True,
        matches: Callable[[str, str], bool] = lambda source, text: re.search(source, text) is not None,
    ) -> None:
        self.lowering, self.has_format, self.matches = lowering, has_format, matches

    def of_value(self, formula: int, value: Any) -> bool:
        return self._evaluate(formula, lambda node: self._of_value(node, value))

    def of_part(self, formula: int, value: Any) -> bool:
        """A formula over the atoms of the value's own type."""
        of_type = {
            "number": self._of_number,
            "string": self._of_string,
            "array": self._of_array,
            "object": self._of_object,
        }
        return self._evaluate(formula, lambda node: of_type[json_type(value)](node, value))

    def _evaluate(self, formula: int, of_atom: Callable[[tuple[Any, ...]], bool]) -> bool:
        kind, *rest = node = self.lowering.formulas.nodes[formula]
        if kind in ("F", "T"):
            return bool(kind == "T")
        if kind == "!":
            return not self._evaluate(rest[0], of_atom)
        if kind in ("&", "|", "1"):
            truths = [self._evaluate(member, of_atom) for member in rest[0]]
            return all(truths) if kind == "&" else any(truths) if kind == "|" else sum(truths) == 1
        return of_atom(node)

    def _of_value(self, node: tuple[Any, ...], value: Any) -> bool:
        if node[0] == "type":
            return bool(json_type(value) == node[1])
        if node[0] == "schema":
            return self.of_value(self.lowering.expand(node[1]), value)
        assert node[0] in ("number", "string", "array", "object"), node
        return json_type(value) != node[0] or self.of_part(node[1], value)

    def _of_number(self, node: tuple[Any, ...], value: Any) -> bool:
        exact = exact_number(value)
        if node[0] == "integer":
            return exact.denominator == 1 and (not node[1] or isinstance(value, int))
        if node[0] == "minimum":
            return exact > node[1] or (exact == node[1] and not node[2])
        if node[0] == "maximum":
            return exact < node[1] or (exact == node[1] and not node[2])
        if node[0] == "multipleOf":
            return (exact / node[1]).denominator == 1
        assert node[0] == "equals", node
        return bool(exact == node[1])

    def _of_string(self, node: tuple[Any, ...], value: str) -> bool:
        if node[0] == "length":
            return len(value) >= node[1] and (node[2] < 0 or len(value) <= node[2])
        if node[0] == "pattern":
            return self.matches(node[1], value)
        if node[0] == "format":
            return self.has_format(node[1], value)
        assert node[0] == "strings", node
        return value in node[1]

    def _of_object(self, node: tuple[Any, ...], value: dict[str, Any]) -> bool:
        if node[0] == "required":
            return node[1] in value
        if node[0] == "properties":
            return all(self._of_member(node, name, member) for name, member in value.items())
        if node[0] == "propertyNames":
            return all(self.of_value(node[1], name) for name in value)
        if node[0] == "minProperties":
            return len(value) >= node[1]
        assert node[0] == "maxProperties", node
        return len(value) <= node[1]

    def _of_member(self, node: tuple[Any, ...], name: str, member: Any) -> bool:
        asked = [formula for known, formula in node[1] if known == name]
        asked += [formula for source, formula in node[2] if self.matches(source, name)]
        return all(self.of_value(formula, member) for formula in asked or [node[3]])

    def _of_array(self, node: tuple[Any, ...], value: list[Any]) -> bool:
        if node[0] == "items":
            asked = [*node[1][: len(value)], *[node[2]] * (len(value) - len(node[1]))]
            return all(self.of_value(formula, item) for formula, item in zip(asked, value, strict=True))
        if node[0] == "minItems":
            return len(value) >= node[1]
        if node[0] == "maxItems":
            return len(value) <= node[1]
        if node[0] == "contains":
            found = sum(self.of_value(node[1], item) for item in value)
            return found >= node[2] and (node[3] < 0 or found <= node[3])
        assert node[0] == "uniqueItems", node
        return not any(equal_json(one, other) for i, one in enumerate(value) for other in value[:i])


def json_type(value: Any) -> str:
    """The type of a parsed JSON value, as `guided.schema.formula.atoms.TYPES` names it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return "string" if isinstance(value, str) else {list: "array", dict: "object"}.get(type(value), "number")


def exact_number(value: float | Decimal) -> Fraction:
    """A float is the decimal that its shortest spelling writes."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def equal_json(one: Any, other: Any) -> bool:
    """Equal as JSON values: 1 and 1.0 are, 1 and true are not."""
    if json_type(one) != json_type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal_json, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal_json(one[name], other[name]) for name in one)
    return bool(exact_number(one) == exact_number(other) if json_type(one) == "number" else one == other)


# ------------------------------------------------------------------------------------------------------------ searches


def slow_texts(
    probabilities: Callable[[tuple[int, ...]], Sequence[float]],
    vocabulary: Vocabulary,
    accepts: Callable[[bytes], bool],
    budget: int,
    stops: Sequence[bytes] = (),
) -> dict[tuple[int, ...], tuple[float, float]]:
    """All token sequences that `guided.generate.search` may end a text with: their probabilities under the model, and under masking.

    Whether a prefix can be completed is found by trying all continuations.
    """
    words = {token: data for token, data in enumerate(vocabulary.tokens) if data}

    @functools.cache
    def can_end(text: bytes, left: int) -> bool:
        return accepts(text) or (left > 0 and any(can_end(text + data, left - 1) for data in words.values()))

    found: dict[tuple[int, ...], tuple[float, float]] = {}

    def walk(tokens: tuple[int, ...], text: bytes, raw: float, masked: float) -> None:
        left = budget - len(tokens)
        following = [token for token, data in words.items() if left > 0 and can_end(text + data, left - 1)]
        if not following or any(stop in text for stop in stops):
            found[tokens] = raw, masked
            return
        given = probabilities(tokens)
        ends = list(vocabulary.eos) if accepts(text) else []
        mass = math.fsum(given[token] for token in [*following, *ends])
        if ends:
            share = math.fsum(given[token] for token in ends)
            found[tokens] = raw * share, masked * share / mass
        for token in following:
            walk((*tokens, token), text + words[token], raw * given[token], masked * given[token] / mass)

    walk((), b"", 1.0, 1.0)
    return found


def slow_beam(
    probabilities: Callable[[tuple[int, ...]], Sequence[float]],
    vocabulary: Vocabulary,
    texts: Mapping[tuple[int, ...], tuple[float, float]],
    width: int,
) -> list[tuple[int, ...]]:
    """The texts that a beam of a width finds among ``texts`` (`slow_texts`), by the definition; one end of sequence."""
    prefixes = {tokens[:length] for tokens in texts for length in range(len(tokens) + 1)}
    beams: list[tuple[float, tuple[int, ...], bool]] = [(1.0, (), prefixes == {()})]
    while not all(is_done for _, _, is_done in beams):
        extended = [beam for beam in beams if beam[2]]
        for raw, tokens, is_done in beams:
            if is_done:
                continue
            given = probabilities(tokens)
            for token, share in enumerate(given):
                longer = (*tokens, token)
                if token in vocabulary.eos and tokens in texts:
                    extended.append((raw * share, tokens, True))
                elif longer in prefixes:
                    continues = any(other[: len(longer)] == longer and other != longer for other in prefixes)
                    extended.append((raw * share, longer, not continues))
        beams = sorted(extended, key=lambda beam: -beam[0])[:width]
    return [tokens for _, tokens, _ in beams]


def total_variation(left: Mapping[Any, float], right: Mapping[Any, float]) -> float:
    """Half the sum of the differences of two distributions."""
    return sum(abs(left.get(key, 0.0) - right.get(key, 0.0)) for key in {*left, *right}) / 2


def slow_bpe(vocabulary: Vocabulary, data: bytes) -> list[int]:
    """The encoding of bytes: the merge with the lowest rank, the leftmost one first, until there is none."""
    assert isinstance(vocabulary.encoding, Encoding)
    merges = np.asarray(vocabulary.encoding.merges).tolist()
    ranks = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}
    tokens = [vocabulary.tokens.index(bytes([value])) for value in data]
    while possible := [(*ranks[pair], place) for place, pair in enumerate(pairwise(tokens)) if pair in ranks]:
        _, merged, place = min(possible, key=lambda one: (one[0], one[2]))
        tokens[place : place + 2] = [merged]
    return tokens


# ------------------------------------------------------------------------------------------------------ compositions


class SlowReadings:
    """A backtracking matcher over the tree of a composition: the readings of one text, in order of precedence.

    Parameters
    ----------
    text : str
    accepts : callable
        Whether a leaf (a spec, not a str or a free text) accepts a text.
    read : callable
        The value of a leaf's text.
    most : int
        Steps after which `TooManySteps` is raised.
    """

    class TooManySteps(Exception):
        """The text has too many readings."""

    def __init__(
        self, text: str, accepts: Callable[[Any, str], bool], read: Callable[[Any, str], Any], most: int = 30_000
    ) -> None:
        self.text, self._accepts, self._read, self._left = text, accepts, read, most

    def first(self, part: Part) -> list[tuple[str, int, int, Any]] | None:
        """Name, begin, end and value of the captures of the first reading of the whole text; None if there is none."""
        whole = (found for end, _, found in self.of(part, 0) if end == len(self.text))
        found = next(whole, None)
        return None if found is None else list(found)

    def of(self, part: Part, begin: int) -> Iterator[tuple[int, Any, tuple[tuple[str, int, int, Any], ...]]]:
        """The ends of a part's texts from a place on, each with the part's value and the captures."""
        self._left -= 1
        if self._left < 0:
            raise self.TooManySteps
        match part:
            case Concatenation():
                for end, values, found in self._sequence(part.parts, begin):
                    yield end, values[0] if len(values) == 1 else self.text[begin:end], found
            case Alternatives():
                for each in part.parts:
                    yield from self.of(each, begin)
            case Maybe():
                yield from self.of(part.parts[0], begin)
                yield begin, None, ()
            case Named():
                for end, value, found in self.of(part.parts[0], begin):
                    yield end, value, (*found, (part.name, begin, end, value))
            case algebra.Repeat():
                yield from self._repeated(part, begin, 0)
            case str():
                if self.text.startswith(part, begin):
                    yield begin + len(part), part, ()
            case _:
                for end in range(len(self.text), begin - 1, -1):
                    inner = self.text[begin:end]
                    if isinstance(part, FreeText):
                        if (stop := _free_text(part, inner)) is not None:
                            yield end, inner[: len(inner) - stop], ()
                    elif self._accepts(part, inner):
                        yield end, self._read(part, inner), ()

    def _sequence(self, parts: Sequence[Part], begin: int) -> Iterator[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
        if not parts:
            yield begin, (), ()
            return
        for middle, value, found in self.of(parts[0], begin):
            for end, values, further in self._sequence(parts[1:], middle):
                yield end, (value, *values), (*found, *further)

    def _repeated(
        self, part: algebra.Repeat, begin: int, count: int
    ) -> Iterator[tuple[int, list[Any], tuple[Any, ...]]]:
        if part.max is None or count < part.max:
            separated = self.of(part.parts[1], begin) if count and len(part.parts) > 1 else [(begin, None, ())]
            for start, _, between in separated:
                for middle, value, found in self.of(part.parts[0], start):
                    # As in `re`, an unbounded repetition does not go on with nothing.
                    if middle == begin and count >= max(part.min, 1) and part.max is None:
                        continue
                    for end, values, further in self._repeated(part, middle, count + 1):
                        yield end, [value, *values], (*between, *found, *further)
        if count >= part.min:
            yield begin, [], ()


def _free_text(part: FreeText, text: str) -> int | None:
    """The length of the stop string at the end of a free text; None if it is none."""
    if any(each in text for each in part.excludes):
        return None
    if not part.stop:
        return 0
    ends = [text.find(each) + len(each) for each in part.stop if each in text]
    if not ends or min(ends) != len(text):
        return None
    return min(len(each) for each in part.stop if text.endswith(each))


def gbnf_ends(rules: Mapping[str, Any], name: str, text: str) -> set[int]:
    """Return where a text of a rule of a GBNF grammar may end in `text`, if it begins at its start: a least fixpoint over positions.

    A body is ("text", str), ("class", characters, is negated), ("rule", name), ("sequence", *bodies), ("choice", *bodies) or
    ("repeat", body, least, most or None).
    """
    known: dict[tuple[str, int], set[int]] = {(rule, place): set() for rule in rules for place in range(len(text) + 1)}

    def ends(body: Any, place: int) -> set[int]:
        match body:
            case ("text", word):
                return {place + len(word)} if text.startswith(word, place) else set()
            case ("class", characters, is_negated):
                return {place + 1} if text[place : place + 1] and (text[place] in characters) != is_negated else set()
            case ("rule", rule):
                return known[rule, place]
            case ("sequence", *items):
                found = {place}
                for item in items:
                    found = set().union(*(ends(item, one) for one in found))
                return found
            case ("choice", *items):
                return set().union(*(ends(item, place) for item in items))
            case ("repeat", item, least, most):
                # Each further repetition reads at least one character, or none is needed.
                found, reached = ({place} if least == 0 else set()), {place}
                for count in range(1, (least + len(text) + 1 if most is None else most) + 1):
                    reached = set().union(*(ends(item, one) for one in reached))
                    found |= reached if count >= least else set()
                return found
        raise ValueError(body)

    is_changed = True
    while is_changed:
        is_changed = False
        for rule, place in known:
            found = ends(rules[rule], place)
            if not found <= known[rule, place]:
                known[rule, place] |= found
                is_changed = True
    return known[name, 0]


class LongestMatch:
    """Recognizes the texts of a grammar over lexemes, each of which is the longest that the parser can use (Earley's algorithm, by rows).

    A body is ("lexeme", name), ("rule", name), ("sequence", *bodies), ("choice", *bodies) or ("repeat", body, least, most or None).

    Parameters
    ----------
    rules : mapping of str to body
        With the rule ``start``.
    words : mapping of str to set of str
        The texts of each lexeme, those that are much longer than what is asked excepted.
    lazy : set of str
        Lexemes that end at their first match.
    ignored : str or None
        The lexeme that may come between others.
    """

    def __init__(
        self,
        rules: Mapping[str, Any],
        words: Mapping[str, AbstractSet[str]],
        lazy: AbstractSet[str],
        ignored: str | None,
    ) -> None:
        self.words, self.lazy, self.ignored = words, lazy, ignored
        self.begun = {name: {word[:i] for word in texts for i in range(len(word) + 1)} for name, texts in words.items()}
        self.start = "start"
        self.sides: dict[str, list[tuple[str, ...]]] = {}
        for name, body in rules.items():
            self.sides[name] = [(self._symbol(body),)]

    def _symbol(self, body: Any) -> str:
        """Return the symbol of a body: a rule's name, a lexeme in ``<>``, or a new name with its sides."""
        name = f"{len(self.sides)}!"
        match body:
            case ("lexeme", lexeme):
                sides = [(f"<{lexeme}>",)] if self.words[lexeme] - {""} else []
                sides += [()] if "" in self.words[lexeme] else []
            case ("rule", rule):
                return str(rule)
            case ("sequence", *items):
                self.sides[name] = []
                sides = [tuple(map(self._symbol, items))]
            case ("choice", *items):
                self.sides[name] = []
                sides = [(self._symbol(item),) for item in items]
            case ("repeat", item, least, most):
                self.sides[name] = []
                one = self._symbol(item)
                again = f"{name}*"
                self.sides[again] = [(), (one, again)]
                sides = (
                    [(one,) * least + (again,)]
                    if most is None
                    else [(one,) * count for count in range(least, most + 1)]
                )
        self.sides[name] = sides
        return name

    def _closed(self, rows: list[set[Any]], items: set[Any]) -> set[Any]:
        """Return a row with what its items predict and complete; an item is (name, side, place, the row where it began)."""
        here, found, work = len(rows), set(items), list(items)
        while work:
            name, side, place, origin = item = work.pop()
            if place == len(side):
                earlier = found if origin == here else rows[origin]
                new = {(n, s, p + 1, o) for n, s, p, o in earlier if p < len(s) and s[p] == name}
            elif side[place].startswith("<"):
                new = set()
            else:
                new = {(side[place], one, 0, here) for one in self.sides[side[place]]}
                if any(n == side[place] and p == len(s) and o == here for n, s, p, o in found):
                    new.add((name, side, place + 1, origin))
            work += new - found
            found |= new
            del item
        return found

    def accepts(self, text: str) -> bool:
        return self._reads([], {(self.start, side, 0, 0) for side in self.sides[self.start]}, text, is_first=True)

    def _reads(self, rows: list[set[Any]], items: set[Any], text: str, *, is_first: bool = False) -> bool:
        row = self._closed(rows, items)
        if not text:
            return any(n == self.start and p == len(s) and o == 0 for n, s, p, o in row)
        allowed = {side[place][1:-1] for _, side, place, _ in row if place < len(side) and side[place].startswith("<")}
        if allowed and self.ignored and not is_first:
            allowed.add(self.ignored)
        end = 0
        while end < len(text) and any(text[: end + 1] in self.begun[name] for name in allowed):
            end += 1
            if any(text[:end] in self.words[name] for name in allowed & self.lazy):
                break
        matched = {name for name in allowed if text[:end] in self.words[name]} if end else set()
        matched = matched & self.lazy or matched
        shifted = {
            (n, s, p + 1, o) for n, s, p, o in row if p < len(s) and s[p][1:-1] in matched and s[p].startswith("<")
        }
        if shifted and self._reads([*rows, row], shifted, text[end:]):
            return True
        return self.ignored in matched and self._reads(rows, items, text[end:])
