"""E9: requests of RestBench, each answered by the names of the operations that it takes, in their order, on one line.

A path is right if the gold one is within it, in its order (RestGPT's correct path rate). With documentation every operation stands in
the prompt with what its document says of it in a line; without it the names alone must tell, and they stand nowhere. Four requests are
the examples and are not asked.

*unconstrained* is the model's own line; *edit ratio* puts the most alike name in the place of each that does not exist; *guided* is the
regular expression of one to five names; *guided, smc* and *guided, beam* search it for whole paths (``--search``). A tool error is a path
with a name that does not exist, or none.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import guided
from benchmarks.clock import timed
from benchmarks.tooldec.arms import HEAVIEST, SEARCHED, Bench, heaviest
from benchmarks.tooldec.fuzzy import by_ratio
from benchmarks.tooldec.restbench import Api
from benchmarks.tooldec.rows import Job, digest
from benchmarks.tooldec.writing import pen
from guided.generate.options import Beam
from guided.generate.sampler import Sampler

__all__ = ["ARMS", "Requests", "contains", "path_jobs", "requests_of"]

ARMS = ("unconstrained", "edit ratio", "guided")
_EXAMPLES, _MOST_NAMES, _MAX_TOKENS = 4, 5, 64


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of an API under one set of names.

    Attributes
    ----------
    name : str
    names : tuple of str
        Of all operations.
    asked : tuple of (str, str, tuple of str)
        Its number, the prompt, and the names of the gold path.
    """

    name: str
    names: tuple[str, ...]
    asked: tuple[tuple[str, str, tuple[str, ...]], ...]
    _generators: list[guided.Generator] = field(default_factory=list, repr=False)

    def generator(self, bench: Bench) -> guided.Generator:
        """Writes one to five names and the end of the line; compiled once."""
        if not self._generators:
            name = "|".join(map(re.escape, self.names))
            pattern = f" ?({name})(, ({name})){{0,{_MOST_NAMES - 1}}}\n"
            self._generators.append(guided.regex(bench.model, pattern))
        return self._generators[0]


def requests_of(api: Api, name_set: str, *, is_documented: bool) -> Requests:
    """The requests of an API, those of the examples left out."""
    names = api.names(name_set)
    blocks = []
    if is_documented:
        texts = (f"{names[item.key]}: {item.text}" for item in api.operations)
        blocks.append("Operations:\n" + "\n".join(texts))
    # Why the longest: a path of each length is shown.
    order = sorted(range(len(api.requests)), key=lambda place: (-len(api.requests[place][1]), place))
    shown = sorted(order[:1] + order[len(order) // 2 : len(order) // 2 + 2] + order[-1:])[:_EXAMPLES]
    for place in shown:
        request, path = api.requests[place]
        blocks.append(f"Request: {request}\nPath: {', '.join(names[key] for key in path)}")
    asked = tuple(
        (str(place), "\n\n".join([*blocks, f"Request: {request}\nPath:"]), tuple(names[key] for key in path))
        for place, (request, path) in enumerate(api.requests)
        if place not in shown
    )
    return Requests(f"{name_set}, {'documented' if is_documented else 'names alone'}", tuple(names.values()), asked)


def path_jobs(bench: Bench, requests: Requests, place: int, arms: Sequence[str] = ARMS) -> list[Job]:
    """One job per arm of one request."""
    number, prompt, gold = requests.asked[place]
    mark = digest(bench.label, prompt, *requests.names)
    return [
        Job(("E9", requests.name, arm, number, 0), mark, partial(_measure, bench, requests, number, prompt, gold, arm))
        for arm in arms
    ]


def contains(path: Sequence[str], gold: Sequence[str]) -> bool:
    """Is the gold path within this one, in its order?"""
    rest = iter(path)
    return all(name in rest for name in gold)


def _measure(
    bench: Bench, requests: Requests, number: str, prompt: str, gold: tuple[str, ...], arm: str
) -> Mapping[str, Any]:
    if arm == "edit ratio":
        written = bench.journal.found("E9", requests.name, "unconstrained", number, 0)
        assert written is not None, "unconstrained comes first"
        path = [by_ratio(name, requests.names) for name in _names(written["line"])]
        costs = {key: written[key] for key in ("passes", "cpu_ms", "wall_ms")}
        return _scored(", ".join(path), requests, gold, **costs)
    if arm in HEAVIEST:
        searched = bench.journal.found("E9", requests.name, HEAVIEST[arm], number, 0)
        assert searched is not None, "a search comes before the arm that chooses among its particles"
        costs = {key: searched[key] for key in ("passes", "cpu_ms", "wall_ms")}
        return _scored(searched["heaviest"], requests, gold, **costs)
    is_guided = arm != "unconstrained"
    write: Callable[[], tuple[Any, ...]]
    write = partial(_guided, bench, requests, prompt, arm) if is_guided else partial(_unguided, bench, prompt)
    (line, passes, *rest), cpu, wall = timed(write)
    row = _scored(line, requests, gold, passes=passes, cpu_ms=round(cpu), wall_ms=round(wall))
    return {**row, **({"heaviest": rest[0]} if rest else {})}


def _guided(bench: Bench, requests: Requests, prompt: str, arm: str) -> tuple[str, int] | tuple[str, int, str]:
    generator = requests.generator(bench)
    if arm not in SEARCHED:
        result = generator(prompt, max_tokens=_MAX_TOKENS)
        return result.text, result.forward_passes
    search = SEARCHED[arm]
    found = generator(prompt, max_tokens=_MAX_TOKENS, seed=0, search=search)
    if isinstance(search, Beam):
        return found.text, found.forward_passes
    return found.text, found.forward_passes, heaviest(found, str.strip)


def _unguided(bench: Bench, prompt: str) -> tuple[str, int]:
    with pen(bench.model, prompt, Sampler()) as writer:
        while not writer.is_ended and len(writer.tokens) < _MAX_TOKENS and "\n" not in writer.text:
            writer.next()
        return writer.text, writer.passes


def _names(line: str) -> list[str]:
    return [name.strip() for name in line.split(",") if name.strip()]


def _scored(line: str, requests: Requests, gold: tuple[str, ...], **costs: int) -> dict[str, Any]:
    path = _names(line.partition("\n")[0])
    is_known = bool(path) and set(path) <= set(requests.names)
    return {
        "line": ", ".join(path),
        "error": "" if is_known else "name",
        "right_name": is_known and contains(path, gold),
        **costs,
    }
