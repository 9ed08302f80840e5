"""The ways of writing one call that are compared.

=========================  =====================================================================================================
unconstrained              the model's own tokens up to the end of the line
backtrace                  the same; a call that the acceptor refuses is begun anew with the next most probable first token, five at most
suffix match, edit ratio   the unconstrained line with its name matched (`benchmarks.tooldec.fuzzy`)
guided                     the index's masks, greedy
guided, exact names        masks, and the tool with the highest probability over all spellings of its name (``--search``)
guided, smc 8              the whole call by sequential Monte Carlo with 8 particles; also 32 (``--search``)
guided, smc 8, heaviest    of the same particles the tool with the most weight, and the heaviest of its calls; it costs nothing more
guided, beam 8             the whole call by a beam search of width 8; also 32 (``--search``)
=========================  =====================================================================================================

``unconstrained, sampled`` and ``guided, sampled`` draw at temperature 0.7 with the row's seed; the others are greedy, and their seed is 0.
``guided, smc`` draws one call from the model's own distribution of calls, as sampling at temperature 1 would; ``heaviest`` and ``beam``
look for its most probable one, as greedy masks do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import guided
from benchmarks.clock import timed
from benchmarks.tooldec.fuzzy import MATCHES, is_ambiguous, renamed
from benchmarks.tooldec.problems import Problem, Setting
from benchmarks.tooldec.rows import Job, Journal
from benchmarks.tooldec.scoring import read_line, scored
from benchmarks.tooldec.writing import Pen, pen
from guided.generate.model import LanguageModel
from guided.generate.options import Beam, Smc
from guided.generate.sampler import Sampler
from guided.generate.tools import ToolsGenerator

__all__ = [
    "EXACT_NAMES",
    "GREEDY",
    "GUIDED",
    "HEAVIEST",
    "SAMPLED",
    "SEARCHED",
    "SEARCHES",
    "SELECTED",
    "TEMPERATURE",
    "TRIES",
    "WHOLE_NAMES",
    "Bench",
    "call_jobs",
    "heaviest",
]

TEMPERATURE, TRIES = 0.7, 5
GREEDY = ("unconstrained", "backtrace", "suffix match", "edit ratio", "guided")
SAMPLED = ("unconstrained, sampled", "guided, sampled")
SEARCHED: Mapping[str, Smc | Beam] = {
    f"guided, {name} {size}": search(size) for size in (8, 32) for name, search in (("smc", Smc), ("beam", Beam))
}
# Arms that choose among the particles of another one.
HEAVIEST = {f"{arm}, heaviest": arm for arm, search in SEARCHED.items() if isinstance(search, Smc)}
EXACT_NAMES = "guided, exact names"
# Names by their mean log-probability per token: rows of an option that is gone.
WHOLE_NAMES = "guided, whole names"
GUIDED = ("guided", WHOLE_NAMES, EXACT_NAMES, "guided, sampled", *SEARCHED, *HEAVIEST)
# How the tool is chosen, if not greedily.
SELECTED = {EXACT_NAMES: "probability"}


# What ``--search`` measures: names by their probabilities, and searches with so many particles.
SEARCHES: Mapping[str, tuple[str, ...]] = {
    "names": (EXACT_NAMES,),
    **{
        count: (f"guided, smc {count}", f"guided, smc {count}, heaviest", f"guided, beam {count}")
        for count in ("8", "32")
    },
}


@dataclass(frozen=True, slots=True)
class Bench:
    """What measurements are made with.

    Attributes
    ----------
    model : LanguageModel
    label : str
        Its name, in digests.
    journal : Journal
        Where arms that repair what another wrote find it.
    generators : dict
        Made so far: an inventory is compiled once for all its problems.
    """

    model: LanguageModel
    label: str
    journal: Journal
    generators: dict[tuple[str, str, str], ToolsGenerator]

    def generator(self, setting: Setting, select: str, choice: str = "required") -> ToolsGenerator:
        """The generator of a setting, its index compiled once for all ways to select."""
        key = (setting.name, choice, select)
        if key not in self.generators:
            other = next((found for known, found in self.generators.items() if known[:2] == key[:2]), None)
            self.generators[key] = guided.tools(
                self.model,
                setting.spec(choice),
                select=select,  # type: ignore[arg-type]
                execute=choice != "required",
                index=None if other is None else other.index,
            )
        return self.generators[key]


def call_jobs(
    bench: Bench, experiment: str, setting: Setting, problem: Problem, arms: tuple[str, ...], seeds: tuple[int, ...]
) -> list[Job]:
    """One job per arm; sampled arms have one per seed."""
    mark = setting.digest(bench.label, problem)
    jobs = []
    for arm in arms:
        for seed in seeds if arm in SAMPLED else (0,):
            key = (experiment, setting.name, arm, problem.name, seed)
            jobs.append(Job(key, mark, partial(_measure, bench, experiment, setting, problem, arm, seed)))
    return jobs


def _measure(
    bench: Bench, experiment: str, setting: Setting, problem: Problem, arm: str, seed: int
) -> Mapping[str, Any]:
    if arm in MATCHES:
        return _matched(bench, experiment, setting, problem, arm)
    if arm in HEAVIEST:
        searched = bench.journal.found(experiment, setting.name, HEAVIEST[arm], problem.name, 0)
        assert searched is not None, "a search comes before the arm that chooses among its particles"
        costs = {key: searched[key] for key in ("passes", "cpu_ms", "wall_ms")}
        return {**scored(searched["heaviest"], problem, setting), **costs}
    write: Callable[[], tuple[Any, ...]]
    sampler = Sampler(TEMPERATURE, seed=seed) if arm in SAMPLED else Sampler()
    if arm in GUIDED:
        generator = bench.generator(setting, SELECTED.get(arm, "greedy"))
        write = partial(_guided, generator, problem, setting, arm, seed)
    else:
        tries = TRIES if arm == "backtrace" else 1
        write = partial(_unguided, bench.model, problem, setting, sampler, tries)
    (text, passes, *rest), cpu, wall = timed(write)
    is_at_limit = arm not in GUIDED and "\n" not in text and len(bench.model.encode(text)) >= setting.max_tokens
    row = scored(text, problem, setting, is_at_limit=is_at_limit)
    return {
        **row,
        "passes": passes,
        "cpu_ms": round(cpu),
        "wall_ms": round(wall),
        **({"heaviest": rest[0]} if rest else {}),
    }


def _guided(
    generator: ToolsGenerator, problem: Problem, setting: Setting, arm: str, seed: int
) -> tuple[str, int] | tuple[str, int, str]:
    if arm in SEARCHED:
        search = SEARCHED[arm]
        found = generator(problem.prompt, max_tokens=setting.max_tokens, seed=seed, search=search)
        if isinstance(search, Beam):
            return found.text, found.forward_passes
        return found.text, found.forward_passes, heaviest(found, lambda text: text.partition("(")[0])
    temperature = TEMPERATURE if arm in SAMPLED else 0.0
    result = generator(problem.prompt, max_tokens=setting.max_tokens, temperature=temperature, seed=seed)
    return result.text, result.forward_passes


def heaviest(result: guided.Result[Any], kind_of: Callable[[str], str]) -> str:
    """The heaviest text of the heaviest kind among the samples of a search."""
    kinds = dict[str, float]()
    for text, weight in result.probabilities.items():
        kinds[kind_of(text)] = kinds.get(kind_of(text), 0.0) + weight
    best = max(kinds, key=kinds.__getitem__)
    return next(text for text in result.probabilities if kind_of(text) == best)


def _unguided(
    model: LanguageModel, problem: Problem, setting: Setting, sampler: Sampler, tries: int
) -> tuple[str, int]:
    """The line and its passes; the first line where none of the tries is a call."""
    with pen(model, problem.prompt, sampler) as writer:
        ranked = writer.ranked(tries) if tries > 1 else []
        first = line = _line(writer, setting.max_tokens)
        for token in ranked[1:]:
            if not read_line(line, setting.spec()).error:
                return line, writer.passes
            writer.back_to(0, [token])
            line = _line(writer, setting.max_tokens)
        return (first if read_line(line, setting.spec()).error else line), writer.passes


def _line(writer: Pen, max_tokens: int) -> str:
    while not writer.is_ended and len(writer.tokens) < max_tokens and "\n" not in writer.text:
        writer.next()
    return writer.text.partition("\n")[0]


def _matched(bench: Bench, experiment: str, setting: Setting, problem: Problem, arm: str) -> Mapping[str, Any]:
    """What matching makes of the unconstrained line, which cost its passes already."""
    written = bench.journal.found(experiment, setting.name, "unconstrained", problem.name, 0)
    assert written is not None, "unconstrained comes before the arms that repair it"
    names = list(setting.tools)
    text, cpu, wall = timed(renamed, written["line"], names, MATCHES[arm])
    name = written["line"].partition("(")[0].strip()
    costs = {
        "passes": written["passes"],
        "cpu_ms": written["cpu_ms"] + round(cpu),
        "wall_ms": written["wall_ms"] + round(wall),
    }
    flags = {"is_ambiguous": is_ambiguous(name, names), "is_empty": not name} if arm == "suffix match" else {}
    return {**scored(text, problem, setting, is_at_limit=written["error"] == "cut"), **costs, **flags}
