"""Tokens per second of the default model, unguided and guided: ``python -m benchmarks.speed [--tokens N] [--repeat N]``.

Greedy, one sequence, one prompt. Guided text is bound by a pattern that never forces a token and never ends (sentences of
words), so that each token costs a forward pass in both cases; the difference is what guiding costs. Load and compile are
reported apart.
"""

import argparse
import statistics
import time

import guided

PATTERN = r"( ?[A-Za-z0-9',;:()-]+[ .!?\n]*)+"
PROMPT = "Once upon a time, in a small village by the sea, there lived"


def tokens_per_second(generator: guided.Generator, tokens: int) -> float:
    start = time.perf_counter()
    result = generator(PROMPT, max_tokens=tokens)
    return result.forward_passes / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    start = time.perf_counter()
    model = guided.load()
    print(f"load      {time.perf_counter() - start:6.2f} s")
    start = time.perf_counter()
    index = guided.compile(guided.Regex(PATTERN), model.vocabulary)
    print(f"compile   {time.perf_counter() - start:6.2f} s ({index.n_states} states)")
    generators = {"unguided": guided.generator(model, None), "guided": guided.generator(model, index)}
    rates: dict[str, list[float]] = {name: [] for name in generators}
    for generator in generators.values():
        tokens_per_second(generator, 8)
    # In turns, so that a machine that slows down slows both.
    for _ in range(arguments.repeat):
        for name, generator in generators.items():
            rates[name].append(tokens_per_second(generator, arguments.tokens))
    for name, found in rates.items():
        spread = f"median of {len(found)}; {min(found):.1f} to {max(found):.1f}"
        print(f"{name:9} {statistics.median(found):6.1f} forward passes per second ({spread})")


if __name__ == "__main__":
    main()
