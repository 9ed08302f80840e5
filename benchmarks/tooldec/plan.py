"""What each experiment asks, in which order, and how much of it by default.

Jobs come in blocks of problems, all settings and arms of a block together, so that a run that is stopped anywhere has asked the same
problems of all, in pairs. A default is what fits into 45 minutes of two idle cores with the default model.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.tooldec import funcqa, kamel
from benchmarks.tooldec.arms import EXACT_NAMES, GREEDY, HEAVIEST, SAMPLED, SEARCHES, Bench, call_jobs
from benchmarks.tooldec.chains import ARMS as CHAIN_ARMS
from benchmarks.tooldec.chains import chain_jobs
from benchmarks.tooldec.paths import Requests, path_jobs, requests_of
from benchmarks.tooldec.problems import Problem, Setting
from benchmarks.tooldec.restbench import NAME_SETS, api
from benchmarks.tooldec.rows import Job

__all__ = ["DEFAULT", "JOBS", "SEARCHED_DEFAULT", "SHARES", "Size"]

SEED = 7
_BLOCK = 5
_Item = TypeVar("_Item")


# Problems of a setting by default.
DEFAULT = {
    "one call": 60, "chains": 30, "four shown": 60, "relations": 50, "renamed": 40, "requests": 40,
}  # fmt: skip
# With searches: all chains and requests that the data have.
SEARCHED_DEFAULT = {**DEFAULT, "chains": 68, "requests": 96}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is asked.

    Attributes
    ----------
    data : Path or None
        Folder of the data; None: problems of our own.
    problems : Mapping of str to int
        As `DEFAULT`; what is missing has no bound.
    seeds : tuple of int
        Of the sampled arms.
    searches : tuple of str
        Keys of `SEARCHES`. If there are any, single calls and paths are written by their arms, and by those that they are compared with.
    """

    data: Path | None
    problems: Mapping[str, int]
    seeds: tuple[int, ...] = (0,)
    searches: tuple[str, ...] = ()

    def arms(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The arms of single calls."""
        return ("unconstrained", "backtrace", "edit ratio", "guided", *self.searched) if self.searches else usual

    @property
    def chain_arms(self) -> tuple[str, ...]:
        """The arms of chains of calls; particles of a chain are compared call by call, so none is the heaviest of a chain."""
        if not self.searches:
            return CHAIN_ARMS
        return ("backtrace", "guided", *(arm for arm in self.searched if arm not in HEAVIEST))

    @property
    def searched(self) -> tuple[str, ...]:
        """The arms of the searches."""
        return tuple(arm for key in self.searches for arm in SEARCHES[key])

    def folder(self, name: str) -> Path | None:
        """The folder of one of the data sets."""
        return None if self.data is None else self.data / name

    def most(self, what: str) -> int:
        """How many problems."""
        return self.problems.get(what, sys.maxsize)


def e2(bench: Bench, size: Size) -> Iterator[Job]:
    """FuncQA, calls of all arms: one call, and chains of them."""
    single, several = funcqa.one_call(size.folder("funcqa"), seen_only=False), funcqa.chains(size.folder("funcqa"))

    def of(item: tuple[Setting, Problem], _: int) -> list[Job]:
        if item[0] is several:
            return chain_jobs(bench, "E2", *item, size.chain_arms)
        return call_jobs(bench, "E2", *item, size.arms(GREEDY + SAMPLED), size.seeds)

    yield from _in_blocks([_pairs(single, size.most("one call")), _pairs(several, size.most("chains"))], of)


def e3(bench: Bench, size: Size) -> Iterator[Job]:
    """FuncQA, four tools shown: the others are unseen."""
    setting = funcqa.one_call(size.folder("funcqa"), seen_only=True)
    yield from _in_blocks(
        [_pairs(setting, size.most("four shown"))],
        lambda item, _: call_jobs(bench, "E3", *item, size.arms(GREEDY), size.seeds),
    )


def e4(bench: Bench, size: Size) -> Iterator[Job]:
    """KAMEL, inventories of 30 to 234 relations."""
    most = size.most("relations")
    settings = [kamel.relations(size.folder("kamel"), number, most, SEED) for number in kamel.SIZES]

    def of(item: tuple[Setting, Problem], _: int) -> list[Job]:
        return call_jobs(bench, "E4", *item, size.arms(GREEDY), size.seeds)

    yield from _in_blocks([_pairs(setting, most) for setting in settings], of)


def e5(bench: Bench, size: Size) -> Iterator[Job]:
    """KAMEL, 30 relations none of which is shown, under their own names and under random ones."""
    most = size.most("renamed")
    settings = kamel.renamed_relations(size.folder("kamel"), most, SEED)

    def of(item: tuple[Setting, Problem], _: int) -> list[Job]:
        return call_jobs(bench, "E5", *item, ("guided",), size.seeds)

    yield from _in_blocks([_pairs(setting, most) for setting in settings], of)


def e9(bench: Bench, size: Size) -> Iterator[Job]:
    """RestBench's TMDB: with and without documentation, and four sets of names without it; searches of the first of these only.

    With searches, what the claims compare them with is asked as often.
    """
    tmdb = api(size.folder("restbench"), "tmdb")
    settings = [requests_of(tmdb, NAME_SETS[0], is_documented=True)]
    settings += [requests_of(tmdb, name_set, is_documented=False) for name_set in NAME_SETS]
    if size.searches:
        settings = settings[:2]
    pairs = [
        [(requests, place) for place in range(min(size.most("requests"), len(requests.asked)))] for requests in settings
    ]
    searched = tuple(arm for arm in size.searched if arm != EXACT_NAMES)

    def of(item: tuple[Requests, int], _: int) -> list[Job]:
        if not size.searches:
            return path_jobs(bench, *item)
        return path_jobs(
            bench, *item, ("unconstrained",) if item[0] is settings[0] else ("unconstrained", "guided", *searched)
        )

    # Why larger blocks: prompts of a setting begin alike, and are read anew when it is its turn again.
    yield from _in_blocks(pairs, of, 2 * _BLOCK)


# Experiments with a model, and their shares of the budget; what one leaves is the next one's.
JOBS: dict[str, Callable[[Bench, Size], Iterator[Job]]] = {"E2": e2, "E3": e3, "E4": e4, "E5": e5, "E9": e9}
SHARES = {"E2": 0.2, "E3": 0.08, "E4": 0.43, "E5": 0.06, "E9": 0.23}


def _pairs(setting: Setting, most: int) -> list[tuple[Setting, Problem]]:
    return [(setting, problem) for problem in setting.problems[:most]]


def _in_blocks(
    lists: Sequence[Sequence[_Item]], of: Callable[[_Item, int], Sequence[Job]], size: int = _BLOCK
) -> Iterator[Job]:
    """Some of the first list, as many of the second, and so on, then the next ones."""
    for begin in range(0, max(map(len, lists)), size):
        for items in lists:
            for place in range(begin, min(begin + size, len(items))):
                yield from of(items[place], place)
