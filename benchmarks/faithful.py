"""Distance to the model's own distribution, and cost, beside genlm-control: ``python -m benchmarks.faithful [--runs N] [--lm] [--record]``.

genlm-control (sequential Monte Carlo over potentials, a research library) has an environment of its own::

    python3.11 -m venv .venv-genlm
    .venv-genlm/bin/pip install genlm-control==0.4.1 torch==2.13.0 docstring-parser platformdirs
    HF_HUB_OFFLINE=1 .venv-genlm/bin/python -m benchmarks.faithful

Without it, guided's rows are measured alone. Small models are tables of pseudo-random logits by prefix, given to both libraries; the time
is that of the libraries. ``--lm`` takes the default model in float32 instead, with its own key-value caches in each library.

All texts of a task are listed here by hand or by a product, and all their spellings in tokens by a search of the vocabulary: neither
library takes part. No text is a prefix of another one, and generation ends where one is complete (genlm-control's ``terminate_when``), so
neither asks the model for an end of sequence, and both have the same target. The distance is the total variation distance between the
target and the weighted samples of one run, averaged over runs; that of masking is exact.

genlm-control's samplers: ``direct`` computes the mask of all tokens, ``eager`` draws a token byte by byte, ``AWRS`` by rejection; JSON
Schemas take ``AWRS`` only, since the others evaluate its parser for every token or byte. Their options are those of its documentation: a
threshold of 0.5, multinomial resampling.
"""

import argparse
import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import guided
from benchmarks import machine
from benchmarks.clock import timed
from benchmarks.tables import table

__all__ = ["Spellings", "Task", "main", "recorded", "recorded_tables"]

RECORD = Path(__file__).parent / "record" / "faithful.json"
COUNTS = (1, 4, 16, 64, 256)
LETTERS = (b"a", b"b", b"c", b"ab", b"cb", b"bc", b"0", b"1", b"2", b"3", b"12", b"\n", b"a\n", b"3\n", b"x")
# No white space, of which genlm-control allows any in JSON.
MARKS = (
    b'{"',
    b"{",
    b'"',
    b'":',
    b":",
    b"[",
    b"[1",
    b"]",
    b"]}",
    b"}",
    b",",
    b",1",
    b"true",
    b"t",
    b"rue",
    b"0",
    b"1",
    b"a",
    b"x",
)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"enum": [0, 1, True]}, "maxItems": 2}},
    "required": ["a"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Task:
    """A constraint, all its texts, and the prompt of a language model.

    Attributes
    ----------
    name : str
    texts : tuple of bytes
    constraint : str or dict
        A regular expression, or a JSON Schema.
    pieces : tuple of bytes
        Tokens of the small models; the last one occurs in no text.
    prompt : str
        For a language model.
    """

    name: str
    texts: tuple[bytes, ...]
    constraint: str | Mapping[str, Any]
    pieces: tuple[bytes, ...] = LETTERS
    prompt: str = ""

    @property
    def spec(self) -> Any:
        """guided's spec."""
        return guided.Regex(self.constraint) if isinstance(self.constraint, str) else guided.JsonSchema(self.constraint)


def _product(*parts: Sequence[str]) -> list[bytes]:
    return ["".join(choice).encode() for choice in itertools.product(*parts)]


_TRAP = [
    *(text for count in (1, 2, 3) for text in _product(["a"], *["bc"] * count, ["\n"])),
    *(text for count in (0, 1, 2) for text in _product(["b"], *["abc"] * count, ["a\n"])),
]
_LISTS = ["", *(",".join(items) for count in (1, 2) for items in itertools.product(["0", "1", "true"], repeat=count))]
SMALL = (
    Task("letters", tuple(_TRAP), r"(a(b|c){1,3}|b[abc]{0,2}a)\n"),
    Task("number", tuple(_product("123", "0123", "0123", ["\n"])), r"[123][0-3]{2}\n"),
    Task("options", (b"abc\n", b"acb\n", b"bc12\n", b"cab3\n", b"123\n", b"1213\n"), r"(abc|acb|bc12|cab3|123|1213)\n"),
    Task("JSON", tuple(f'{{"a":[{items}]}}'.encode() for items in _LISTS), SCHEMA, MARKS),
)
LARGE = (
    Task(
        "capital",
        (b" Paris\n", b" Rome\n", b" Oslo\n", b" Bonn\n"),
        r" (Paris|Rome|Oslo|Bonn)\n",
        prompt="Q: What is the capital of Germany, as it was in 1980?\nA:",
    ),
    Task(
        "year", tuple(_product([" 1"], "789", "0123456789", ["\n"])), r" 1[789][0-9]\n",
        prompt="Q: In which year, of three digits, did Charlemagne's reign begin, plus one thousand?\nA:",
    ),
    Task("answer", (b" yes\n", b" no\n", b" not sure\n"), r" (yes|no|not sure)\n", prompt="Q: Is seven a prime number?\nA:"),
)  # fmt: skip


@dataclass
class Table:
    """A model of pseudo-random logits: a trap begins with what the model likes, and goes on as it does not.

    Attributes
    ----------
    seed : int
    size : int
        Tokens, the end of sequence included.
    known : dict
        Log-probabilities by the tokens so far.
    """

    seed: int
    size: int
    known: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    def __call__(self, tokens: Sequence[int]) -> np.ndarray:
        """Log-probabilities of the next token, float64."""
        key = tuple(tokens)
        if key not in self.known:
            logits = 2 * np.random.default_rng([self.seed, *key]).normal(size=self.size)
            if key and key[0] % 2 == 0:
                # After half of the first tokens, the model would rather say what no text contains.
                logits[self.size - 2] += 7
            logits -= logits.max()
            self.known[key] = logits - math.log(np.exp(logits).sum())
        return self.known[key]


class Spellings:
    """All spellings of the texts of a task, with their probabilities.

    Parameters
    ----------
    task : Task
    vocabulary : Vocabulary
    model : callable
        Maps token sequences to arrays of log-probabilities.
    """

    def __init__(
        self, task: Task, vocabulary: Any, model: Callable[[list[tuple[int, ...]]], Sequence[np.ndarray]]
    ) -> None:
        by_first: dict[int, list[tuple[int, bytes]]] = {}
        for token, data in enumerate(vocabulary.tokens):
            if data:
                by_first.setdefault(data[0], []).append((token, data))
        following: dict[tuple[int, ...], set[int]] = {}
        ends: set[tuple[int, ...]] = set()
        open_: list[tuple[tuple[int, ...], bytes]] = [((), text) for text in task.texts]
        while open_:
            tokens, rest = open_.pop()
            if not rest:
                ends.add(tokens)
                continue
            for token, data in by_first.get(rest[0], ()):
                if rest.startswith(data):
                    following.setdefault(tokens, set()).add(token)
                    open_.append(((*tokens, token), rest[len(data) :]))
        logs = dict(zip(following, model(list(following)), strict=True))
        target, masked = {}, {}
        for tokens in ends:
            steps = [(tokens[:place], token) for place, token in enumerate(tokens)]
            target[tokens] = math.exp(math.fsum(logs[prefix][token] for prefix, token in steps))
            masses = [np.exp(logs[prefix][sorted(following[prefix])]).sum() for prefix, _ in steps]
            masked[tokens] = target[tokens] / math.prod(masses)
        self.z = math.fsum(target.values())
        self.target = {tokens: share / self.z for tokens, share in target.items()}
        self.masked: dict[tuple[int, ...], float] = masked

    def distance(self, found: Mapping[tuple[int, ...], float]) -> float:
        """Total variation distance to the target; 1 without samples.

        Raises
        ------
        AssertionError
            A sample is no text of the task.
        """
        assert set(found) <= set(self.target), sorted(set(found) - set(self.target))[:3]
        if not found:
            return 1.0
        return sum(abs(share - found.get(tokens, 0.0)) for tokens, share in self.target.items()) / 2


# Draws once: weights of token sequences, and the logarithm of the estimate of Z if there is one. None: the library gave up.
Draw = Callable[[int, int], tuple[dict[tuple[int, ...], float], float | None] | None]


def guided_draws(model: Any, task: Task) -> dict[str, Draw]:
    """The methods of guided, each from a number of particles and a seed."""
    generator = guided.generator(model, task.spec)

    def draw(search: Any, seed: int) -> tuple[dict[tuple[int, ...], float], float | None]:
        result = generator(task.prompt, max_tokens=40, search=search, seed=seed)
        return {sample.tokens: sample.weight for sample in result.samples}, result.log_z

    return {
        "guided smc": lambda particles, seed: draw(guided.Smc(particles), seed),
        "guided rejection": lambda particles, seed: draw(guided.Rejection(particles, 100_000), seed),
    }


def main() -> None:
    """Print the tables; with ``--record``, keep the runs of each task when it is done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="runs for each model, task and number of particles")
    parser.add_argument("--models", type=int, default=3, help="small models")
    parser.add_argument("--tasks", help="names of tasks, with commas between them; all by default")
    parser.add_argument("--lm", action="store_true", help="the default language model instead")
    parser.add_argument("--particles", type=int, default=max(COUNTS), help="the largest number of particles")
    parser.add_argument("--methods", help="some of the methods, with commas between them; all by default")
    parser.add_argument(
        "--record", action="store_true", help=f"into {RECORD.name}, instead of earlier runs of the task"
    )
    parser.add_argument(
        "--report", action="store_true", help="measure nothing; the tables of benchmarks/record/sampling.md"
    )
    chosen = parser.parse_args()
    if chosen.report:
        for name, text in recorded_tables().items():
            print(f"\n{name}:\n{text}")
        return
    counts = [count for count in COUNTS if count <= chosen.particles]
    has_genlm = importlib.util.find_spec("genlm") is not None
    if not has_genlm:
        print("genlm-control is not installed: guided alone")
    tasks = LARGE if chosen.lm else SMALL
    if chosen.tasks:
        tasks = tuple(task for task in tasks if task.name in chosen.tasks.split(","))
    found: list[Found] = []
    for task in tasks:
        about = {
            "command": " ".join(["python -m benchmarks.faithful", *sys.argv[1:]]),
            **machine.describe("genlm-control", "torch", "transformers"),
        }
        with ExitStack() as stack:
            found.append(_measure(task, counts, chosen, has_genlm, stack))
        if chosen.record:
            machine.write({**recorded(), task.name: {"about": about, **found[-1]}}, RECORD)
    if len(found) > 1:
        print("\nAll tasks, the mean of their means:")
        print(*_tables(found), sep="\n\n")


# What was found of a task: counts of texts and spellings, the distance of masking for each model, runs that failed, and by name of the
# method and number of particles: "distance", "ratio" (the estimate of Z over Z) and "cpu_ms" of each run.
Found: TypeAlias = dict[str, Any]


def _measure(task: Task, counts: Sequence[int], chosen: argparse.Namespace, has_genlm: bool, stack: ExitStack) -> Found:
    found: Found = {"texts": len(task.texts), "spellings": 0, "z": [], "masking": [], "failed": {}, "runs": {}}
    for seed in range(1 if chosen.lm else chosen.models):
        spellings, draws = (
            _language_model(task, has_genlm, stack) if chosen.lm else _small(task, seed, has_genlm, stack)
        )
        found["spellings"] = len(spellings.target)
        found["z"].append(float(f"{spellings.z:.6g}"))
        found["masking"].append(round(spellings.distance(spellings.masked), 5))
        for name, draw in draws.items():
            if chosen.methods and name not in chosen.methods.split(","):
                continue
            try:
                draw(2, 0)
                for count, run in itertools.product(counts, range(chosen.runs)):
                    drawn, cpu, _ = timed(draw, count, run)
                    if drawn is None:
                        failed = found["failed"].setdefault(name, {})
                        failed[str(count)] = failed.get(str(count), 0) + 1
                        continue
                    weights, log_z = drawn
                    ratio = None if log_z is None else round(math.exp(log_z) / spellings.z, 4)
                    cell = found["runs"].setdefault(name, {}).setdefault(str(count), {})
                    for key, value in (
                        ("distance", round(spellings.distance(weights), 4)),
                        ("ratio", ratio),
                        ("cpu_ms", round(cpu, 2)),
                    ):
                        cell.setdefault(key, []).append(value)
            except guided.LimitError as error:
                print(f"{task.name}, model {seed}, {name}: {error}")
    print(
        f"\n{task.name}: {found['texts']} texts, {found['spellings']} spellings, Z {found['z'][-1]:.1e} (of the last model), "
        f"distance of masking {np.mean(found['masking']):.3f}"
    )
    print(*_tables([found]), sep="\n\n")
    for name, cells in found["runs"].items():
        ratios = [ratio for cell in cells.values() for ratio in cell["ratio"]]
        if None not in ratios:
            print(
                f"{name}: estimate of Z over Z {np.mean(ratios):.2f} +- {np.std(ratios) / math.sqrt(len(ratios)):.2f}"
            )
    for name, by_count in found["failed"].items():
        print(f"{name}: {sum(by_count.values())} runs ended with an error of its own; the others count")
    return found


def _tables(tasks: Sequence[Found]) -> tuple[str, str]:
    """Mean distances with their standard errors, and median CPU milliseconds, a column for each method; means over tasks."""
    names = list(dict.fromkeys(name for found in tasks for name in found["runs"]))
    counts = sorted({int(count) for found in tasks for cells in found["runs"].values() for count in cells})
    distances, times = [], []
    for count in counts:
        distances.append([str(count)])
        times.append([str(count)])
        for name in names:
            runs = [cell for found in tasks if (cell := found["runs"].get(name, {}).get(str(count)))]
            if len(runs) < len(tasks):
                # All runs of a task ended with an error, or none was asked for.
                missing = "failed" if any(name in found["failed"] for found in tasks) else "-"
                distances[-1].append(missing)
                times[-1].append(missing)
                continue
            error = math.sqrt(sum(np.var(cell["distance"]) / len(cell["distance"]) for cell in runs)) / len(runs)
            cpu = float(np.mean([np.median(cell["cpu_ms"]) for cell in runs]))
            distances[-1].append(f"{np.mean([np.mean(cell['distance']) for cell in runs]):.3f} ± {error:.3f}")
            times[-1].append(f"{cpu:.1f}" if cpu < 100 else f"{cpu:,.0f}")
    heads = ["particles", *names]
    return table(heads, distances), table(heads, times)


def recorded() -> dict[str, Any]:
    """The record: what was found of each task, by its name."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def recorded_tables() -> dict[str, str]:
    """The tables of record/sampling.md, from the record: regular expressions together, and each other task, distances and times."""
    found = recorded()
    patterns = [found[task.name] for task in SMALL if isinstance(task.constraint, str) and task.name in found]
    others = {name: [each] for name, each in found.items() if each not in patterns}
    return {
        f"{name}, {what}": text
        for name, tasks in {"regular expressions": patterns, **others}.items()
        if tasks
        for what, text in zip(("distance", "CPU, ms"), _tables(tasks), strict=True)
    }


def _small(task: Task, seed: int, has_genlm: bool, stack: ExitStack) -> tuple[Spellings, dict[str, Draw]]:
    words = guided.Vocabulary([*task.pieces, None], eos=[len(task.pieces)])
    model = Table(seed, words.size)
    function = guided.FunctionModel(lambda tokens: model(tokens[1:]), words, lambda _: [0])
    spellings = Spellings(task, words, lambda prefixes: [model(prefix) for prefix in prefixes])
    draws = guided_draws(function, task)
    if has_genlm:
        from benchmarks.faithful_genlm import draws_of, small_model

        draws |= draws_of(small_model(model, task.pieces), task, stack)
    return spellings, draws


def _language_model(task: Task, has_genlm: bool, stack: ExitStack) -> tuple[Spellings, dict[str, Draw]]:
    import torch

    torch.set_num_threads(1)
    ours = guided.load(dtype="float32")
    prompt = ours.prompt_tokens(task.prompt)

    def logs(prefixes: list[tuple[int, ...]]) -> list[np.ndarray]:
        with torch.no_grad():
            return [
                torch.log_softmax(ours.hf_model(torch.tensor([[*prompt, *prefix]])).logits[0, -1].double(), 0).numpy()
                for prefix in prefixes
            ]

    spellings = Spellings(task, ours.vocabulary, logs)
    draws = guided_draws(ours, task)
    if has_genlm:
        from benchmarks.faithful_genlm import draws_of, language_model

        draws |= draws_of(language_model(ours.hf_model, ours.hf_tokenizer, prompt), task, stack)
    return spellings, draws


if __name__ == "__main__":
    main()
