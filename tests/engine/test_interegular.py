"""interegular as a builder: within budgets, and without an effect on who else uses it."""

import random
import threading

import interegular
import pytest

from guided.engine.specs import Regex
from guided.errors import GuidedError, LimitError, PatternError
from guided.limits import Limits
from tests.hostile.random_specs import PATTERNS, mutated


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1,100000}",
        "(a|b)*a(a|b){25}",
        "((a{0,100}){0,100}){0,100}",
        "a" * 900_000,
        "|".join(f"name{i}" for i in range(3_000)),
        "".join(f"(?=.*{c}.*{c}.*{c})" for c in "abcdefgh") + ".*",
        "[\0-\U0010ffff]" * 9,
        "(" * 9_000 + ")" * 9_000,
        "a{99999999999}",
    ],
    ids=lambda pattern: pattern[:20].encode("unicode_escape").decode(),
)
def test_exponential_input_is_refused(pattern: str) -> None:
    said = set()
    for _ in range(2):
        with pytest.raises((LimitError, PatternError)) as error:
            Regex(pattern, builder="interegular").lower(Limits(steps=20_000_000))
        said.add(str(error.value))
    assert len(said) == 1


@pytest.mark.parametrize("pattern", ["a{1,1000}", "(a|b)*a(a|b){8}", "|".join(f"name{i}" for i in range(100))])
def test_large_patterns_are_built(pattern: str) -> None:
    assert Regex(pattern, builder="interegular").lower(Limits()) == Regex(pattern).lower(Limits())


def test_others_are_not_counted() -> None:
    with pytest.raises(LimitError, match=r"steps: .* use builder='guided'"):
        Regex("a{1,50}", builder="interegular").lower(Limits(steps=30_000))
    found: list[int] = []
    work = threading.Thread(target=lambda: found.append(len(interegular.parse_pattern("a{1,50}").to_fsm().states)))
    work.start()
    work.join()
    assert found == [51]


def test_letters_that_become_two() -> None:
    """The capital of a ligature is two characters, which no text holds as one."""
    automaton = Regex("(?i)ŉß", builder="interegular").lower(Limits())
    assert automaton.accepts("ŉß".encode())
    assert not automaton.accepts("ʼNSS".encode())


def test_only_typed_errors_leave() -> None:
    results = 0
    for number in range(150):
        draw = random.Random(number)
        try:
            Regex(mutated(draw, draw.choice(PATTERNS)), builder="interegular").lower(Limits(steps=2_000_000))
            results += 1
        except GuidedError:
            continue
    assert results > 20
