"""Text pieces: whole code points, nothing of a stop string, whatever the cut into tokens."""

from hypothesis import given
from hypothesis import strategies as st

from guided.generate.stops import TextStream


def pushed(pieces: list[bytes], stops: list[str]) -> tuple[list[str], TextStream]:
    stream = TextStream(stops)
    texts = [stream.push(piece) for piece in pieces]
    return [*texts, stream.close()], stream


def cut_before_first_stop(text: str, stops: list[str]) -> tuple[str, bool]:
    """The definition: the stop string that is complete first, the longest of those."""
    for end in range(len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            return text[: end - max(map(len, found))], True
    return text, False


@given(st.text("ab€😀", max_size=12), st.lists(st.text("ab€", min_size=1, max_size=4), max_size=3), st.data())
def test_the_text_does_not_depend_on_the_cut(text: str, stops: list[str], data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.sampled_from(range(len(raw) + 1)))))
    pieces = [raw[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    texts, stream = pushed(pieces, stops)
    expected, stopped = cut_before_first_stop(text, stops)
    assert "".join(texts) == stream.text == expected
    assert stream.stopped == stopped


def test_decided_text_is_not_held_back() -> None:
    texts, _ = pushed([b"a\n", b"b", b"\n", b"\nc"], ["\n\n"])
    assert texts == ["a", "\nb", "", "", ""]


def test_code_points_are_never_split() -> None:
    texts, _ = pushed([b"\xe2", b"\x82", b"\xac!", "😀".encode()[:3]], [])
    assert texts == ["", "", "€!", "", ""]


def test_invalid_utf_8_is_replaced() -> None:
    texts, _ = pushed([b"a\xff", b"\xe2\x82", b"b"], [])
    assert texts == ["a�", "", "�b", ""]


def test_after_a_stop_string_the_stream_ends() -> None:
    texts, stream = pushed([b"ab", b"c", b"d"], ["b"])
    assert (texts, stream.text) == (["a", "", "", ""], "a")
