"""What guiding adds to generation: ``python -m benchmarks.backends [--tokens N] [--repeat N]``.

The default model, greedy, on one thread, in CPU milliseconds per token, the least of the repetitions after one that is not counted: in
transformers and in llama.cpp, unguided and guided by patterns, with the generators of this package; and in llama-cpp-python's own loop,
unguided, with a processor that does nothing, and with guided's. Where one token alone is possible it costs no pass of its own over the
weights, so guided text can be faster. A backend that is not installed is left out.
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import guided
from benchmarks.machine import load, processor
from benchmarks.tables import table

__all__ = ["main"]

_PROMPT = "Q: Tell me about the sea.\nA:"
# Text that is free but for its alphabet, so that every token is a choice, and JSON, parts of which are forced.
_PATTERNS = {"letters": r"[A-Za-z ,.]+", "object": r'\{"name": "[A-Za-z ]{1,40}", "text": "[A-Za-z ,.]{100,400}"\}'}


def _per_token(generate: Callable[[], int], repeat: int) -> float:
    """CPU milliseconds per token of what gives a number of tokens."""
    generate()
    found = []
    for _ in range(repeat):
        begin = time.process_time()
        count = generate()
        found.append(1e3 * (time.process_time() - begin) / count)
    return min(found)


def _generators(model: Any, tokens: int, repeat: int) -> dict[str, float]:
    rows = {"unguided": guided.generator(model, None)} | {
        name: guided.regex(model, pattern) for name, pattern in _PATTERNS.items()
    }
    return {
        name: _per_token(lambda made=made: len(made(_PROMPT, max_tokens=tokens).tokens), repeat)  # type: ignore[misc]
        for name, made in rows.items()
    }


def _own_loop(model: Any, tokens: int, repeat: int) -> dict[str, float]:
    import llama_cpp

    def nothing(_: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores

    def run(processors: Any) -> int:
        options = {"temperature": 0.0, "max_tokens": tokens, "logits_processor": processors}
        return int(model.llm(_PROMPT, **options)["usage"]["completion_tokens"])

    rows = {"unguided": None, "does nothing": llama_cpp.LogitsProcessorList([nothing])}
    index = guided.compile(guided.Regex(_PATTERNS["letters"]), model.vocabulary)
    rows["letters"] = model.logits_processors(index)
    return {name: _per_token(lambda made=made: run(made), repeat) for name, made in rows.items()}  # type: ignore[misc]


def _processor_step(index: guided.Index) -> float:
    """Microseconds of one call of the processor, as the binding calls it, in the median."""
    from guided.integrations.llama_processor import LlamaProcessor

    made, state, ids, found = LlamaProcessor(index), index.initial, [1], []
    record = np.zeros(index.vocabulary.size, np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)]))
    for _ in range(200):
        shown = np.array(ids, np.intc)
        begin = time.perf_counter()
        record["logit"][:] = made(shown, record["logit"])
        found.append(time.perf_counter() - begin)
        token = int(index.allowed(state)[-1])
        state, ids = index.next(state, token), [*ids, token]
    return 1e6 * float(np.median(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"CPU milliseconds per token. {processor()}, one thread, load {load()[0]}.\n")
    rows = []
    if importlib.util.find_spec("llama_cpp") is not None:
        import llama_cpp

        from guided.integrations.llama_cpp import LlamaCpp
        from guided.integrations.load import default_model_gguf

        options = {"n_ctx": 1024, "n_threads": 1, "n_threads_batch": 1, "verbose": False}
        model = LlamaCpp(llama_cpp.Llama(str(default_model_gguf()), **options))
        rows += [("llama.cpp", *row) for row in _generators(model, given.tokens, given.repeat).items()]
        rows += [("llama-cpp-python's loop", *row) for row in _own_loop(model, given.tokens, given.repeat).items()]
        step = _processor_step(guided.compile(guided.Regex(_PATTERNS["letters"]), model.vocabulary))
        rows.append(("the processor alone", "letters", step / 1e3))
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
        for dtype in ("float32", "bfloat16"):
            found = _generators(guided.load(dtype=dtype), given.tokens, given.repeat)
            rows += [(f"transformers, {dtype}", *row) for row in found.items()]
    print(table(["backend", "text", "ms per token"], [(where, text, f"{value:.2f}") for where, text, value in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
