"""The sampler against its slow twin, against counted frequencies, and at the edges of its arguments."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import ModelError
from guided.generate.sampler import Sampler, unpack
from tests.generate.statistics import chi_square_is_plausible, probabilities
from tests.oracles import slow_masses


def packed(allowed: list[int], size: int) -> np.ndarray:
    words = [0] * -(-size // 32)
    for token in allowed:
        words[token // 32] |= 1 << token % 32
    return np.array(words, np.uint32).view(np.int32)


finite = st.floats(-30, 30, width=16)
any_logit = st.one_of(finite, finite, finite, st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, 1.0]))


@st.composite
def cases(draw: st.DrawFn, logit: st.SearchStrategy[float] = any_logit) -> tuple[np.ndarray, list[int]]:
    """Logits of any float type, and at least one allowed token whose logit is finite."""
    logits = draw(st.lists(logit, min_size=1, max_size=80))
    allowed = draw(st.sets(st.sampled_from(range(len(logits)))))
    certain = draw(st.sampled_from(range(len(logits))))
    logits[certain] = draw(finite)
    dtype = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    return np.array(logits, dtype), sorted(allowed | {certain})


temperatures = st.sampled_from([0.0, 0.01, 0.7, 1.0, 3.0])
top_ks = st.sampled_from([None, 1, 2, 5, 1000])
min_ps = st.sampled_from([None, 0.0, 0.3, 1.0])


@given(cases(), temperatures, top_ks, min_ps)
def test_probabilities_are_those_of_the_definition(
    case: tuple[np.ndarray, list[int]], temperature: float, top_k: int | None, min_p: float | None
) -> None:
    logits, allowed = case
    sampler = Sampler(temperature, top_k, None, min_p)
    found = probabilities(sampler, logits, packed(allowed, len(logits)))
    expected = slow_masses([float(x) for x in logits], allowed, temperature, top_k, min_p)
    assert found.dtype == np.float64
    assert set(np.flatnonzero(found)) == set(expected)
    assert found[list(expected)] == pytest.approx(list(expected.values()), rel=1e-9)
    assert found.sum() == pytest.approx(1)


@given(cases(), temperatures, top_ks, st.sampled_from([None, 0.05, 0.5, 0.9, 1.0]), min_ps, st.integers(0, 2**70))
def test_T1_disallowed_tokens_have_probability_zero(
    case: tuple[np.ndarray, list[int]],
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    seed: int,
) -> None:
    logits, allowed = case
    mask = packed(allowed, len(logits))
    sampler = Sampler(temperature, top_k, top_p, min_p, seed)
    masses = probabilities(sampler, logits, mask)
    refused = np.setdiff1d(np.arange(len(logits)), allowed)
    assert (masses[refused] == 0).all()
    assert (masses[~np.isfinite(logits)] == 0).all()
    for _ in range(5):
        token = sampler.sample(logits, mask)
        assert type(token) is int
        assert masses[token] > 0


@given(cases(), st.floats(0.01, 1), st.sampled_from([0.3, 1.0, 4.0]))
def test_top_p_keeps_the_fewest_tokens_that_hold_the_mass(
    case: tuple[np.ndarray, list[int]], top_p: float, temperature: float
) -> None:
    logits, allowed = case
    mask = packed(allowed, len(logits))
    whole = probabilities(Sampler(temperature), logits, mask)
    kept = set(np.flatnonzero(probabilities(Sampler(temperature, top_p=top_p), logits, mask)))
    ranked = sorted(np.flatnonzero(whole), key=lambda token: (-whole[token], token))
    assert kept == set(ranked[: len(kept)])
    assert math.fsum(whole[ranked[: len(kept)]]) >= top_p - 1e-12
    assert math.fsum(whole[ranked[: len(kept) - 1]]) < top_p + 1e-12


def test_top_p_of_a_flat_distribution_needs_more_than_the_heaviest() -> None:
    """No 1,024 tokens hold the mass, so the search has to widen."""
    logits = np.zeros(5000, np.float32)
    masses = probabilities(Sampler(1, top_p=0.49995), logits)
    assert np.flatnonzero(masses).tolist() == list(range(2500))
    assert masses[0] == pytest.approx(1 / 2500)


def test_order_mask_temperature_top_k_top_p_min_p() -> None:
    # Masses at temperature 1, of 100: token 0 is refused, then 40, 30, 20, 9, 1.
    logits = np.log(np.array([900, 40, 30, 20, 9, 1]))
    mask = packed([1, 2, 3, 4, 5], 6)

    def kept(**arguments: Any) -> list[int]:
        return np.flatnonzero(probabilities(Sampler(**{"temperature": 1, **arguments}), logits, mask)).tolist()

    assert kept() == [1, 2, 3, 4, 5]
    assert kept(top_k=3) == [1, 2, 3]
    assert kept(top_p=0.6) == [1, 2]
    # Of the three that top-k leaves, two hold 7/9 of the mass, though only 70 of the first 100.
    assert kept(top_k=3, top_p=0.75) == [1, 2]
    assert kept(top_p=0.75) == [1, 2, 3]
    assert kept(min_p=0.45) == [1, 2, 3]
    assert kept(top_p=0.6, min_p=0.8) == [1]
    # At a high temperature all are nearly alike, and three are needed instead of two.
    assert kept(temperature=100, top_p=0.6) == [1, 2, 3]


def test_ties_go_to_the_lowest_id() -> None:
    logits = np.array([1, 5, 5, 5, 2], np.float32)
    assert Sampler().sample(logits) == 1
    assert Sampler().sample(logits, packed([0, 2, 3], 5)) == 2
    assert np.flatnonzero(probabilities(Sampler(1, top_k=2), logits)).tolist() == [1, 2]
    assert np.flatnonzero(probabilities(Sampler(1, top_p=0.4), logits)).tolist() == [1, 2]


@pytest.mark.slow
def test_frequencies_are_the_probabilities() -> None:
    random = np.random.default_rng(7)
    logits = random.normal(size=200).astype(np.float32) * 3
    mask = packed(sorted(random.choice(200, 120, replace=False)), 200)
    for arguments in ({"temperature": 1.0}, {"temperature": 1.7, "top_k": 40, "top_p": 0.95, "min_p": 0.02}):
        sampler = Sampler(**arguments, seed=11)
        drawn = np.bincount([sampler.sample(logits, mask) for _ in range(20_000)], minlength=200)
        assert chi_square_is_plausible(drawn, probabilities(sampler, logits, mask))
        assert not chi_square_is_plausible(drawn, probabilities(Sampler(0.9), logits, mask))


def test_equal_seeds_give_equal_choices() -> None:
    logits = np.zeros(1000)
    first, second, other = (Sampler(1, seed=seed) for seed in (3, 3, 4))
    draws = [[sampler.sample(logits) for _ in range(20)] for sampler in (first, second, other)]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]
    assert [Sampler(1).sample(logits) for _ in range(20)] != [Sampler(1).sample(logits) for _ in range(20)]


@pytest.mark.parametrize("logits", [[math.nan] * 3, [math.inf] * 3, [-math.inf] * 3, [math.nan, 1.0, math.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_no_finite_logit_is_an_error(logits: list[float], temperature: float) -> None:
    with pytest.raises(ModelError, match="none of the 2 tokens allowed here has a finite logit"):
        Sampler(temperature).sample(np.array(logits, np.float32), packed([0, 2], 3))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_empty_mask_is_an_error(temperature: float) -> None:
    with pytest.raises(ModelError, match="none of the 0 tokens"):
        Sampler(temperature).sample(np.zeros(3), packed([], 3))


def test_extreme_temperatures_do_not_overflow() -> None:
    logits = np.array([3e38, -3e38, 1], np.float32)
    assert probabilities(Sampler(5e-324), logits).tolist() == [1, 0, 0]
    assert probabilities(Sampler(1e308), logits) == pytest.approx([1 / 3] * 3)


def test_integers_are_logits_too() -> None:
    assert Sampler().sample(np.array([1, 3, 2])) == 1


@given(st.integers(1, 200), st.data())
def test_unpack_reads_bits_from_the_least_and_none_beyond(size: int, data: st.DataObject) -> None:
    allowed = data.draw(st.sets(st.sampled_from(range(size))))
    mask = packed(sorted(allowed), size)
    mask[-1] |= np.uint32(0xFFFFFFFF << (size % 32) & 0xFFFFFFFF if size % 32 else 0).view(np.int32)
    bits = unpack(mask, size)
    assert (bits.shape, bits.dtype) == ((size,), np.bool_)
    assert set(np.flatnonzero(bits)) == allowed


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"temperature": -0.1}, ValueError, "temperature must be a finite number of at least 0, not -0.1"),
        ({"temperature": math.inf}, ValueError, "temperature must be a finite number"),
        ({"temperature": math.nan}, ValueError, "temperature must be a finite number"),
        ({"temperature": "1"}, TypeError, "temperature must be a number, not str"),
        ({"temperature": True}, TypeError, "temperature must be a number, not bool"),
        ({"temperature": None}, TypeError, "temperature must be a number, not NoneType"),
        ({"top_k": 0}, ValueError, "top_k must be at least 1, not 0"),
        ({"top_k": 1.5}, TypeError, "top_k must be an int, not float"),
        ({"top_p": 0}, ValueError, "top_p must be above 0 and at most 1, not 0"),
        ({"top_p": 1.1}, ValueError, "top_p must be above 0 and at most 1, not 1.1"),
        ({"top_p": math.nan}, ValueError, "top_p must be above 0"),
        ({"min_p": -0.5}, ValueError, "min_p must be from 0 to 1, not -0.5"),
        ({"min_p": [1]}, TypeError, "min_p must be a number, not list"),
        ({"seed": -1}, ValueError, "seed must be at least 0, not -1"),
        ({"seed": "x"}, TypeError, "seed must be an int, not str"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        Sampler(**arguments)
    assert message in str(caught.value)


def test_numpy_numbers_are_numbers() -> None:
    sampler = Sampler(np.float32(0.5), top_k=np.int64(3), seed=np.uint8(1))
    assert (sampler.temperature, sampler.top_k, sampler.seed) == (0.5, 3, 1)
