"""Whole generations on a GPU or the CPU: ``python -m benchmarks.generation --device cuda|cpu [--batch N ...] [--layers N] [--tokens N]``.

transformers' ``generate`` with a model of random weights in the shape of Llama 3.2 1B (bfloat16, Llama 3's vocabulary), sampling over all
tokens: no logits processor, and the processors that keep every row within a JSON Schema, the same for all rows (*one*) or another one for
each row (*each*).

- guided: `guided.LogitsProcessor`, one for all runs. *first* has an index and a processor that have seen nothing.
- xgrammar: its own ``contrib.hf.LogitsProcessor``, which serves one ``generate``.
- llguidance: it has none, so that this is a loop after its documentation: matchers, `LLExecutor` for all masks of a step in threads,
  a pinned tensor of words, one transfer, its ``apply_token_bitmask_inplace``.

Milliseconds per step, the least of the repetitions, in each of which the engines run in another order, and what that is above no
processor. *Within* is how long a call of the processor takes, in the median, waiting for the model included, which is still at work then.
Compiling is not counted, computing masks while generating is. What guided lets through is read again token by token with its index; the
exit status is 1 where a token was not allowed. Other engines' texts are read, too: how many rows guided refuses is printed.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.machine import describe
from benchmarks.tables import table
from benchmarks.vocabularies import MAIN, Cutter, vocabulary
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.integrations.logits_processor import LogitsProcessor
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["main", "schema"]

_PROMPT = 32

# What makes the processor of one run; None: no processor.
Engine = Callable[[], Any]


def schema(row: int) -> dict[str, Any]:
    """Objects whose texts do not end before some 500 tokens: strings, a choice, numbers, lists."""
    name = f"name{row}"
    properties = {
        name: {"type": "string", "maxLength": 16},
        "kind": {"enum": ["red", "green", "blue"]},
        "amount": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 3},
    }
    item = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"type": "array", "minItems": 20, "items": item}


def engines(words: Vocabulary, batch: int) -> tuple[dict[str, Engine], Callable[[str], list[Index]]]:
    """By name, what makes processors; and guided's indices of a name's rows."""
    one = compile_spec(JsonSchema(schema(0)), words)
    each = [compile_spec(JsonSchema(schema(row)), words) for row in range(batch)]
    kept, kept_each = LogitsProcessor(one), LogitsProcessor(each)
    found: dict[str, Engine] = {
        "none": lambda: None,
        "guided one": lambda: kept,
        "guided each": lambda: kept_each,
        "guided first": lambda: LogitsProcessor(compile_spec(JsonSchema(schema(0)), words)),
    }
    found |= _xgrammar(words, batch) | _llguidance(words, batch)
    return found, lambda name: each if name.endswith("each") else [one] * batch


def _xgrammar(words: Vocabulary, batch: int) -> dict[str, Engine]:
    try:
        from xgrammar import GrammarCompiler
        from xgrammar.contrib.hf import LogitsProcessor as Processor

        from benchmarks.maskbench_xgrammar import Engine as Info
    except ImportError:
        return {}
    compiler, options = GrammarCompiler(Info(words, list).info), {"any_whitespace": False, "separators": (",", ":")}
    each = [compiler.compile_json_schema(schema(row), **options) for row in range(batch)]
    return {"xgrammar one": lambda: Processor(each[0]), "xgrammar each": lambda: Processor(each)}


def _llguidance(words: Vocabulary, batch: int) -> dict[str, Engine]:
    try:
        from llguidance import LLExecutor

        from benchmarks.maskbench_llguidance import Engine as Compiler
    except ImportError:
        return {}
    compiler = Compiler(words, Cutter(words), whitespace_flexible=False)
    each, executor = [compiler.compile(schema(row)).matcher for row in range(batch)], LLExecutor()
    return {
        "llguidance one": lambda: _Matchers(executor, [each[0].deep_copy() for _ in range(batch)], words.size),
        "llguidance each": lambda: _Matchers(executor, [matcher.deep_copy() for matcher in each], words.size),
    }


class _Matchers:
    """llguidance's matchers as a logits processor for one run."""

    def __init__(self, executor: Any, matchers: list[Any], size: int) -> None:
        from llguidance import torch as functions

        self._executor, self._matchers, self._functions = executor, matchers, functions
        self._places = [(matcher, place) for place, matcher in enumerate(matchers)]
        self._words = functions.allocate_token_bitmask(len(matchers), size)
        self._is_first = True

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not self._is_first:
            tokens = input_ids[:, -1].tolist()
            self._executor.consume_token_par(list(zip(self._matchers, tokens, strict=True)))
        self._is_first = False
        self._functions.fill_next_token_bitmask_par(self._executor, self._places, self._words)
        self._functions.apply_token_bitmask_inplace(scores, self._words.to(scores.device, non_blocking=True))
        return scores


def _model(size: int, layers: int, eos: Sequence[int], device: str) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=size,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=list(eos),
        pad_token_id=eos[0],
    )
    torch.manual_seed(0)
    with torch.device(device):
        return LlamaForCausalLM(config).to(torch.bfloat16).eval()


class _Timed:
    """A processor, and the microseconds of its calls."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self.took: list[float] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        begin = time.perf_counter()
        found: torch.Tensor = self._processor(input_ids, scores)
        self.took.append(1e6 * (time.perf_counter() - begin))
        return found


def _run(model: Any, prompt: torch.Tensor, tokens: int, processor: Any) -> tuple[float, list[float], torch.Tensor]:
    """Milliseconds per step, microseconds of each call of the processor, and what was generated."""
    wait = torch.cuda.synchronize if prompt.is_cuda else lambda: None
    timed = [_Timed(processor)] if processor is not None else []
    gc.collect()
    gc.disable()
    wait()
    begin = time.perf_counter()
    output = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=tokens,
        do_sample=True,
        top_k=0,
        logits_processor=timed,
    )
    wait()
    milliseconds = 1e3 * (time.perf_counter() - begin) / tokens
    gc.enable()
    return milliseconds, timed[0].took if timed else [], output[:, prompt.shape[1] :]


def _refused(indices: Sequence[Index], rows: torch.Tensor) -> list[bytes]:
    """The rows with a token that their index does not allow, as texts up to it."""
    found = []
    for index, tokens in zip(indices, rows.tolist(), strict=True):
        state = index.initial
        for place, token in enumerate(tokens):
            if state == index.final:
                break
            state = index.next(state, token)
            if state < 0:
                found.append(b"".join(index.vocabulary.tokens[read] or b"?" for read in tokens[: place + 1]))
                break
    return found


def _measured(model: Any, words: Vocabulary, batch: int, given: argparse.Namespace) -> tuple[list[list[str]], bool]:
    """The rows of a batch's table; was guided right?"""
    prompt = torch.randint(0, words.size, (batch, _PROMPT), device=given.device)
    found, indices = engines(words, batch)
    names = list(found)
    least = dict.fromkeys(names, float("inf"))
    within: dict[str, list[float]] = {name: [] for name in names}
    outputs: dict[str, list[torch.Tensor]] = {name: [] for name in names}
    for repetition in range(given.repeat + 1):
        first = repetition % len(names)
        for name in names[first:] + names[:first]:
            took, calls, output = _run(model, prompt, given.tokens, found[name]())
            outputs[name].append(output)
            if repetition:  # in the first one kernels are compiled
                least[name] = min(least[name], took)
                within[name] += calls
    rows, right = [], True
    for name in names:
        above = least[name] - least["none"]
        row = [str(batch), name, f"{least[name]:.2f}", f"{batch / least[name] * 1e3:,.0f}"]
        if name != "none":
            row += [
                f"{1e3 * above:,.0f}",
                f"{100 * above / least['none']:.1f}",
                f"{statistics.median(within[name]):,.0f}",
            ]
            refused = [text for output in outputs[name] for text in _refused(indices(name), output)]
            if refused:
                right = right and not name.startswith("guided")
                count = f"{len(refused)} of {batch * len(outputs[name])} rows"
                print(f"{name}, {batch} rows: guided's index refuses {count}, {refused[0]!r}", file=sys.stderr)
        rows.append([*row, *[""] * (7 - len(row))])
    return rows, right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--batch", type=int, nargs="+", default=(1, 8, 64, 256))
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--vocabulary", default=MAIN)
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here", file=sys.stderr)
        return 2
    words = vocabulary(given.vocabulary)
    model = _model(words.size, given.layers, words.eos, given.device)
    rows, right = [], True
    for batch in given.batch:
        more, fine = _measured(model, words, batch, given)
        rows += more
        right = right and fine
        print(*map(" ".join, more), sep="\n", file=sys.stderr, flush=True)
    device = torch.cuda.get_device_name() if given.device == "cuda" else "CPU"
    print(
        f"{device}, {describe('torch', 'transformers', 'triton')}, {sum(p.numel() for p in model.parameters()):,} parameters.\n"
    )
    print(table(["rows", "processor", "ms per step", "tokens/s", "above, us", "above, %", "within, us"], rows))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
