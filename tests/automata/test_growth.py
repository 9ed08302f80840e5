"""Arrays whose memory is found where it is touched."""

import errno
import mmap
import pickle

import numpy as np
import pytest

from guided.automata import growth


@pytest.mark.parametrize("rows", [3, 5_000])
def test_room_is_an_array_like_any_other(rows: int) -> None:
    found = growth.room((rows, 256), np.int32)
    found[:] = np.arange(rows)[:, None]
    assert found.shape == (rows, 256)
    assert np.array_equal(pickle.loads(pickle.dumps(found)), np.arange(rows, dtype=np.int32)[:, None].repeat(256, 1))


def test_a_lack_of_memory_is_that_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert growth.room((3, 256), np.int32).shape == (3, 256)
    with pytest.raises(MemoryError, match="5,120,000 bytes"):
        growth.room((5_000, 256), np.int32)
