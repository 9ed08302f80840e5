"""Search over whole texts: sequential Monte Carlo, rejection sampling and beams.

Masking token by token renormalizes each step, so a text w has the probability ``p(w) / (M_1 ... M_n)``, where p is the model's own
distribution and M_i the mass of the tokens allowed at step i. It should be ``p(w) / Z``. The searches of this module are faithful to p.

Target. A text ends with an end of sequence where the model may choose one, and without one where nothing can follow: the mask allows no
further token, the budget is used up, or a stop string is found. No ended text is a prefix of another one, so ``p(w)``, the probability that
the model's output begins with the tokens of w, sums to ``Z <= 1`` over all texts w of the constraint and the budget. The target is
``p(w) / Z``. Tokenizations of one text are texts of their own.

- `smc` approximates it with N particles. Each is extended by the masked distribution and weighted by the allowed mass of each step. The
  particles are resampled where their effective number falls below N / 2. The estimate of Z is unbiased, and the error falls as 1 / sqrt(N).
- `rejection` draws independent samples of exactly the target. It remembers the masses of the prefixes it has seen, so it never draws a
  rejected text again.
- `beam` finds texts with high ``p(w)``.
- `enumeration` computes the target up to a bound, for constraints with few texts.

Steered texts. The budget is a part of the target, so it may change which text is found. `smc` and `rejection` draw as if there were no
budget; if a token is drawn that only the budget excludes, the texts found are steered from where they leave the prefix before it. `beam`
calls a text steered if the budget excluded a more probable prefix, and `enumeration` if what it excluded may have more than ``tolerance``
of the probability.

Allowed tokens are those of `Guide.mask_within`: for JSON Schema and Lark grammars it may omit tokens whose completions are too expensive to
find, which the target then excludes.

Complexity: `smc` and `beam` take one pass of a batch per step, in which equal prefixes share a row, and O(rows * size) besides; `rejection`
and `enumeration` take one pass per prefix.

Ref: Lew, Zhi-Xuan, Grand, Mansinghka, "Sequential Monte Carlo Steering of Large Language Models using Probabilistic Programs", 2023.
Loula et al., "Syntactic and Semantic Control of Large Language Models via Sequential Monte Carlo", 2025.
Parys et al., "Constrained Adaptive Rejection Sampling", 2025.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, Int64Array
from guided.errors import LimitError, ModelError
from guided.events import FinishReason, Sample, Scores
from guided.generate.canonical import Canonical, Steering
from guided.generate.decoding import Feed, Found, Rows, Start
from guided.generate.likelihood import Step, scaled, step_of
from guided.generate.model import Logits, common_prefix
from guided.generate.steering import ENDLESS
from guided.guide.end_tokens import token_mask

__all__ = ["Node", "Texts", "beam", "best_first", "enumeration", "pick", "rejection", "smc"]

K = TypeVar("K")

# Probabilities that a rejection sampler remembers, 16 bytes each; beyond them, new prefixes are forgotten after their attempt.
_REMEMBERED = 1 << 23


@dataclass(frozen=True, slots=True)
class Node:
    """A prefix of a text."""

    # State after the prefix, its tokens, and their scores.
    guide: Steering
    tokens: tuple[int, ...]
    scores: Scores
    # Its last bytes, in which a stop string may begin.
    tail: bytes
    # The tokens that may follow; None if the text ends here.
    mask: Int32Array | None
    # Why the text ends here, if it does.
    finish_reason: FinishReason = "stop"
    # As in `Start`, after the prefix.
    free: Steering | None = None
    # The tokens that might follow with a larger budget, if they are others.
    free_mask: Int32Array | None = None


class Texts:
    """The tree of the texts that a search explores."""

    def __init__(self, start: Start) -> None:
        self._vocabulary, self._left = start.vocabulary, start.left
        self._has_dead_ends, self._is_cut = isinstance(start.guide, Canonical), start.is_cut
        self._eos = frozenset(start.vocabulary.eos)
        self._text_words = ~token_mask(start.vocabulary.eos, start.vocabulary.size)
        self._stops = tuple(stop.encode() for stop in start.stops)
        self._longest = max(map(len, self._stops), default=1) - 1
        self.root = self._node(Node(start.guide.fork(), (), Scores(), b"", None, free=start.free and start.free.fork()))

    def step(self, node: Node, logits: Logits) -> Step:
        """The tokens that may follow a prefix."""
        assert node.mask is not None
        return step_of(logits, node.mask, self._vocabulary.eos, node.free_mask)

    def child(self, node: Node, step: Step, place: int) -> Node | None:
        """The prefix extended by the token at index ``place`` of a step; None if no text of the target begins with it."""
        if not self.is_live(node, step, place):
            return None
        token, scores = int(step.tokens[place]), node.scores + step.scores(place)
        guide = node.guide.fork()
        guide.advance(token)
        if token in self._eos:
            return Node(guide, node.tokens, scores, b"", None)
        free = None
        if node.free is not None and node.free.mask()[token >> 5] >> (token & 31) & 1:
            free = node.free.fork()
            free.advance(token)
        data = node.tail + (self._vocabulary[token] or b"") if self._stops else b""
        tokens = (*node.tokens, token)
        if any(stop in data for stop in self._stops):
            return Node(guide, tokens, scores, b"", None, "stop_string")
        return self._node(Node(guide, tokens, scores, data[max(len(data) - self._longest, 0) :], None, free=free))

    def is_live(self, node: Node, step: Step, place: int) -> bool:
        """Whether some text of the target begins with the prefix extended by a token of a step."""
        left = ENDLESS if self._is_cut else self._left - len(node.tokens)
        return not self._has_dead_ends or node.guide.fits(int(step.tokens[place]), left)

    def _node(self, node: Node) -> Node:
        """The prefix with its masks; it ends here if the budget is used up or no further token fits it."""
        left, free = self._left - len(node.tokens), (node.free or node.guide).mask()
        if left > 0:
            mask = free if self._is_cut else node.guide.mask_within(left)
            if (mask & self._text_words).any():
                return replace(node, mask=mask, free_mask=None if np.array_equal(mask, free) else free)
        if not (free & self._text_words).any():
            return node
        return replace(node, finish_reason="length")


@dataclass(slots=True)
class _Group:
    """Particles with the same prefix, which therefore have the same weight."""

    node: Node
    count: int
    log_weight: float
    parent: int = 0
    step: Step | None = None


def smc(start: Start, particles: int, random: np.random.Generator) -> Generator[Rows, list[Logits], Found]:
    """Sequential Monte Carlo with locally masked proposals.

    Returns
    -------
    Found
        The distinct samples with their weights, the heaviest first; one of them is chosen with its weight. ``log_z`` is the logarithm of an
        unbiased estimate of Z, as long as not all particles were at dead ends at once: then they are drawn again, and in
        expectation the estimate is too large, by about the share of such runs.

    Raises
    ------
    ModelError
        The weights of all particles are 0: after each of their prefixes, the model gives no allowed token a probability above 0.
    """
    texts = Texts(start)
    groups = [_Group(texts.root, particles, 0.0)]
    # The prefix after which a particle drew a token that only the budget excludes.
    lost: tuple[int, ...] | None = None
    n_passes = 0
    while live := [group for group in groups if group.node.mask is not None]:
        answers = yield _request(start, [(group.parent, group.node) for group in live])
        n_passes += 1
        for row, (group, logits) in enumerate(zip(live, answers, strict=True)):
            group.step, group.parent = texts.step(group.node, logits), row
            group.log_weight += group.step.log_mass
            if lost is None and any(_is_refused(group.step, random) for _ in range(group.count)):
                lost = group.node.tokens
        kept = _resampled(groups, particles, random)
        # Particles at a dead end have the weight 0. If all are, they are drawn again, without the tokens that led there and their mass.
        before = [group.log_weight for group in kept]
        while not (groups := list(_extended(texts, kept, random))):
            for group, log_weight in zip(kept, before, strict=True):
                assert group.step is not None
                group.log_weight = log_weight + group.step.log_left
            if all(group.log_weight == -np.inf for group in kept):
                raise _no_particle()
    weights, log_mean = _weights([group.log_weight for group in groups], groups, particles)
    shares = weights / weights.sum()
    chosen = int(_systematic(shares, 1, random).argmax())
    return _found([group.node for group in groups], shares, chosen, log_mean, n_passes, [lost] * len(groups))


def beam(start: Start, width: int) -> Generator[Rows, list[Logits], Found]:
    """Search for the most probable texts: the ``width`` most probable prefixes of each length are extended.

    Returns
    -------
    Found
        Up to ``width`` texts, the most probable first, which is the one chosen. Their weights are their probabilities renormalized, and
        ``log_z`` is the logarithm of the sum of their probabilities: a lower bound of log Z.

    Raises
    ------
    ModelError
        After each of the prefixes kept, the model gives no allowed token a probability above 0.
    """
    texts = Texts(start)
    # Prefixes, each with the row of its parent.
    kept = [(0, texts.root)]
    # The most probable prefix after which the budget excludes a token, and the logarithm of the probability with this token.
    lost, log_lost = tuple[int, ...](), -np.inf
    n_passes = 0
    while live := [(parent, node) for parent, node in kept if node.mask is not None]:
        answers = yield _request(start, live)
        n_passes += 1
        # Logarithm of the probability, prefix, and the row, step and place of the token that extends it; no step where the text has ended.
        candidates = list[tuple[float, Node, int, Step | None, int]]()
        answer = iter(enumerate(answers))
        for _, node in kept:
            before = node.scores.log_probability
            if node.mask is None:
                candidates.append((before, node, 0, None, 0))
                continue
            row, logits = next(answer)
            step = texts.step(node, logits)
            if (log := before + float(step.refused.max(initial=-np.inf))) > log_lost:
                lost, log_lost = node.tokens, log
            best = np.argsort(-step.logs, kind="stable").tolist()
            for place in itertools.islice((place for place in best if texts.is_live(node, step, place)), width):
                candidates.append((before + float(step.logs[place]), node, row, step, place))
        # Why stable: equal probabilities stay in the order of the parents' ranks, then of the tokens.
        candidates.sort(key=lambda candidate: -candidate[0])
        kept = [
            (row, child)
            for _, node, row, step, place in candidates[:width]
            if (child := node if step is None else texts.child(node, step, place)) is not None
        ]
        if not kept:
            raise _no_particle()
    nodes = [node for _, node in kept]
    masses, log_scale = scaled(np.array([node.scores.log_probability for node in nodes]))
    losses = [lost if node.scores.log_probability < log_lost else None for node in nodes]
    return _found(nodes, masses / masses.sum(), 0, log_scale + math.log(masses.sum()), n_passes, losses)


def rejection(start: Start, samples: int, attempts: int, random: np.random.Generator) -> Generator[Feed, Logits, Found]:
    """Draw independent samples of exactly the target.

    Each attempt draws a text from the model's own distribution without the masses that earlier attempts found to be rejected, and is
    rejected where the model would have chosen a token that is not allowed. A text w is accepted with probability ``p(w) / bound``, where
    ``bound`` is that of the root: in proportion to p.

    ``attempts`` bounds those of all samples.

    Returns
    -------
    Found
        The distinct samples; their weights are their frequencies. The first sample is the one chosen. There is no ``log_z``.

    Raises
    ------
    LimitError
        ``attempts``: all attempts were used before there were enough samples.
    ModelError
        The model gives every text of the constraint a probability of 0.
    """
    texts, read = Texts(start), _Reader(start)
    root = _Branch(texts.root)
    accepted, losses = list[Node](), list[tuple[int, ...] | None]()
    # The prefix after which the model drew a token that only the budget excludes.
    lost: tuple[int, ...] | None = None
    n_remembered = 0
    for _ in range(attempts):
        if root.log_bound == -np.inf:
            raise _no_text()
        path, branch = list[_Branch](), root
        while branch.node.mask is not None:
            path.append(branch)
            if branch.step is None:
                logits = yield from read(branch.node.tokens)
                branch.step = texts.step(branch.node, logits)
            # In a new prefix all tokens of the model are drawn from: a draw beyond the sum of the weights is a token that is not allowed.
            # In a known one, the weights sum to its bound.
            place = branch.draw(random)
            if place is None:
                lost = branch.node.tokens if lost is None and branch.has_refused(random) else lost
                break
            if place not in branch.children:
                child = texts.child(branch.node, branch.step, place)
                branch.children[place] = _Branch(branch.node, -np.inf) if child is None else _Branch(child)
            branch = branch.children[place]
            if branch.log_bound == -np.inf:
                break
        else:
            accepted.append(branch.node)
            losses.append(lost)
        for known in reversed(path):
            if not known.is_known:
                assert known.step is not None
                if known is not root and n_remembered + len(known.step.logs) > _REMEMBERED:
                    known.step, known.children = None, {}
                    continue
                known.is_known = True
                n_remembered += len(known.step.logs)
            known.log_bound = known.log_total()
        if len(accepted) == samples:
            break
    else:
        raise LimitError(
            "attempts",
            attempts + 1,
            attempts,
            f"{len(accepted)} of {samples} samples were accepted; search='smc' needs no attempts",
        )
    counts = Counter(node.tokens for node in accepted)
    distinct = {node.tokens: (node, lost) for node, lost in zip(accepted, losses, strict=True)}
    nodes, last_losses = zip(*distinct.values(), strict=True)
    weights = np.array([counts[tokens] / samples for tokens in distinct])
    return _found(nodes, weights, 0, None, read.n_passes, last_losses)


def enumeration(
    start: Start, tolerance: float, prefixes: int, random: np.random.Generator | None
) -> Generator[Feed, Logits, Found]:
    """Compute the target, for constraints with few texts such as a choice.

    ``tolerance``, ``prefixes``: as in `best_first`. ``random`` draws the text chosen; without it, that is one of the most probable text.

    Returns
    -------
    Found
        The texts with their probabilities, the most probable first. The text chosen is spelled by its most probable tokens. ``log_z`` is
        the logarithm of a sum that is at most ``tolerance`` times itself below Z.

    Raises
    ------
    LimitError
        As in `best_first`.
    ModelError
        The model gives every text of the constraint a probability of 0.
    """
    texts, read = Texts(start), _Reader(start)
    nodes, lost = yield from best_first(texts, read, lambda node: node.mask is None, tolerance, prefixes)
    masses, log_scale = scaled(np.array([node.scores.log_probability for node in nodes]))
    shares, spelled = dict[bytes, float](), dict[bytes, int]()
    for place, node in enumerate(nodes):
        data = start.vocabulary.decode(node.tokens)
        shares[data] = shares.get(data, 0.0) + masses[place]
        if data not in spelled or masses[place] > masses[spelled[data]]:
            spelled[data] = place
    chosen = spelled[pick(shares, random)]
    losses = [lost] * len(nodes)
    return _found(nodes, masses / masses.sum(), chosen, log_scale + math.log(masses.sum()), read.n_passes, losses)


def best_first(
    texts: Texts,
    read: Callable[[tuple[int, ...]], Generator[Feed, Logits, Logits]],
    is_end: Callable[[Node], bool],
    tolerance: float,
    prefixes: int,
) -> Generator[Feed, Logits, tuple[list[Node], tuple[int, ...] | None]]:
    """Find prefixes that hold nearly all of the probability of the target, expanding the most probable prefix first.

    The probability of a prefix is an upper bound of what its extensions add. So once the prefixes that have not been expanded hold at most
    ``tolerance`` times what was found, each share of what was found differs from the exact one by at most ``tolerance``.

    Parameters
    ----------
    texts : Texts
        The tree to explore.
    read : callable
        Returns the logits after a prefix.
    is_end : callable
        Whether a prefix is one of those wanted; it is not expanded then.
    tolerance : float
        Where to stop; 0 expands every prefix.
    prefixes : int
        Maximum number of prefixes expanded.

    Returns
    -------
    list of Node, tuple of int or None
        The prefixes found; and if what the budget excludes may hold more than ``tolerance`` times their probability, the prefix after
        which it excludes most.

    Raises
    ------
    LimitError
        ``prefixes``: more prefixes must be expanded.
    ModelError
        The model gives every text of the constraint a probability of 0.
    """
    found, heap, number = list[Node](), list[tuple[float, int, Node]](), itertools.count()
    # Logarithms of the probabilities of what was found, of what the budget excludes, and of the most that it excludes after one prefix.
    log_found = log_refused = log_lost = -np.inf
    lost: tuple[int, ...] | None = None
    # Number of expansions before which what is left cannot be little enough.
    due = 0

    def add(node: Node) -> None:
        nonlocal log_found
        log = node.scores.log_probability
        if is_end(node):
            found.append(node)
            log_found = float(np.logaddexp(log_found, log))
        else:
            heapq.heappush(heap, (-log, next(number), node))

    add(texts.root)
    for n_expanded in range(prefixes + 1):
        if not heap:
            break
        if n_expanded >= due and tolerance and found:
            rest, log_scale = scaled(np.array([-cost for cost, _, _ in heap]))
            # Both in units of the most probable prefix that is left; an expansion moves at most one unit from one to the other.
            total, allowed = float(rest.sum()), tolerance * math.exp(min(log_found - log_scale, 700.0))
            if total <= allowed:
                break
            due = n_expanded + math.ceil((total - allowed) / (1 + tolerance))
        if n_expanded == prefixes:
            raise LimitError("prefixes", prefixes + 1, prefixes, "too many spellings have to be compared")
        _, _, node = heapq.heappop(heap)
        step = texts.step(node, (yield from read(node.tokens)))
        log_here = node.scores.log_probability + step.log_refused
        log_refused = float(np.logaddexp(log_refused, log_here))
        if log_here > log_lost:
            lost, log_lost = node.tokens, log_here
        for place in range(len(step.tokens)):
            child = texts.child(node, step, place)
            if child is not None:
                add(child)
    if not found:
        raise _no_text()
    is_steered = log_refused > log_found + (math.log(tolerance) if tolerance else -np.inf)
    return found, lost if is_steered else None


def pick(shares: Mapping[K, float], random: np.random.Generator | None) -> K:
    """Return a key drawn in proportion to its share; without random numbers, the first one with the largest share."""
    keys, values = list(shares), np.array(list(shares.values()))
    return keys[int((values if random is None else _systematic(values, 1, random)).argmax())]


class _Reader:
    """Reads prefixes of one text in a session; truncates the cache to what a prefix has in common with the last one."""

    def __init__(self, start: Start) -> None:
        self._context = start.context
        self._read: tuple[int, ...] | None = None
        self.n_passes = 0

    def __call__(self, tokens: tuple[int, ...]) -> Generator[Feed, Logits, Logits]:
        """Return the logits after a prefix."""
        if self._read is None:
            request = Feed((*self._context, *tokens), 0)
        else:
            shared = min(common_prefix(self._read, tokens), len(tokens) - 1)
            request = Feed(tokens[shared:], len(self._context) + shared)
        self._read = tokens
        self.n_passes += 1
        return (yield request)


@dataclass(slots=True)
class _Branch:
    """A prefix that rejection sampling has seen."""

    node: Node
    # Logarithm of an upper bound of the probability that the model, after this prefix, ends in a text of the target: 0 until an attempt
    # has passed, then that of the sum of the weights.
    log_bound: float = 0.0
    # The tokens that may follow; None if they must be computed.
    step: Step | None = None
    # Whether an attempt has passed, so that ``log_bound`` is computed and ``step`` kept.
    is_known: bool = False
    # By index in the step.
    children: dict[int, "_Branch"] = field(default_factory=dict)

    def log_total(self) -> float:
        """Logarithm of the sum of the weights: the probability of each allowed token times the bound of its branch."""
        weights, log_scale = self._weights()
        return log_scale + math.log(weights.sum()) if log_scale > -np.inf else -np.inf

    def draw(self, random: np.random.Generator) -> int | None:
        """Draw a token in proportion to its weight; None if the model drew one that is not allowed, which a new prefix does not exclude."""
        weights, log_scale = self._weights()
        if log_scale == -np.inf:
            return None
        cumulative = np.cumsum(weights)
        # Why min: a mass so small that its inverse overflows is never drawn.
        total = cumulative[-1] if self.is_known else math.exp(min(-log_scale, 700.0))
        place = int(np.searchsorted(cumulative, random.random() * total, side="right"))
        return place if place < len(cumulative) else None

    def has_refused(self, random: np.random.Generator) -> bool:
        """Draw whether a token that is not allowed is one that only the budget excludes."""
        assert self.step is not None
        log_others = math.log(max(-math.expm1(self.step.log_mass), 1e-300))
        return bool(len(self.step.refused)) and random.random() < math.exp(min(self.step.log_refused - log_others, 0))

    def _weights(self) -> tuple[npt.NDArray[np.float64], float]:
        """The weights up to a factor, the largest 1, and the logarithm of that factor."""
        assert self.step is not None
        logs = self.step.logs
        if self.children:
            logs = logs.copy()
            for place, child in self.children.items():
                logs[place] += child.log_bound
        return scaled(logs)


def _request(start: Start, live: list[tuple[int, Node]]) -> Rows:
    """Ask for the logits of prefixes, each with the row of its parent."""
    if not live[0][1].tokens:
        return Rows((start.context,))
    return Rows(tuple(node.tokens[-1:] for _, node in live), tuple(parent for parent, _ in live))


def _weights(log_weights: list[float], groups: list[_Group], particles: int) -> tuple[npt.NDArray[np.float64], float]:
    """The weights of groups up to a factor, counts included, and the logarithm of the mean weight of all particles."""
    weights, log_scale = scaled(np.array(log_weights))
    if log_scale == -np.inf:
        raise _no_particle()
    weights *= [group.count for group in groups]
    return weights, log_scale + math.log(weights.sum() / particles)


def _extended(texts: Texts, groups: list[_Group], random: np.random.Generator) -> Iterator[_Group]:
    """Yield the particles extended by one token each; tokens that lead to dead ends are taken out of the steps."""
    for group in groups:
        if group.step is None:
            yield group
            continue
        if not len(group.step.tokens):
            continue
        counts, dead = _systematic(group.step.shares(), group.count, random), list[int]()
        for place in np.flatnonzero(counts).tolist():
            child = texts.child(group.node, group.step, place)
            if child is None:
                dead.append(place)
            else:
                yield _Group(child, int(counts[place]), group.log_weight, group.parent)
        if dead:
            group.step = group.step.without(dead)


def _is_refused(step: Step, random: np.random.Generator) -> bool:
    """Draw from the tokens of the constraint; return whether the budget excludes the token drawn."""
    if not len(step.refused):
        return False
    return random.random() < math.exp(step.log_refused - float(np.logaddexp(step.log_mass, step.log_refused)))


def _resampled(groups: list[_Group], particles: int, random: np.random.Generator) -> list[_Group]:
    """The groups with new counts and equal weights, if the effective number of particles is below half of their number."""
    weights, log_mean = _weights([group.log_weight for group in groups], groups, particles)
    squares = sum(weight * weight / group.count for weight, group in zip(weights, groups, strict=True))
    if weights.sum() ** 2 >= particles / 2 * squares:
        return [group for group in groups if group.log_weight > -np.inf]
    counts = _systematic(weights / weights.sum(), particles, random)
    found = list[_Group]()
    for group, count in zip(groups, counts.tolist(), strict=True):
        if count:
            found.append(_Group(group.node, count, log_mean, group.parent, group.step))
    return found


def _systematic(probabilities: npt.NDArray[np.float64], count: int, random: np.random.Generator) -> Int64Array:
    """How often each outcome is drawn in ``count`` draws by one random number; each expectation is ``count`` times its probability."""
    cumulative = np.cumsum(probabilities)
    points = (random.random() + np.arange(count)) * (cumulative[-1] / count)
    places = np.searchsorted(cumulative, points, side="right")
    # A point that rounding put at the end belongs to the last outcome with a positive probability.
    places = np.minimum(places, np.flatnonzero(probabilities)[-1])
    return np.bincount(places, minlength=len(probabilities))


def _found(
    nodes: Sequence[Node],
    weights: npt.NDArray[np.float64],
    chosen: int,
    log_z: float | None,
    n_passes: int,
    losses: Sequence[tuple[int, ...] | None],
) -> Found:
    """The texts of nodes; `losses`: for each, the prefix after which the budget excluded what might have been found instead."""
    texts = list[Sample]()
    for node, weight, lost in zip(nodes, weights, losses, strict=True):
        steered = len(node.tokens) if node.finish_reason == "length" else None
        if lost is not None:
            steered = common_prefix(node.tokens, lost)
        reason = node.finish_reason if steered is None else "length"
        texts.append(Sample("", node.tokens, float(weight), node.scores, reason, steered))
    order = np.argsort(-weights, kind="stable")
    return Found(texts[chosen], tuple(texts[place] for place in order), log_z, n_passes)


def _no_particle() -> ModelError:
    return ModelError(
        "the model gives every text of the constraint that was tried a probability of 0: pass more particles, or search='rejection'"
    )


def _no_text() -> ModelError:
    return ModelError("the model gives every text of the constraint a probability of 0")
