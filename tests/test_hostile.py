"""A hostile client gets a result or a typed error for bounded work, whatever it sends to whichever entry.

Each row of `tests.hostile.table` is sent at a small size and at twice that, and random specs are, with limits divided by 100. Work is
counted in steps, so no test depends on the machine. ``make hostile`` sends all of it at full size, with CPU time and memory.
"""

import ast
import copy
import inspect
import json
import linecache
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.hostile import Run, excess
from guided.calls.spec import Tools
from guided.engine.algebra import Alternatives, Concatenation, Dispatch, FreeText, Maybe, Named, Repeat
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex, Substring
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError, LimitError
from guided.generate.options import Beam, Rejection, Smc
from guided.generate.sampler import Sampler
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from tests.hostile import client, odd
from tests.hostile.client import Attack, Client, Cost, Endless, limits_over, steps, vocabulary
from tests.hostile.random_specs import KINDS, attack
from tests.hostile.table import ROWS

ROOT = Path(__file__).parents[1]
PACKAGE = str(ROOT / "guided")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
SMALL, FRONT_END = limits_over(100), limits_over(10, FRONT_END_LIMITS)
# Steps of one call, and of one that makes a spec, which has the default limits: at least as many as the worst row takes.
MOST, MOST_TO_MAKE = 1_500_000, 12_000_000


def check(sent: Attack, seed: str) -> Client:
    """Send an input; each call may take so many steps."""
    # Why again: the first call of a kernel may compile it, which takes millions of steps and can end the attempt before the next kernel.
    for _ in range(4):
        found = Client(steps, SMALL, FRONT_END, n_tokens=4)
        with suppress(Endless):
            found.send(sent, random.Random(seed))
            if not _too_many(found):
                return found
    found = Client(steps, SMALL, FRONT_END, n_tokens=4)
    found.send(sent, random.Random(seed))
    assert not _too_many(found)
    return found


def _too_many(found: Client) -> list[Cost]:
    return [cost for cost in found.costs if cost.cost > (MOST_TO_MAKE if cost.entry in ("make", "server") else MOST)]


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROWS)
def test_each_row_takes_bounded_work(name: str, times: int) -> None:
    row = ROWS[name]
    check(row.attack(min(times * row.small, row.full)), name)


@pytest.mark.parametrize("kind", KINDS)
def test_random_specs_take_bounded_work(kind: str) -> None:
    clients = []
    for number in range(12):
        seed = f"{kind} {number}"
        clients.append(check(attack(kind, random.Random(seed), is_large=False), seed))
    assert any(found.n_steps for found in clients)


def uncounted(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function, or its `GuidedError`."""
    try:
        return run(), 0
    except GuidedError as error:
        return error, 0


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("schema", range(10)),
        ("tag", range(10)),
        *(pytest.param(kind, range(80), marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_random_specs_that_compile_are_walked_without_exceeding_a_limit(kind: str, numbers: range) -> None:
    n_walked = 0
    for number in numbers:
        walked = Client(uncounted, FRONT_END_LIMITS, n_tokens=12)
        walked.send(attack(kind, random.Random(number), is_large=number % 2 == 1), random.Random(number))
        entries = [cost.entry for cost in walked.costs]
        calls = walked.costs[entries.index("compile") :] if "compile" in entries else []
        if calls and not calls[0].outcome:
            n_walked += 1
            assert not [cost for cost in calls if cost.outcome], number
    assert n_walked > len(numbers) // 6


def test_the_client_takes_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is to find is found: a call that does not end, an error that is not typed, and a row that costs too much."""

    def for_ever() -> None:
        while True:
            len("")

    with monkeypatch.context() as patch:
        patch.setattr(client, "MOST_STEPS", 1_000)
        with pytest.raises(Endless, match="more than 1,000 steps"):
            steps(for_ever)
    with pytest.raises(KeyError):
        Client(steps, SMALL).send(Attack("spec", lambda: {}["a"]), random.Random(1))
    refused, count = steps(lambda: Regex("a{9}").lower(Limits(nfa_states=3)))
    assert isinstance(refused, LimitError)
    assert 10 < count < MOST


def test_an_outcome_beyond_its_bounds_is_told() -> None:
    (name, row) = next((name, row) for name, row in ROWS.items() if row.is_fine)
    sized = f"{name}, n = {row.full:,}"
    found = Run.of(sized, lambda: row.attack(row.small), vocabulary()).outcome()
    assert (found.finding, found.has_index) == ("", True)
    # Why fixed costs: those of this machine do not matter here.
    fine = replace(found, compile=0.1, call=0.1, slowest="mask", server=0.1, megabytes=10)
    assert excess(fine) == ""
    assert excess(replace(fine, compile=6.0, call=6.0)) == "compile: 6.0 of 2.0; mask: 6.0 of 2.0"
    assert excess(replace(fine, name="random tag 9", in_text=["mask: call_steps"])) == "mask: call_steps"
    assert excess(replace(fine, server=2.0, megabytes=1_001)) == "server: 2.0 of 0.7; megabytes: 1001.0 of 850"
    broken = Run.of(sized, lambda: Attack("spec", lambda: {}["a"]), vocabulary()).outcome()
    assert excess(broken).startswith("KeyError: 'a'")
    assert excess(broken).endswith("refused")


@cache
def _raises(path: str) -> set[int]:
    """Lines of a file that are part of a raise statement."""
    tree = ast.parse("".join(linecache.getlines(path)))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def fault(error: BaseException, is_data: bool = True) -> str | None:
    """Why an exception is a finding, or None; ``is_data`` where the input was of the right types, whatever it held."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    path, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    place = f"{type(error).__name__}: {str(error)[:300]!r} at {path.removeprefix(str(ROOT) + '/')}:{line}"
    # Sequences end iterations by IndexError.
    kinds = (GuidedError, TypeError, ValueError) if is_data else (GuidedError, TypeError, ValueError, IndexError)
    if isinstance(error, AssertionError) or not isinstance(error, kinds):
        return place
    if ADDRESS.search(str(error)):
        return f"address in {place}"
    if not str(error).strip():
        return f"no message in {place}"
    if isinstance(error, GuidedError) or not is_data:
        return None
    # What is data is refused on purpose; where a caller mixes up arguments, Python's own TypeError will do.
    return None if path.startswith(PACKAGE) and line in _raises(path) else f"not on purpose: {place}"


@pytest.mark.parametrize("kind", odd.KINDS, ids=lambda kind: kind.__name__)
def test_odd_arguments_give_a_result_or_an_error_that_says_so(kind: Callable[[random.Random], None]) -> None:
    findings = []
    for number in range(40 * odd.KINDS[kind]):
        try:
            kind(random.Random(f"{kind.__name__} {number}"))
        except Exception as error:
            findings += [f"{number}: {why}"] if (why := fault(error, is_data=False)) else []
    assert findings == []


CONSTRUCTORS: dict[Callable[..., Any], dict[str, Any]] = {
    Regex: {"pattern": "a"}, Choice: {"options": ["a"]}, JsonSchema: {"schema": {}}, Grammar: {"grammar": 'start: "a"'},
    Tools: {"tools": [{"name": "f"}]}, StructuralTag: {"tag": {"type": "structural_tag", "format": {"type": "any_text"}}},
    FreeText: {}, Repeat: {"part": "a"}, Maybe: {"part": "a"}, Substring: {"text": "abc"}, Named: {"parts": ("a",), "name": "b"},
    Alternatives: {"parts": ("a",)}, Concatenation: {"parts": ("a",)}, Dispatch: {"parts": (FreeText("a"), "b")}, Limits: {},
    Sampler: {}, Smc: {}, Rejection: {}, Beam: {},
}  # fmt: skip


@pytest.mark.parametrize("make", CONSTRUCTORS, ids=lambda make: make.__name__)
def test_constructors_refuse_odd_arguments_by_typed_errors(make: Callable[..., Any]) -> None:
    """Each argument by itself: an error says by its class that the caller is wrong, and by its message what to give."""
    make(**CONSTRUCTORS[make])
    refused = 0
    for name in inspect.signature(make).parameters:
        # Why not these: arrays are compared entry by entry, and Python warns where NotImplemented is asked for its truth.
        for value in (one for one in odd.ODD if not isinstance(one, np.ndarray) and one is not NotImplemented):
            try:
                make(**{**CONSTRUCTORS[make], name: value})
            except (GuidedError, TypeError):
                refused += 1
    assert refused


def test_findings_are_found() -> None:
    """The judge itself: what must be told apart is."""

    def judged(work: Callable[[], object], is_data: bool = True) -> str | None:
        with pytest.raises(Exception) as error:  # noqa: PT011 - what it is is judged
            work()
        return fault(error.value, is_data)

    def address() -> None:
        raise ValueError(f"{object()}")

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    nothing: dict[str, int] = {}
    assert judged(lambda: Regex("(").lower(Limits())) is None
    assert judged(lambda: Regex(3)) is None  # type: ignore[arg-type]
    assert "KeyError" in (judged(lambda: nothing["a"]) or "")
    assert "not on purpose" in (judged(lambda: json.loads("{")) or "")
    assert judged(lambda: json.loads("{"), is_data=False) is None
    assert "RecursionError" in (judged(lambda: copy.deepcopy(deep)) or "")
    assert "address" in (judged(address, is_data=False) or "")
