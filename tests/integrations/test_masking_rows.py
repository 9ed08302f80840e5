"""The table of masks on a device: what a call asks for lies in it, and what was sent first is replaced first."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guided.integrations.masking_rows import MaskRows

N_WORDS = 3
DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
    ),
]


def words_of(mask: np.ndarray) -> list[int]:
    return (mask[:N_WORDS].tolist() + [0] * N_WORDS)[:N_WORDS]


@pytest.mark.parametrize("device", DEVICES)
@given(data=st.data())
def test_tools_of_calls_are_in_the_table(device: str, data: st.DataObject) -> None:
    """Masks shorter and longer than a row; calls with repeated masks, and with more of them than the bytes are for."""
    most = data.draw(st.integers(1, 6))
    masks = [np.arange(length, dtype=np.int32) + 10 * place for place, length in enumerate([3, 1, 3, 5, 2, 3, 3, 0, 4])]
    for mask in masks:
        mask[N_WORDS:] = 0
    table = MaskRows(N_WORDS, torch.device(device), max_bytes=4 * N_WORDS * most)
    for call in data.draw(st.lists(st.lists(st.integers(0, len(masks) - 1), min_size=1, max_size=9), max_size=12)):
        before = len(table.table)
        rows = table.rows([masks[place] for place in call]).tolist()
        assert len(set(rows)) == len(set(call))
        assert table.table[rows].tolist() == [words_of(masks[place]) for place in call]
        assert max(before, len(set(call))) <= len(table.table) <= max(before, most, len(set(call)))


def test_the_masks_sent_first_are_replaced() -> None:
    """Rows are filled in a circle; the first calls make a full table."""
    random = np.random.default_rng(0)
    masks = [np.full(N_WORDS, place, np.int32) for place in range(9)]
    table = MaskRows(N_WORDS, torch.device("cpu"), max_bytes=4 * N_WORDS * 5)
    held, sent = list[int](), 0
    for place in [*range(5), *random.integers(0, 9, 300).tolist()]:
        if place not in held:
            held[sent % 5 : sent % 5 + 1] = [place]
            sent += 1
        assert table.rows([masks[place]]).tolist() == [held.index(place)]


def test_masks_of_a_call_are_not_replaced_by_the_others_of_the_call() -> None:
    """Those that lie where the new ones go are sent again."""
    masks = [np.full(N_WORDS, place, np.int32) for place in range(8)]
    for known in range(4):
        table = MaskRows(N_WORDS, torch.device("cpu"), max_bytes=4 * N_WORDS * 4)
        for place in range(4):
            table.rows([masks[place]])
        rows = table.rows([masks[known], *masks[4:7]]).tolist()
        assert sorted(rows) == [0, 1, 2, 3]
        assert table.table[rows].tolist() == [masks[place].tolist() for place in (known, 4, 5, 6)]


@pytest.mark.parametrize("device", DEVICES)
def test_row_numbers_arrive_in_their_order(device: str) -> None:
    """More of them than the pinned memory holds, of every length, and at once more than it was made for."""
    random = np.random.default_rng(0)
    table = MaskRows(N_WORDS, torch.device(device), max_bytes=100)
    for count in (*random.integers(1, 40_000, 40).tolist(), 70_000, 5, 140_000, 1):
        rows = random.integers(0, 2**31, count).astype(np.int32)
        assert table.sent(rows).tolist() == rows.tolist()


def test_a_table_that_could_not_be_filled_is_filled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = [np.full(N_WORDS, place, np.int32) for place in range(3)]
    table = MaskRows(N_WORDS, torch.device("cpu"), max_bytes=4 * N_WORDS * 2)
    table.rows(masks[:2])
    with monkeypatch.context() as patch:
        patch.setattr(MaskRows, "_fill", lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            table.rows(masks[2:])
    for call in (masks[:2], masks[2:], masks[:1], masks[1:]):
        assert table.table[table.rows(call).tolist()].tolist() == [words_of(mask) for mask in call]
