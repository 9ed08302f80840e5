"""Distance of samples to the model's own distribution under a constraint: ``python -m benchmarks.sampling [--runs N] [--models N]``.

Small models with known distributions: each likes to begin with ``a``, and hardly any text of the constraint that begins with it. All texts
of the constraint are enumerated (`tests.oracles.slow_texts`), so the total variation distance to the target is exact. For ``mask`` it is
that of the distribution that masking samples from; for the others that of the weighted samples of one run, averaged over the runs. CPU
time is that of the process, the function models included, whose cost is stated.
"""

import argparse
import math
import re
import time
from typing import Any

import numpy as np

import guided
from tests.oracles import slow_texts, total_variation

WORDS = guided.Vocabulary([b"a", b"b", b"c", b"ab", b"cb"], eos=[5], size=6)
PATTERN = "a(b|c){1,3}|b[abc]*a|cc+"
BUDGET = 4


def logits_of(seed: int, tokens: tuple[int, ...]) -> np.ndarray:
    """Logits after the tokens of a text."""
    logits = np.random.default_rng([seed, *tokens]).normal(size=6)
    if not tokens:
        logits[0] += 2
    elif tokens[0] == 0:
        logits[0] += 7
    return logits


def distribution(seed: int, tokens: tuple[int, ...]) -> list[float]:
    logits = np.float32(logits_of(seed, tokens)).astype(float)
    masses = np.exp(logits - logits.max())
    return (masses / masses.sum()).tolist()  # type: ignore[no-any-return]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="runs for each model and number of particles")
    parser.add_argument("--models", type=int, default=5)
    arguments = parser.parse_args()
    accepts = re.compile(PATTERN.encode()).fullmatch
    arms = [("mask", 1), *(("smc", count) for count in (1, 4, 16, 64, 256, 1024)), ("beam", 8), ("beam", 64)]
    arms += [("rejection", count) for count in (1, 16, 256)]
    distances: dict[tuple[str, int], list[float]] = {arm: [] for arm in arms}
    seconds, passes = dict.fromkeys(arms, 0.0), dict.fromkeys(arms, 0)
    asked, model_seconds = 0, 0.0
    for seed in range(arguments.models):

        def function(tokens: list[int], seed: int = seed) -> np.ndarray:
            nonlocal asked, model_seconds
            begun = time.perf_counter()
            logits = logits_of(seed, tuple(tokens[1:]))
            asked, model_seconds = asked + 1, model_seconds + time.perf_counter() - begun
            return logits

        texts = slow_texts(
            lambda tokens, seed=seed: distribution(seed, tokens),  # type: ignore[misc]
            WORDS,
            lambda text: accepts(text) is not None,
            BUDGET,
        )
        z = math.fsum(raw for raw, _ in texts.values())
        target = {tokens: raw / z for tokens, (raw, _) in texts.items()}
        model = guided.FunctionModel(function, WORDS, lambda _: [0])
        made = guided.regex(model, PATTERN)
        for arm in arms:
            method, particles = arm
            searches: dict[str, Any] = {
                "smc": guided.Smc(particles),
                "rejection": guided.Rejection(particles, attempts=1_000_000),
                "beam": guided.Beam(particles),
            }
            begun = time.process_time()
            for run in range(arguments.runs):
                if method == "mask":
                    result = made("", max_tokens=BUDGET, temperature=1.0, seed=run)
                else:
                    result = made("", max_tokens=BUDGET, seed=run, search=searches[method])
                    found = {sample.tokens: sample.weight for sample in result.samples}
                    distances[arm].append(total_variation(target, found))
                passes[arm] += result.forward_passes
            seconds[arm] += time.process_time() - begun
            if method == "mask":
                distances[arm].append(total_variation(target, {tokens: share for tokens, (_, share) in texts.items()}))
    n_runs = arguments.runs * arguments.models
    print(f"{'method':>10} {'particles':>9} {'distance':>9} {'CPU ms':>8} {'passes':>7}")
    for arm in arms:
        mean = float(np.mean(distances[arm]))
        print(f"{arm[0]:>10} {arm[1]:9} {mean:9.4f} {1000 * seconds[arm] / n_runs:8.2f} {passes[arm] / n_runs:7.1f}")
    print(f"one call of the model: {1e6 * model_seconds / asked:.0f} us")


if __name__ == "__main__":
    main()
