"""Masks on torch's logits: every store, type, form of mask and way of writing against ``masked_fill``."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guided.integrations import masking
from guided.integrations.masking import DeviceMasks, HostMasks, MaskStore, mask_store

CPU = torch.device("cpu")
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
SHARES = [0.0, 0.002, 0.02, 0.3, 0.5, 0.97, 0.999, 1.0]


def random_mask(random: np.random.Generator, size: int, share: float) -> np.ndarray:
    """A mask over ``size`` tokens, of which about a share is allowed."""
    bits = np.zeros(-(-size // 32) * 32, np.bool_)
    bits[:size] = random.random(size) < share
    words = np.packbits(bits, bitorder="little").view(np.int32)
    words.flags.writeable = False
    return words


def odd_scores(random: np.random.Generator, rows: int, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Logits with everything that floats can be."""
    scores = torch.from_numpy(random.normal(size=(rows, width))).to(dtype)
    for place, value in enumerate((torch.nan, torch.inf, -torch.inf, -0.0, 0.0)):
        scores[:, place::11] = value
    return scores


def definition(scores: torch.Tensor, masks: Sequence[np.ndarray]) -> torch.Tensor:
    allowed = torch.zeros(scores.shape, dtype=torch.bool)
    for row, mask in enumerate(masks):
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: scores.shape[1]]
        allowed[row, : len(bits)] = torch.from_numpy(bits == 1)
    return scores.masked_fill(~allowed, -torch.inf)


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return torch.equal(left.flatten().view(torch.uint8), right.flatten().view(torch.uint8))


def check(store: MaskStore, scores: torch.Tensor, masks: Sequence[np.ndarray]) -> None:
    expected = definition(scores.cpu(), masks).to(scores.device)
    before = scores.clone()
    assert same_bits(store.apply(scores, masks), expected)
    assert same_bits(scores, before)
    elsewhere = torch.empty_like(scores)
    assert store.apply(scores, masks, out=elsewhere) is elsewhere
    assert same_bits(elsewhere, expected)
    assert store.apply(before, masks, out=before) is before
    assert same_bits(before, expected)


@pytest.mark.parametrize("kind", [HostMasks, DeviceMasks])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 31, 32, 33, 500, 2_048])
def test_every_store_is_the_definition(kind: type[MaskStore], dtype: torch.dtype, width: int) -> None:
    random = np.random.default_rng(width)
    store = kind(width, dtype, CPU)
    masks = [random_mask(random, max(1, width - padding), share) for share in SHARES for padding in (0, 40)]
    for _ in range(2):  # made, then found
        check(store, odd_scores(random, len(masks), width, dtype), masks)


@pytest.mark.parametrize("kind", [HostMasks, DeviceMasks])
@pytest.mark.parametrize(("width", "token"), [(30, 31), (32, 32), (33, 40), (64, 200)])
def test_logits_narrower_than_the_vocabulary_are_refused(kind: type[MaskStore], width: int, token: int) -> None:
    """They were all minus infinity, and the distribution NaN."""
    mask = np.zeros(8, np.int32)
    mask[token // 32] = np.uint32(1 << token % 32).astype(np.int32)
    scores = torch.zeros((1, width))
    with pytest.raises(ValueError, match=f"the logits have {width} columns"):
        kind(width, torch.float32, CPU).apply(scores, [mask])
    assert not scores.any()
    # Padding of the vocabulary is allowed.
    mask[:] = 0
    mask[0] = 2
    assert torch.isfinite(kind(width, torch.float32, CPU).apply(scores, [mask])).sum() == 1
    # So is a row without a constraint, of which all bits are set.
    mask[:] = -1
    assert torch.isfinite(kind(width, torch.float32, CPU).apply(scores, [mask])).all()


@given(st.data())
def test_rows_are_distinguished_and_old_masks_may_be_dropped(data: st.DataObject) -> None:
    """Few bytes, so that masks come and go, in calls that repeat them in any order."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    width = data.draw(st.sampled_from([40, 100, 321]))
    masks = [random_mask(random, width, data.draw(st.sampled_from(SHARES))) for _ in range(6)]
    stores = [HostMasks(width, torch.float32, CPU), DeviceMasks(width, torch.float32, CPU, max_bytes=100)]
    for _ in range(data.draw(st.integers(1, 5))):
        rows = [masks[place] for place in data.draw(st.lists(st.integers(0, 5), max_size=8))]
        scores = odd_scores(random, len(rows), width, torch.float32)
        for store in stores:
            check(store, scores, rows)


@pytest.mark.parametrize("kind", [HostMasks, DeviceMasks])
def test_rows_need_not_be_contiguous_in_memory(kind: type[MaskStore]) -> None:
    """The last position of a batch of logits, as models give it; and columns with others between them."""
    random = np.random.default_rng(0)
    masks = [random_mask(random, 64, share) for share in (0.01, 0.5, 0.99)]
    whole = odd_scores(random, 3 * 5, 128, torch.float32).view(3, 5, 128)
    for scores in (whole[:, -1, :64], whole[:, 2, ::2]):
        check(kind(64, torch.float32, CPU), scores.clone(), masks)
        expected = definition(scores, masks)
        assert same_bits(kind(64, torch.float32, CPU).apply(scores, masks).contiguous(), expected.contiguous())
        kind(64, torch.float32, CPU).apply(scores, masks, out=scores)
        assert torch.equal(scores.nan_to_num(7), expected.nan_to_num(7))


@pytest.mark.parametrize("kind", [HostMasks, DeviceMasks])
def test_a_store_serves_inference_mode_and_the_mode_outside(kind: type[MaskStore]) -> None:
    random = np.random.default_rng(0)
    store = kind(2_000, torch.float32, CPU)
    masks = [[random_mask(random, 2_000, share) for share in SHARES] for _ in range(5)]
    for place, rows in enumerate(masks):
        with torch.inference_mode(place % 2 == 0):
            scores = odd_scores(random, len(rows), 2_000, torch.float32)
            check(store, scores, rows)
            check(store, scores, masks[0])


def test_the_store_is_that_of_the_device() -> None:
    assert type(mask_store(torch.zeros(2, 5))) is HostMasks
    assert mask_store(torch.zeros(2, 5)).fits(torch.ones(7, 5))
    assert not mask_store(torch.zeros(2, 5)).fits(torch.zeros(2, 6))
    assert not mask_store(torch.zeros(2, 5)).fits(torch.zeros(2, 5, dtype=torch.float16))


def test_wrong_arguments_are_refused() -> None:
    store = HostMasks(40, torch.float32, CPU)
    mask = random_mask(np.random.default_rng(0), 40, 0.5)
    with pytest.raises(TypeError, match=r"logits must be floats of 2, 4 or 8 bytes, not torch\.int64"):
        HostMasks(40, torch.int64, CPU)
    for scores in (torch.zeros(1, 41), torch.zeros(2, 40), torch.zeros(40), torch.zeros(1, 40, dtype=torch.float64)):
        with pytest.raises(ValueError, match=r"this store takes a torch\.float32 tensor of shape \(1, 40\) on cpu"):
            store.apply(scores, [mask])
    with pytest.raises(ValueError, match="out must have the shape, the type and the device of the scores"):
        store.apply(torch.zeros(1, 40), [mask], out=torch.zeros(2, 40))


@pytest.mark.slow
def test_neither_numba_nor_transformers_is_needed() -> None:
    program = "import sys, guided.integrations.masking; print({'numba', 'transformers', 'triton'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here, on which triton works")
def test_a_kernel_that_fails_is_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="guided: masks are applied without triton, which fails here: "):
        assert not masking._kernel_works.__wrapped__()


def check_the_kernel(device: torch.device, dtypes: Sequence[torch.dtype], widths: Sequence[int]) -> None:
    """Row numbers as arguments and in a tensor, too large ones among them; memory that begins anywhere; new masks, and old ones gone."""
    random = np.random.default_rng(0)
    for dtype in dtypes:
        for width in widths:
            masks = [random_mask(random, max(1, width - padding), share) for share in SHARES for padding in (0, 40)]
            store = DeviceMasks(width, dtype, device, max_bytes=4 * 18 * -(-width // 32), fused=True)
            for begin, height in ((0, 1), (3, 2), (0, 4), (0, 17), (3, 64), (0, 65)):
                scores = odd_scores(random, height, width + 8, dtype).to(device)
                rows = [random_mask(random, width, 0.5), *5 * masks][begin : begin + height]
                check(store, scores[:, :width].contiguous(), rows)
                for view in (scores[:, 3 : width + 3], scores[:, 8:]):
                    expected = definition(view.cpu(), rows)
                    assert same_bits(store.apply(view, rows).cpu().contiguous(), expected.contiguous())
                    assert same_bits(store.apply(view, rows, out=view).cpu().contiguous(), expected.contiguous())
    many = [np.array([place], np.int32) for place in range(33_000)]
    store = DeviceMasks(32, torch.float32, device, fused=True)
    store._rows.rows(many)
    for rows in (many[-3:], many[:2], many[32_766:32_769]):
        check(store, odd_scores(random, len(rows), 32, torch.float32).to(device), rows)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_is_the_definition() -> None:
    device = torch.zeros(1, device="cuda").device
    check_the_kernel(device, DTYPES, [1, 33, 512, 5_000])
    random = np.random.default_rng(0)
    for dtype in DTYPES:
        store = DeviceMasks(2_000, dtype, device, max_bytes=2_000, fused=False)
        for height in (1, 8, 3):
            masks = [random_mask(random, 2_000, share) for share in SHARES[:height]]
            check(store, odd_scores(random, height, 2_000, dtype).to(device), masks)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_the_fused_kernel_is_the_definition() -> None:
    """By triton's interpreter, which has to be chosen before triton is imported."""
    program = """
from tests.integrations.test_masking import *
check_the_kernel(CPU, DTYPES[:2], [33, 4_200])
masking._try_kernel(CPU)
print("fine")
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
