"""Texts are cut into the longest tokens; a step costs no less than nothing."""

import numpy as np
import pytest

from benchmarks.clock import median, percentiles, timed
from benchmarks.vocabularies import Cutter
from guided.vocabulary.vocabulary import Vocabulary


def test_the_longest_token_first_and_the_lowest_id_of_equals() -> None:
    cut = Cutter(Vocabulary([b"a", b"ab", b"ab", b"b", b"bc", None], eos=[5]))
    assert cut("abab") == [1, 1]
    assert cut("aab") == [0, 1]
    assert cut("abbc") == [1, 4]
    assert cut("") == []


def test_texts_without_tokens_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"no token spells b'x'"):
        Cutter(Vocabulary([b"a", None], eos=[1]))("ax")


def test_statistics() -> None:
    assert percentiles(np.array([-5.0, 1000.0, 3000.0])) == {"mean": 1.333, "p50": 1.0, "p99": 2.96, "max": 3.0}
    assert median([3.0, 1.0, 2.00049]) == 2.0
    result, cpu, wall = timed(lambda: sum(range(100_000)))
    assert result == 4_999_950_000
    assert cpu > 0
    assert wall > 0
