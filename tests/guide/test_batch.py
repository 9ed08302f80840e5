"""Masks of a batch: each row is the mask of its guide, whatever the others are."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.engine.index import Index
from guided.guide import batch
from guided.guide.guide import Guide
from guided.vocabulary.vocabulary import Vocabulary

# Masks of 9 and of 10 words: rows that are filled, and rows that are wider than the mask.
BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
WIDER = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=300)
INDICES = [
    guided.compile(guided.Regex(r"[a-c]{1,5}"), BYTES),
    guided.compile(guided.JsonSchema({"type": "array", "items": {"type": "integer"}}), BYTES),
    guided.compile(guided.Choice(["ab", "abc"]), WIDER),
]


def moved(index: Index, choices: list[int], end: int | None) -> Guide:
    """A guide that has read some allowed tokens; ``end``: its own end token."""
    guide = index.guide() if end is None else index.guide(end_tokens=[end])
    for choice in choices:
        allowed = np.flatnonzero(np.unpackbits(guide.mask().view(np.uint8), bitorder="little"))
        if not len(allowed):
            break
        guide.advance(int(allowed[choice % len(allowed)]))
    return guide


guides = st.one_of(
    st.none(),
    st.builds(moved, st.sampled_from(INDICES), st.lists(st.integers(0, 300), max_size=6), st.none()),
    st.builds(moved, st.just(INDICES[2]), st.lists(st.integers(0, 300), max_size=4), st.just(299)),
)


def row_by_row(some: list[Guide | None], out: np.ndarray, rows: list[int]) -> np.ndarray:
    """The definition of `fill_masks`."""
    expected = out.copy()
    for row, guide in zip(rows, some, strict=True):
        mask = np.full(out.shape[1], -1, np.int32)
        if guide is not None:
            mask = np.concatenate([guide.mask(), np.zeros(out.shape[1] - len(guide.mask()), np.int32)])
        expected[row] = mask
    return expected


@pytest.mark.parametrize("many", [0, 1 << 60])
@given(some=st.lists(guides, max_size=8), width=st.integers(10, 12), data=st.data())
def test_every_row_is_the_mask_of_its_guide(
    many: int, some: list[Guide | None], width: int, data: st.DataObject
) -> None:
    out = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, (12, width), np.int32)
    rows = data.draw(st.permutations(range(12)))[: len(some)]
    expected = row_by_row(some, out, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_MANY_BYTES", many)
        assert guided.fill_masks(some, out, rows) == {}
        assert np.array_equal(out, expected)
        unsigned, tensor = np.zeros((12, width), np.uint32), torch.zeros((12, width), dtype=torch.int32)
        guided.fill_masks(some, unsigned)
        guided.fill_masks(some, tensor)
    expected = row_by_row(some, np.zeros((12, width), np.int32), list(range(len(some))))
    assert np.array_equal(unsigned.view(np.int32), expected)
    assert np.array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("many", [0, 1 << 60])
def test_rows_need_not_be_contiguous(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MANY_BYTES", many)
    whole = np.full((6, 20), 7, np.int32)
    some = [index.guide() for index in INDICES]
    guided.fill_masks(some, whole[::2, :10])
    assert np.array_equal(whole[::2, :10], row_by_row(some, np.zeros((3, 10), np.int32), [0, 1, 2]))
    assert (whole[1::2] == 7).all()
    assert (whole[:, 10:] == 7).all()


@pytest.mark.parametrize("many", [0, 1 << 60])
def test_the_error_of_a_row_disturbs_no_other(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MANY_BYTES", many)
    failing = guided.compile(guided.JsonSchema({"type": "array"}), BYTES, guided.Limits(growth_bytes=0)).guide()
    failing.advance(ord("["))
    with pytest.raises(guided.LimitError):
        failing.mask()
    others = [index.guide() for index in INDICES[:2]]
    out = np.full((3, 9), -1, np.int32)
    errors = guided.fill_masks([others[0], failing, others[1]], out)
    assert list(errors) == [1]
    assert isinstance(errors[1], guided.LimitError)
    assert not out[1].any()
    assert np.array_equal(out[[0, 2]], [guide.mask() for guide in others])


WRONG = [
    (lambda: ([INDICES[0].guide()], np.zeros((1, 8), np.int32)), ValueError, "a mask 9"),
    (lambda: ([INDICES[0].guide()], np.zeros(9, np.int32)), TypeError, "two dimensions"),
    (lambda: ([INDICES[0].guide()], np.zeros((1, 9), np.int64)), TypeError, "int64"),
    (lambda: ([INDICES[0].guide()], [[0] * 9]), TypeError, "not list"),
    (lambda: ([INDICES[0].guide()], np.broadcast_to(np.int32(0), (1, 9))), ValueError, "read-only"),
    (lambda: ([INDICES[0].guide()], np.zeros((9, 2), np.int32).T), ValueError, "next to each other"),
    (lambda: ([INDICES[0].guide()], np.zeros((1, 9), np.int32), [1]), ValueError, "from 0 to 0"),
    (lambda: ([INDICES[0].guide()], np.zeros((1, 9), np.int32), [-1]), ValueError, "from 0 to 0"),
    (lambda: ([INDICES[0].guide()], np.zeros((1, 9), np.int32), [0, 0]), ValueError, "1 guides"),
    (lambda: ([INDICES[0].guide()] * 2, np.zeros((2, 9), np.int32), [1, 1]), ValueError, "different"),
    (lambda: ([INDICES[0]], np.zeros((1, 9), np.int32)), TypeError, "not Index"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "kind", "message"), WRONG)
def test_wrong_arguments_are_refused(arguments, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        guided.fill_masks(*arguments())


def test_no_guides_fill_nothing() -> None:
    out = np.full((2, 9), 7, np.int32)
    assert guided.fill_masks([], out) == {}
    assert (out == 7).all()


def test_masks_are_not_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MANY_BYTES", 0)
    gc.collect()
    before = len(batch._address_of)
    index = guided.compile(guided.Regex("[x-z]{7}"), BYTES)
    guided.fill_masks([index.guide()], np.zeros((1, 9), np.int32))
    assert len(batch._address_of) == before + 1
    del index
    gc.collect()
    assert len(batch._address_of) == before


@pytest.mark.skipif(
    int(np.__version__.partition(".")[0]) < 2,
    reason="NumPy 1 takes no unsigned scalars and Python's integers together: kernels do not run as Python",
)
def test_without_a_compiler_rows_are_the_same() -> None:
    code = """
import numpy as np, guided
from guided.guide import batch
batch._MANY_BYTES = 0
words = guided.Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
guide = guided.compile(guided.Regex("[ab]"), words).guide()
out = np.zeros((1, 9), np.int32)
print(guided.fill_masks([guide], out), np.array_equal(out[0], guide.mask()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout == "{} True\n", done.stderr
