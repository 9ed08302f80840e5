"""Masks applied to logits: ``python -m benchmarks.logits --device cpu|cuda [--batch N ...] [--vocabulary N ...]``.

Microseconds per step, from masks as an engine hands them out (words in host memory) to masked float32 logits on the device, in the median;
``--device cpu`` on one core.
*Total* waits until the device is done; on a GPU, in parentheses, how long the host was busy before it could go on. Each step has
other masks, out of 64: one half allows 1 to 200 tokens, a quarter refuses as many, a quarter allows 30 in 100.

- boolean: the plain definition, ``scores[~allowed] = -inf``, with booleans unpacked by NumPy.
- guided: `guided.integrations.masking`, the masks seen before. *copy* gives a new tensor, as transformers wants it; *in place* is what the
  peers do. On CUDA, where masks are kept, *new masks* is in place with masks never seen, and *no triton* without the fused kernel.
- xgrammar, llguidance: their own functions over a tensor of words, which is sent to the device (not counted: filling it).

Every engine's result is compared with the definition first; the exit status is 1 if one differs. It needs torch and NumPy, with
``--device cpu`` numba; peers are measured where they are installed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch

from benchmarks.machine import load, one_core, processor
from benchmarks.tables import table
from guided.generate.sampler import unpack
from guided.integrations.masking import DeviceMasks, mask_store

__all__ = ["engines", "main", "masks"]

_POOL = 64
_BATCHES, _VOCABULARIES = (1, 8, 64, 256), (32_000, 129_280, 262_144)

Masks = Sequence[np.ndarray]
Engine = Callable[[torch.Tensor, Masks], torch.Tensor]


def masks(size: int) -> list[np.ndarray]:
    """The pool of masks over a vocabulary: few, most and some tokens allowed."""
    random = np.random.default_rng(size)
    pool = []
    for place in range(_POOL):
        bits = np.zeros(-(-size // 32) * 32, np.bool_)
        bits[:size] = place % 4 == 2
        listed = random.integers(0, size, random.integers(1, 200))
        bits[listed] = place % 4 != 2
        if place % 4 == 3:
            bits[:size] = random.random(size) < 0.3
        pool.append(np.packbits(bits, bitorder="little").view(np.int32))
        pool[-1].flags.writeable = False
    return pool


def engines(scores: torch.Tensor) -> dict[str, Engine]:
    """By name what masks such scores."""
    size, device = scores.shape[1], scores.device
    copying, in_place = mask_store(scores), mask_store(scores)
    found: dict[str, Engine] = {
        "boolean": _boolean,
        "guided copy": copying.apply,
        "guided in place": lambda scores, masks: in_place.apply(scores, masks, out=scores),
    }
    if device.type != "cpu":
        new = mask_store(scores)
        found["guided new masks"] = lambda scores, masks: new.apply(scores, [mask.view() for mask in masks], out=scores)
        plain = DeviceMasks(size, scores.dtype, device, fused=False)
        found["guided no triton"] = lambda scores, masks: plain.apply(scores, masks, out=scores)
    words = torch.zeros((len(scores), -(-size // 32)), dtype=torch.int32, pin_memory=device.type == "cuda")
    for name, peer in (("xgrammar", _xgrammar), ("llguidance", _llguidance)):
        apply = peer()
        if apply is not None:
            found[name] = _by_words(apply, words)
    return found


def _boolean(scores: torch.Tensor, masks: Masks) -> torch.Tensor:
    allowed = torch.from_numpy(np.stack([unpack(mask, scores.shape[1]) for mask in masks])).to(scores.device)
    scores[~allowed] = -torch.inf
    return scores


def _by_words(apply: Callable[[torch.Tensor, torch.Tensor], None], words: torch.Tensor) -> Engine:
    """A peer's function; `_filled` puts the masks into its words beforehand."""

    def engine(scores: torch.Tensor, _: Masks) -> torch.Tensor:
        apply(scores, words.to(scores.device, non_blocking=True))
        return scores

    engine.words = words  # type: ignore[attr-defined]
    return engine


def _filled(engine: Engine, masks: Masks) -> None:
    words = getattr(engine, "words", None)
    if words is not None:
        words.numpy()[:] = np.stack(masks)


def _xgrammar() -> Callable[[torch.Tensor, torch.Tensor], None] | None:
    try:
        import xgrammar
    except ImportError:
        return None
    return xgrammar.apply_token_bitmask_inplace


def _llguidance() -> Callable[[torch.Tensor, torch.Tensor], None] | None:
    try:
        import llguidance.torch
    except ImportError:
        return None
    return llguidance.torch.apply_token_bitmask_inplace


def _steps(pool: Masks, rows: int) -> Iterator[list[np.ndarray]]:
    step = 0
    while True:
        yield [pool[(step + 7 * row) % _POOL] for row in range(rows)]
        step += 1


def _differs(engine: Engine, scores: torch.Tensor, pool: Masks) -> bool:
    for step in islice(_steps(pool, len(scores)), 3):
        _filled(engine, step)
        if not torch.equal(engine(scores.clone(), step), _boolean(scores.clone(), step)):
            return True
    return False


def _measured(engine: Engine, scores: torch.Tensor, pool: Masks, budget: float) -> tuple[float, float]:
    """Medians of (total, host) microseconds."""
    wait = torch.cuda.synchronize if scores.is_cuda else lambda: None
    clock, found, begun = time.perf_counter, [], time.perf_counter()
    # Every mask of the pool is seen before the clock counts.
    for number, step in enumerate(_steps(pool, len(scores))):
        _filled(engine, step)
        wait()
        begin = clock()
        engine(scores, step)
        handed = clock()
        wait()
        if number >= _POOL:
            found.append((clock() - begin, handed - begin))
        elif number == _POOL - 1:
            begun = clock()
        if number > _POOL + 5 and (clock() - begun > budget or len(found) >= 500):
            break
    return tuple(1e6 * statistics.median(column) for column in zip(*found, strict=True))  # type: ignore[return-value]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--batch", type=int, nargs="+", default=_BATCHES)
    parser.add_argument("--vocabulary", type=int, nargs="+", default=_VOCABULARIES)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds per engine and cell, about")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here", file=sys.stderr)
        return 2
    if given.device == "cpu":
        one_core()
        torch.set_num_threads(1)
    torch.manual_seed(0)
    wrong, rows, names = set(), [], list[str]()
    for size in given.vocabulary:
        pool = masks(size)
        for batch in given.batch:
            scores = torch.randn(batch, size, device=given.device)
            found = engines(scores)
            names = list(found)
            row = [f"{size:,}", str(batch)]
            for name, engine in found.items():
                if _differs(engine, scores, pool):
                    wrong.add(name)
                total, host = _measured(engine, scores.clone(), pool, given.budget)
                row.append(f"{total:,.0f} ({host:,.0f})" if scores.is_cuda else f"{total:,.0f}")
            rows.append(row)
            print(f"{size:,} x {batch}", file=sys.stderr, flush=True)
    print(_machine(given.device))
    print(table(["vocabulary", "batch", *names], rows))
    if wrong:
        print(f"differ from the definition: {', '.join(sorted(wrong))}", file=sys.stderr)
    return 1 if wrong else 0


def _machine(device: str) -> str:
    where = f"{processor()}, {torch.get_num_threads()} threads of torch, load {load()[0]}"
    if device == "cuda":
        where = f"{torch.cuda.get_device_name()}, {where}"
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Microseconds per step. {where}, Python {python}, torch {torch.__version__}, NumPy {np.__version__}.\n"


if __name__ == "__main__":
    sys.exit(main())
