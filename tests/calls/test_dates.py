"""Dates and times against datetime: every day of every kind of year."""

import datetime
import uuid
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls import dates
from guided.schema.formats.pointers import uuid as uuid_text


@pytest.fixture(scope="module")
def all_dates() -> Automaton:
    return from_tree(dates.date())


def is_date(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


def test_T16_the_end_of_february_in_every_year(all_dates: Automaton) -> None:
    for year in range(10_000):
        for day in (28, 29, 30):
            assert all_dates.accepts(b"%04d-02-%02d" % (year, day)) == is_date(year, 2, day), (year, day)


@pytest.mark.parametrize("year", [0, 1, 1900, 2000, 2023, 2024, 9999])
def test_T16_every_day_of_a_year(all_dates: Automaton, year: int) -> None:
    for month, day in product(range(14), range(33)):
        assert all_dates.accepts(b"%04d-%02d-%02d" % (year, month, day)) == is_date(year, month, day), (month, day)


@pytest.mark.parametrize(
    "text", ["", "24-01-01", "2024-1-01", "2024-01-1", "2024/01/01", "20240101", "2024-01-01T", "-2024-01-01"]
)
def test_T16_non_dates_are_refused(all_dates: Automaton, text: str) -> None:
    assert not all_dates.accepts(text.encode())


@given(st.times(timezones=st.none() | st.timezones().map(lambda _: datetime.UTC)))
def test_T16_times_of_python(value: datetime.time) -> None:
    automaton = from_tree(dates.time())
    assert automaton.accepts(value.isoformat().encode())
    assert automaton.accepts(value.isoformat("minutes").encode())


@given(st.datetimes(timezones=st.none() | st.just(datetime.timezone(-datetime.timedelta(hours=5, minutes=30)))))
def test_T16_moments_of_python(value: datetime.datetime) -> None:
    automaton = from_tree(dates.date_time())
    assert automaton.accepts(value.isoformat().encode())


@given(
    st.from_regex(r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?(Z|[+-][0-2][0-9]:[0-6][0-9])?", fullmatch=True)
)
def test_T16_accepted_texts_are_times(text: str) -> None:
    if from_tree(dates.time()).accepts(text.encode()):
        datetime.time.fromisoformat(text)
    if from_tree(dates.date_time()).accepts(f"2024-02-29T{text}".encode()):
        datetime.datetime.fromisoformat(f"2024-02-29T{text}")


@given(st.uuids())
def test_T16_uuids(value: uuid.UUID) -> None:
    automaton = from_tree(uuid_text())
    assert automaton.accepts(str(value).encode())
    assert automaton.accepts(str(value).upper().encode())
    assert not automaton.accepts(value.hex.encode())
    assert not automaton.accepts(str(value).encode()[:-1])
