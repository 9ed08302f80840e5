"""Choosing among whole texts by their score, where choosing token by token is myopic.

The score of a candidate c with tokens t_1 .. t_n after a context is its mean log-probability per token,
``(1/n) sum over i of log p(t_i | context, t_1 .. t_{i-1})``, with the model's own p, nothing masked. A model that wants
``year_started`` and may only say ``started`` or ``year_invented`` begins with ``year_`` when it chooses token by token;
the scores of the whole names tell the two apart. A candidate is scored in the tokens that the tokenizer cuts it into.

Complexity: one forward pass for each distinct prefix that a candidate goes on from, the empty one included; the model's
cache is cut back between them.
"""

from collections.abc import Generator as Coroutine
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from guided.engine.index import Index
from guided.engine.specs import Choice
from guided.errors import LimitError, ModelError
from guided.events import Done, FinishReason, Text
from guided.generate.decoding import Decoding, Feed, Script
from guided.generate.generator import Generator, Settings, T_co
from guided.generate.model import LanguageModel, Logits, common_prefix
from guided.generate.sampler import Sampler
from guided.generate.stops import TextStream

__all__ = ["ScoredChoice", "scores"]


def scores(decoding: Decoding, candidates: Sequence[Sequence[int]]) -> Coroutine[Feed, Logits, list[float]]:
    """Score candidates as what comes next; afterwards the decoding stands where it stood.

    Parameters
    ----------
    decoding : Decoding
        Where the candidates would begin.
    candidates : sequence of sequence of int
        Tokens of each, none empty.

    Returns
    -------
    list of float
        Mean log-probability per token of each candidate.
    """
    totals = [0.0] * len(candidates)
    logits = yield from decoding.read()
    begin, read = decoding.place, list[int]()
    # In lexicographic order each prefix follows the one it extends, so the cache is cut back as little as possible.
    for prefix in sorted({tuple(candidate[:length]) for candidate in candidates for length in range(len(candidate))}):
        if prefix:
            shared = common_prefix(read, prefix)
            logits = yield from decoding.probe(begin + shared, prefix[shared:])
            read = list(prefix)
        logarithms = _log_softmax(logits)
        for place, candidate in enumerate(candidates):
            if len(candidate) > len(prefix) and tuple(candidate[: len(prefix)]) == prefix:
                totals[place] += float(logarithms[candidate[len(prefix)]])
    decoding.forget(begin)
    return [total / len(candidate) for total, candidate in zip(totals, candidates, strict=True)]


class ScoredChoice(Generator[T_co]):
    """Chooses among options by their scores. Made by `guided.choice` with ``select="score"``.

    Parameters
    ----------
    model : LanguageModel
        Gives the logits.
    index : Index
        Of the options.
    spec : Choice
        The options, none empty.
    """

    def __init__(self, model: LanguageModel, index: Index, spec: Choice[T_co]) -> None:
        super().__init__(model, index, spec.read)
        if "" in spec.options:
            raise ValueError("select='score' cannot score the empty option: it has no tokens")
        self._candidates = [tuple(model.encode(option)) for option in spec.options]

    def script(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> Script:
        """The coroutine that chooses one option; raises at once what is wrong with its arguments."""
        if settings.temperature != 0:
            raise ValueError(f"select='score' takes the best option: temperature must be 0, not {settings.temperature}")
        shortest = min(map(len, self._candidates))
        if shortest > settings.max_tokens:
            raise LimitError("max_tokens", shortest, settings.max_tokens, "the shortest option is longer")
        return super().script(prompt, settings, sampler)

    def _script(self, decoding: Decoding, stream: TextStream) -> Script:
        fitting = [candidate for candidate in self._candidates if len(candidate) <= decoding.left]
        if not fitting:
            needed = min(map(len, self._candidates))
            raise LimitError("context", needed, decoding.left, "the shortest option is longer")
        found = yield from scores(decoding, fitting)
        chosen = fitting[int(np.argmax(found))]
        for token in chosen:
            decoding.take(token)
        option = self.model.vocabulary.decode(chosen).decode()
        stream.push(option.encode())
        stream.close()
        if stream.text:
            yield Text(stream.text)
        finish_reason: FinishReason = "stop_string" if stream.stopped else "stop"
        yield Done(self._result(stream, chosen, finish_reason, decoding.forward_passes))


def _log_softmax(logits: Logits) -> npt.NDArray[np.float64]:
    finite = np.where(np.isfinite(logits), logits, -np.inf).astype(np.float64)
    if finite.max() == -np.inf:
        raise ModelError("the model gave only NaN or infinities as logits")
    shifted = finite - finite.max()
    result: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result
