"""Dates and times of calls against datetime: every day of every kind of year."""

import datetime
import json
import uuid
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.engine.index import Index
from tests.schema.engine import compiled


def index_of(kind: Any) -> Index:
    """The index of a type, as a finite automaton."""
    return compiled(kind, eager=True)


ALL = {kind: index_of(kind) for kind in (datetime.date, datetime.time, datetime.datetime, uuid.UUID)}


def accepts(kind: Any, text: str) -> bool:
    return ALL[kind].accepts(json.dumps(text).encode())


def is_date(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


def test_T16_the_end_of_february_in_every_year() -> None:
    for year in range(10_000):
        for day in (28, 29, 30):
            assert accepts(datetime.date, f"{year:04}-02-{day:02}") == is_date(year, 2, day), (year, day)


@pytest.mark.parametrize("year", [0, 1, 1900, 2000, 2023, 2024, 9999])
def test_T16_every_day_of_a_year(year: int) -> None:
    for month, day in product(range(14), range(33)):
        assert accepts(datetime.date, f"{year:04}-{month:02}-{day:02}") == is_date(year, month, day), (month, day)


@pytest.mark.parametrize(
    "text", ["", "24-01-01", "2024-1-01", "2024-01-1", "2024/01/01", "20240101", "2024-01-01T", "-2024-01-01"]
)
def test_T16_non_dates_are_refused(text: str) -> None:
    assert not accepts(datetime.date, text)


@given(st.times(timezones=st.none() | st.timezones().map(lambda _: datetime.UTC)))
def test_T16_times_of_python(value: datetime.time) -> None:
    assert accepts(datetime.time, value.isoformat())
    assert accepts(datetime.time, value.isoformat("minutes"))


@given(st.datetimes(timezones=st.none() | st.just(datetime.timezone(-datetime.timedelta(hours=5, minutes=30)))))
def test_T16_moments_of_python(value: datetime.datetime) -> None:
    assert accepts(datetime.datetime, value.isoformat())


@given(
    st.from_regex(r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?(Z|[+-][0-2][0-9]:[0-6][0-9])?", fullmatch=True)
)
def test_T16_accepted_texts_are_times(text: str) -> None:
    if accepts(datetime.time, text):
        datetime.time.fromisoformat(text)
    if accepts(datetime.datetime, f"2024-02-29T{text}"):
        datetime.datetime.fromisoformat(f"2024-02-29T{text}")


@given(st.uuids())
def test_T16_uuids(value: uuid.UUID) -> None:
    assert accepts(uuid.UUID, str(value))
    assert accepts(uuid.UUID, str(value).upper())
    assert not accepts(uuid.UUID, value.hex)
    assert not accepts(uuid.UUID, str(value)[:-1])
