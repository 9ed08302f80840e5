"""The incremental reader of JSON: whatever the split, the values of a plain recursive reader."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.schema.frontend.json_reader import Completed, JsonReader
from guided.schema.frontend.json_values import token_value

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
LAYOUTS = st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}])

Found = list[tuple[tuple[str | int, ...], Any]]


@st.composite
def texts(draw: st.DrawFn) -> str:
    return json.dumps(draw(VALUES), **draw(LAYOUTS))


def oracle(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """All values within a value, the inner ones first."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from oracle(inner, (*path, step))
    yield path, value


def whole(text: str) -> list[Completed]:
    reader = JsonReader()
    return [*reader.feed(text), *reader.close()]


def plain(found: list[Completed]) -> Found:
    return [(item.path, item.value) for item in found]


@given(texts())
def test_inner_values_are_reported_before_outer_ones(text: str) -> None:
    found = whole(text)
    assert plain(found) == list(oracle(json.loads(text)))
    for item in found:
        assert json.loads(text[item.begin : item.end]) == item.value
        assert text[item.begin : item.end].strip() == text[item.begin : item.end]


@given(texts())
def test_the_split_makes_no_difference(text: str) -> None:
    expected = plain(whole(text))
    for place in range(len(text) + 1):
        reader = JsonReader()
        found = [*reader.feed(text[:place]), *reader.feed(text[place:]), *reader.close()]
        assert plain(found) == expected
    reader = JsonReader()
    pieces = [item for char in text for item in reader.feed(char)]
    assert plain([*pieces, *reader.close()]) == expected


@given(texts())
def test_values_are_reported_as_soon_as_they_are_complete(text: str) -> None:
    """After each character there is what the text up to there completes: numbers and literals need the one after them."""
    reader, count = JsonReader(), 0
    ends = [item.end for item in whole(text)]
    for place, char in enumerate(text, start=1):
        count += len(reader.feed(char))
        due = sum(end <= place for end in ends)
        assert due - (text[place - 1] not in '"]},: \n') <= count <= due
        assert reader.is_complete == (due == len(ends) and count == due)


@given(texts(), st.data())
def test_exactly_json_is_taken(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(place, min(place + 2, len(text))))
    changed = (
        text[:place]
        + data.draw(st.sampled_from(["", '"', "\\", "{", "]", ",", ":", "0", "-", "e", " ", "x", "\n", "u"]))
        + text[cut:]
    )
    try:
        expected = json.loads(changed, parse_constant=lambda _: json.loads("?"))
    except ValueError:
        with pytest.raises(ValueError, match="at character"):
            whole(changed)
    else:
        assert whole(changed)[-1].value == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text ends at character 0, where value is expected"),
        ("[1", "the text ends at character 2"),
        ("[1,]", r"'\]' at character 3, where value is expected"),
        ('{"a" 1}', "'1' at character 5, where : is expected"),
        ('{"a": 1,}', "'}' at character 8, where key is expected"),
        ("[1}", "'}' at character 2"),
        ("1 2", "'2' at character 2, where end is expected"),
        ("[01]", "01 at character 1"),
        ("[NaN]", "NaN at character 1"),
        ('["\\x"]', "at character 1"),
        ('["\x00"]', "at character 1"),
        ("['a']", '"\'" at character 1'),
        ("truth", "truth at character 0"),
        ("]", r"'\]' at character 0"),
    ],
)
def test_invalid_json_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        whole(text)


def test_depth_and_length_cost_nothing_extra() -> None:
    depth = 50_000
    reader = JsonReader()
    reader.feed("[" * depth)
    found = reader.feed("]" * depth)
    assert len(found) == depth
    assert found[0].path == (0,) * (depth - 1)
    # Why taken apart: Python frees nested lists by recursion.
    for item in found:
        item.value.clear()
    assert whole("1" * 5000)[0].value == int("1" * 4000) * 10**1000 + int("1" * 1000)
    assert whole("1e400")[0].value == float("inf")


def test_the_last_of_equal_keys_counts() -> None:
    found = whole('{"a": 1, "a": [2]}')
    assert plain(found) == [(("a",), 1), (("a", 0), 2), (("a",), [2]), ((), {"a": [2]})]


def is_in_string(text: str) -> bool:
    return '"' in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


@pytest.mark.skipif(
    tuple(map(int, pydantic_core.__version__.split(".")[:2])) <= (2, 33),
    reason="pydantic-core 2.33 reads no text that ends within an escape",
)
@given(texts())
def test_snapshots_are_what_pydantic_reads_of_a_partial_text(text: str) -> None:
    reader = JsonReader()
    for place, char in enumerate(text, start=1):
        reader.feed(char)
        written = text[:place]
        if reader.is_complete:
            break
        # A number at the end may continue, so it is not known, nor is a literal; pydantic shows both so far.
        known = written if is_in_string(written) else re.sub(r"[-+.0-9A-Za-z]+\Z", "", written)
        if not known.strip() or reader.snapshot() is None:
            assert re.fullmatch(r"[-+.0-9a-zE]*", written)
        else:
            assert reader.snapshot() == pydantic_core.from_json(known, allow_partial="trailing-strings"), written


def test_snapshots_are_independent_and_show_what_replaces_complete_values() -> None:
    reader = JsonReader(has_snapshots=True)
    (seen,) = reader.feed('{"a": [1, {"b": [2')[:1]
    first = reader.snapshot()
    reader.feed(", 3")
    assert (first, reader.depth) == ({"a": [1, {"b": []}]}, 4)
    seen.shown_in[0] = "one"
    assert reader.snapshot() == {"a": ["one", {"b": [2]}]}
    (*_, last) = reader.feed("]}]")
    assert last.value == [1, {"b": [2, 3]}]
    assert first == {"a": [1, {"b": []}]}


@given(st.text(max_size=30), st.booleans(), st.integers(1, 7))
def test_a_string_grows_by_what_was_read(text: str, ensure_ascii: bool, step: int) -> None:
    """Also where a piece ends within an escape or between the halves of a surrogate pair."""
    written = json.dumps(text, ensure_ascii=ensure_ascii)
    reader, shown = JsonReader(), ""
    for place in range(0, len(written) - 1, step):
        reader.feed(written[place : min(place + step, len(written) - 1)])
        found = reader.open_string
        assert found is not None
        assert found.startswith(shown)
        assert found is reader.open_string
        shown = found
    assert shown == text


def characters_decoded(n: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much is decoded for the snapshots of a string of so many characters that comes in pieces of four."""
    read: list[int] = []

    def counted(text: str) -> Any:
        read.append(len(text))
        return token_value(text)

    monkeypatch.setattr("guided.schema.frontend.json_reader.token_value", counted)
    reader = JsonReader()
    reader.feed('{"text": "')
    for _ in range(n // 4):
        reader.feed("ab\\n")
        reader.snapshot()
    reader.feed('"}')
    assert reader.is_complete
    return sum(read)


def test_snapshots_decode_each_character_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (characters_decoded(n, monkeypatch) for n in (1_000, 10_000))
    assert many <= 11 * few


def test_snapshots_of_a_list_do_no_work_for_each_complete_item() -> None:
    """A copy of the list is one call, however long it is."""

    def calls(n: int) -> int:
        reader = JsonReader(has_snapshots=True)
        for item in reader.feed("[" + "1," * n):
            item.shown_in[item.location.step] = "one"  # type: ignore[union-attr]
        count = 0

        def note(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event.endswith("call")

        sys.setprofile(note)
        reader.snapshot()
        sys.setprofile(None)
        return count

    assert calls(10_000) == calls(10)
