"""Index files: the same bytes for the same input, and a typed error for every other."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.engine.files import read_index_file
from guided.index.storage import FORMAT_VERSION, read_arrays, write_arrays
from tests.profiles import examples

BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [b"ab", None], eos=[257])
PATTERN = r"[ab]{1,3}|é+"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("files") / "a.index"
    guided.compile(guided.Regex(PATTERN), BYTES).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("mmap", [False, True])
def test_an_index_is_loaded_completely(tmp_path, mmap: bool) -> None:
    index = guided.compile(guided.Regex(PATTERN), BYTES)
    index.save(tmp_path / "a.index")
    again = guided.load_index(tmp_path / "a.index", BYTES, mmap=mmap)
    assert again.spec_fingerprint == index.spec_fingerprint
    assert again.n_states == index.n_states
    for state in range(index.n_states + 1):
        assert np.array_equal(again.allowed(state), index.allowed(state))
        for token in range(len(BYTES)):
            assert again.next(state, token) == index.next(state, token)
    guide = again.guide()
    assert guide.advance_many([257]) == 0
    assert guide.advance_many([256, 257]) == 2


@pytest.mark.slow
def test_the_same_index_gives_the_same_bytes_in_every_process(tmp_path) -> None:
    code = (
        "import sys, guided\n"
        "v = guided.Vocabulary([bytes([b]) for b in range(256)] + [b'ab', None], eos=[257])\n"
        f"guided.compile(guided.Regex({PATTERN!r}), v).save(sys.argv[1])\n"
    )
    contents = set()
    for seed in ("0", "1", "77"):
        path = tmp_path / seed
        subprocess.run(
            [sys.executable, "-c", code, str(path)], check=True, env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"}
        )
        contents.add(path.read_bytes())
    assert len(contents) == 1


@settings(max_examples=examples(400))
@given(data=st.data())
def test_every_damage_is_noticed(saved: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    damaged = bytearray(saved)
    kind = data.draw(st.sampled_from(["flip", "cut", "grow", "zero", "swap"]))
    place = data.draw(st.integers(0, len(saved) - 1))
    if kind == "flip":
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "cut":
        del damaged[place:]
    elif kind == "grow":
        damaged[place:place] = data.draw(st.binary(min_size=1, max_size=70))
    elif kind == "zero":
        damaged[place : place + 64] = bytes(len(damaged[place : place + 64]))
    else:
        other = data.draw(st.integers(0, len(saved) - 1))
        damaged[place], damaged[other] = damaged[other], damaged[place]
    path = tmp_path_factory.getbasetemp() / "damaged.index"
    path.write_bytes(damaged)
    if bytes(damaged) == saved:
        guided.load_index(path, BYTES)
    else:
        with pytest.raises(guided.IndexFormatError):
            guided.load_index(path, BYTES)


@pytest.mark.slow
def test_flips_and_cuts_by_the_thousand_are_noticed(saved: bytes, tmp_path) -> None:
    random, path = np.random.default_rng(1), tmp_path / "damaged.index"
    whole = guided.compile(guided.Regex(PATTERN), BYTES)
    for place in range(0, len(saved), 3):
        flipped = bytearray(saved)
        flipped[place] ^= 1 << int(random.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(guided.IndexFormatError):
            guided.load_index(path, BYTES)
        with pytest.raises(guided.IndexFormatError):
            read_index_file(path)
        path.write_bytes(saved[:place])
        for mmap in (False, True):
            with pytest.raises(guided.IndexFormatError):
                guided.load_index(path, BYTES, mmap=mmap)
    path.write_bytes(saved)
    assert guided.load_index(path, BYTES).spec_fingerprint == whole.spec_fingerprint


def test_a_damaged_header_is_noticed_when_mapped(saved: bytes, tmp_path) -> None:
    length = int.from_bytes(saved[12:16], "little")
    path = tmp_path / "damaged.index"
    for place in range(64 + length):
        flipped = bytearray(saved)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(guided.IndexFormatError):
            guided.load_index(path, BYTES, mmap=True)


def resident(path: Path) -> int:
    """Bytes of a mapped file that this process has in its memory."""
    maps = Path("/proc/self/smaps").read_text().split(str(path))
    return sum(1024 * int(re.search(r"^Rss: +(\d+) kB", entry, flags=re.MULTILINE)[1]) for entry in maps[1:])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="asks Linux what is in memory")
def test_a_large_file_is_mapped_without_being_read(tmp_path) -> None:
    path = tmp_path / "large.index"
    guided.compile(guided.Regex("[a-z]{0,200000}x"), BYTES).save(path)
    size = path.stat().st_size
    assert size > 8_000_000
    index = guided.load_index(path, BYTES, mmap=True)
    opened = resident(path)
    assert opened < size / 20, "the header, and pages that the system reads ahead"
    guide = index.guide()
    for token in (b"a"[0], b"b"[0]):
        guide.mask()
        guide.advance(token)
    assert resident(path) < size / 4
    assert int(np.asarray(index.tables.automaton.table).sum(dtype=np.int64)) > 0
    assert resident(path) > opened + size / 8, "what is read is in memory: the measure measures"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("row_targets", 10_000),
        ("row_functions", -1),
        ("token_function", 1 << 30),
        ("table", 99),
        ("classes", 200),
        ("mask_of", -2),
        ("mask_state", 10_000),
        ("row_indptr", 7),
        ("function_size", 0),
        ("function_size", 7),
    ],
)
def test_tables_that_point_outside_are_refused_with_matching_digests(tmp_path, name: str, value: int) -> None:
    path = tmp_path / "forged.index"
    guided.compile(guided.Regex(PATTERN), BYTES).save(path)
    fields, arrays = read_arrays(path)
    forged = arrays[name].copy()
    forged.flat[0] = value
    write_arrays(path, fields, arrays | {name: forged})
    with pytest.raises(guided.IndexFormatError, match="contain numbers out of range"):
        guided.load_index(path, BYTES)


def test_a_header_that_nests_is_damage(tmp_path, saved: bytes) -> None:
    header = b"[" * 64_000
    size = (64 + len(header)).to_bytes(8, "little")
    front = saved[:12] + len(header).to_bytes(4, "little") + size + saved[24:32]
    (tmp_path / "deep.index").write_bytes(front + hashlib.sha256(front + header).digest() + header)
    with pytest.raises(guided.IndexFormatError, match="its header is not JSON"):
        guided.load_index(tmp_path / "deep.index", BYTES)


def test_errors_give_advice(tmp_path, saved: bytes) -> None:
    path = tmp_path / "a.index"
    with pytest.raises(guided.IndexFormatError, match=r"cannot be read: No such file"):
        guided.load_index(path, BYTES)
    with pytest.raises(guided.IndexFormatError, match="is a folder; pass an index file"):
        guided.load_index(tmp_path, BYTES)
    path.write_bytes(b"")
    for mmap in (False, True):
        with pytest.raises(guided.IndexFormatError, match="not an index file: it is empty"):
            guided.load_index(path, BYTES, mmap=mmap)
    path.write_bytes(saved[:8] + (FORMAT_VERSION + 1).to_bytes(4, "little") + saved[12:])
    message = (
        f"version {FORMAT_VERSION + 1} of the format, and this release reads version {FORMAT_VERSION}: compile it again"
    )
    with pytest.raises(guided.IndexFormatError, match=message):
        guided.load_index(path, BYTES)
    path.write_bytes(saved)
    other = guided.Vocabulary([b"a", b"b", None], eos=[2])
    with pytest.raises(
        guided.IndexFormatError, match=r"another vocabulary .*258 tokens.* than the one given .*3 tokens.*: compile it"
    ):
        guided.load_index(path, other)
    with pytest.raises(TypeError, match="expected a Vocabulary, not list"):
        guided.load_index(path, [b"a"])
    with pytest.raises(guided.IndexFormatError, match="cannot be written"):
        guided.compile(guided.Regex("a"), BYTES).save(tmp_path / "missing" / "a.index")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.index"
    index = guided.compile(guided.Regex("a"), BYTES)
    index.save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(guided.IndexFormatError, match="No space left on device"):
        guided.compile(guided.Regex("b"), BYTES).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", [1, True, b"index", None])
def test_a_path_is_not_an_open_file(path: object) -> None:
    """Python takes an int for the number of an open file, which is not ours to close."""
    with pytest.raises(TypeError, match="a path must be a str or a Path"):
        guided.load_index(path, BYTES)  # type: ignore[arg-type]
