"""Files that somebody forged, and places that are no files: a typed error within a second and 100 MB, or an index that works."""

import contextlib
import dataclasses
import json
import os
import random
import signal
import tracemalloc
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guided
from guided.calls.files import load_index, read_index_file
from guided.engine.index import Index
from guided.engine.specs import STORED_SPECS
from guided.errors import GrammarError, GuidedError, IndexFormatError, SchemaError, VocabularyError
from guided.files import gunzip, pack, unpack
from guided.index.storage import FORMAT_VERSION, read_arrays, write_arrays
from guided.limits import Limits

TOKENS = guided.Vocabulary([*(bytes([value]) for value in range(256)), b'{"', b'":', b"ab", None], eos=[259], size=300)
PERSON = {
    "type": "object",
    "properties": {"a": {"enum": [1, "x"]}, "b": {"type": "array", "items": {"type": "number"}}},
}
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": PERSON}, "required": ["a"]}}
MANY = [{"name": f"tool_{number}", "parameters": PERSON} for number in range(120)]
SLOW_TO_WALK = {"grammar", "inventory", "marked grammar"}
GRAMMAR = 'start: "(" start ")" | /[a-c]+/ ("," NUMBER)*\nNUMBER: /[0-9]+/\n%ignore " "\n'

SPECS: dict[str, Callable[[], Any]] = {
    "regular": lambda: guided.Regex("[ab]{1,3}|é+"),
    "json schema": lambda: guided.JsonSchema(PERSON),
    "grammar": lambda: guided.Grammar(GRAMMAR),
    "template": lambda: guided.Tools([TOOL, now]),
    "inventory": lambda: guided.Tools(MANY),
    "marked grammar": lambda: guided.Tools([lambda_tool()], engine="lalr"),
    "composition": lambda: (
        guided.FreeText(stop="!", max_tokens=5)
        + guided.JsonSchema(PERSON).named("person")
        + guided.Repeat(guided.Regex("[ab]+") | guided.Choice(["x", "y"]), 0, 2, ",")
        + guided.Maybe(guided.Tools([lambda_tool()]))
    ),
}

LARGEST = {field.name: field.metadata.get("most", 10**15) for field in dataclasses.fields(Limits)}


def now() -> str:
    return "noon"


def lambda_tool() -> guided.Tool:
    return guided.Tool({"name": "g", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}})


@contextlib.contextmanager
def bounded(n_bytes: float = 100e6) -> Iterator[None]:
    """Fail where the block takes more memory, and where it does not end."""

    def late(*_: Any) -> None:
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Fields and arrays of a file of each kind."""
    found = {}
    for kind, spec in SPECS.items():
        index = guided.compile(spec(), TOKENS)
        index.explore(25)
        path = tmp_path_factory.mktemp("made") / "a.index"
        index.save(path)
        fields, arrays = read_arrays(path)
        assert fields["kind"] == kind
        # A composition is stored without the states that were explored.
        assert load_index(path, TOKENS).n_states == (2 if kind == "composition" else index.n_states)
        found[kind] = fields, arrays
    assert found.keys() >= STORED_SPECS.keys()
    return found


def readers(suffix: str = "") -> list[tuple[str, Callable[[Path], Any], type[Exception]]]:
    return [
        ("load_index", lambda path: load_index(path, TOKENS), IndexFormatError),
        ("mapped", lambda path: load_index(path, TOKENS, mmap=True), IndexFormatError),
        ("read_index_file", read_index_file, IndexFormatError),
        ("vocabulary", guided.Vocabulary.from_file, VocabularyError),
        ("read_tools", guided.read_tools, OSError),
        ("schema", guided.JsonSchema, SchemaError),
        ("grammar", guided.Grammar, GrammarError),
        ("format", lambda path: guided.Tools([TOOL], format=path), OSError),
    ]


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def linked_fifo(path: Path) -> Path:
    os.mkfifo(path.with_suffix(".fifo"))
    path.symlink_to(path.with_suffix(".fifo"))
    return path


PLACES: dict[str, Callable[[Path], Path]] = {
    "fifo": fifo,
    "link to a fifo": linked_fifo,
    "zero": lambda _: Path("/dev/zero"),
    "random": lambda _: Path("/dev/urandom"),
    "null": lambda _: Path("/dev/null"),
    "terminal": lambda _: Path("/dev/tty"),
    "folder": lambda path: path.parent,
    "missing": lambda path: path,
    "zero byte": lambda path: Path(f"{path}\0x"),
    "surrogate": lambda path: Path(f"{path}\ud8ff"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs and devices")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("reader", "error"), [entry[1:] for entry in readers()], ids=[entry[0] for entry in readers()])
def test_irregular_files_are_refused_unread(
    place: str, reader: Callable[[Path], Any], error: type[Exception], tmp_path: Path
) -> None:
    path = PLACES[place](tmp_path / "a")
    with bounded(), pytest.raises(error):
        reader(path)


def sparse(path: Path, front: bytes, size: int) -> Path:
    with path.open("wb") as file:
        file.write(front)
        file.truncate(size)
    return path


@pytest.mark.parametrize("size", [10_000, 30_000_000, 3_000_000_000_000])
@pytest.mark.parametrize(
    "front",
    [b"", b"\x89GIDX\r\n\x1a\x02", b"{", b'{"model": [', b"IQ== 0\n", b"\n", b"GGUF\x03", b"\x1f\x8b"],
    ids=range(8),
)
@pytest.mark.parametrize(
    ("reader", "error"), [entry[1:] for entry in readers()[:7]], ids=[entry[0] for entry in readers()[:7]]
)
def test_sparse_files_are_refused_early(
    front: bytes, size: int, reader: Callable[[Path], Any], error: type[Exception], tmp_path: Path
) -> None:
    path = sparse(tmp_path / "a", front, size)
    with bounded(), pytest.raises((error, SchemaError)):
        reader(path)


@pytest.mark.parametrize("n_bytes", [10**8, 10**9])
def test_a_sparse_file_with_a_sealed_header_is_refused_without_memory(n_bytes: int, made: Any, tmp_path: Path) -> None:
    """The header is right, and says that the file holds an array of zeros; only its checksum does not fit."""
    fields, arrays = made["regular"]
    write_arrays(
        tmp_path / "a", fields, {"table": np.zeros((n_bytes // 1000, 250), np.int32)} if n_bytes < 10**9 else arrays
    )
    if n_bytes >= 10**9:
        content = (tmp_path / "a").read_bytes()
        sparse(tmp_path / "a", content, n_bytes)
    for mmap in (False, True):
        with bounded(), pytest.raises(IndexFormatError):
            load_index(tmp_path / "a", TOKENS, mmap=mmap)


HUGE = [10**30, 2**63, 2**62, 2**31, -1, -(10**30), True, None, 1.5, "3", [], {}, 10**400]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("value", HUGE, ids=range(len(HUGE)))
@pytest.mark.parametrize("where", ["shape", "second", "offset", "shapes", "dtype", "name", "entry", "table"])
def test_a_forged_table_of_arrays_is_refused(where: str, value: Any, mmap: bool, made: Any, tmp_path: Path) -> None:
    fields, arrays = made["regular"]
    write_arrays(tmp_path / "a", fields, arrays)
    content = (tmp_path / "a").read_bytes()
    header = header_of(content)
    entry = header["arrays"][0]
    match where:
        case "shape":
            entry["shape"][0] = value
        case "second":
            entry["shape"] = [0, value]
        case "shapes":
            entry["shape"] = value
        case "entry":
            header["arrays"][0] = value
        case "table":
            header["arrays"] = value
        case _:
            entry[where] = value
    (tmp_path / "a").write_bytes(with_header(content, header))
    with bounded(), pytest.raises(IndexFormatError):
        load_index(tmp_path / "a", TOKENS, mmap=mmap)


def header_of(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(content[64 : 64 + int.from_bytes(content[12:16], "little")])
    return found


def with_header(content: bytes, header: Any) -> bytes:
    """The same data behind another header, sealed anew."""
    import hashlib

    begin = -(-(64 + int.from_bytes(content[12:16], "little")) // 64) * 64
    text = json.dumps(header).encode()
    padded = text.ljust(-(-(64 + len(text)) // 64) * 64 - 64, b"\0")
    size = 64 + len(padded) + len(content) - begin
    front = content[:8] + FORMAT_VERSION.to_bytes(4, "little") + len(text).to_bytes(4, "little")
    front += size.to_bytes(8, "little") + bytes(8)
    return front + hashlib.sha256(front + padded).digest() + padded + content[begin:]


def test_a_header_is_small(made: Any, tmp_path: Path) -> None:
    fields, arrays = made["regular"]
    with pytest.raises(IndexFormatError, match="its header has"):
        write_arrays(tmp_path / "a", {**fields, "notes": ["x" * (1 << 21)]}, arrays)
    write_arrays(tmp_path / "a", fields, arrays)
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(with_header(content, {**header_of(content), "notes": [[]] * 10**6}))
    with bounded(), pytest.raises(IndexFormatError, match="its header has"):
        load_index(tmp_path / "a", TOKENS)


@pytest.mark.parametrize("kind", ["json schema", "grammar", "template", "inventory", "marked grammar"])
def test_limits_of_a_file_never_exceed_those_of_its_reader(kind: str, made: Any, tmp_path: Path) -> None:
    fields, arrays = made[kind]
    write_arrays(tmp_path / "a", {**fields, "limits": LARGEST}, arrays)
    for limits in (Limits(), Limits(states=777_777, index_bytes=10**8)):
        index = load_index(tmp_path / "a", TOKENS, limits=limits)
        assert index.origin is not None
        assert index.origin.limits == limits
        assert index.tables._limits == limits
        assert read_index_file(tmp_path / "a", limits).origin.limits == limits
    smaller = {**LARGEST, "states": 1234}
    write_arrays(tmp_path / "a", {**fields, "limits": smaller}, arrays)
    assert load_index(tmp_path / "a", TOKENS).origin.limits == Limits(states=1234)
    with pytest.raises(IndexFormatError, match="pass larger limits if you trust the file"):
        load_index(tmp_path / "a", TOKENS, limits=Limits(states=5))
    with pytest.raises(TypeError, match="limits must be a Limits"):
        load_index(tmp_path / "a", TOKENS, limits=5)  # type: ignore[arg-type]


def test_limits_hold_for_tables_without_a_stack(made: Any, tmp_path: Path) -> None:
    write_arrays(tmp_path / "a", *made["regular"])
    for limits in (Limits(states=3), Limits(transitions=3), Limits(tokens=3), Limits(index_bytes=9, mask_bytes=9)):
        for mmap in (False, True):
            with pytest.raises(IndexFormatError, match=r"allowed|from 0 to 3"):
                load_index(tmp_path / "a", TOKENS, mmap=mmap, limits=limits)


def test_a_hostile_schema_in_a_small_file_is_held_by_the_limits(made: Any, tmp_path: Path) -> None:
    spec = guided.JsonSchema({"pattern": "(a|b)*a(a|b){25}", "type": "string"})
    fields, _ = made["json schema"]
    data = np.frombuffer(spec.data.encode(), np.uint8)
    write_arrays(tmp_path / "a", {**fields, "spec": spec.fingerprint, "limits": LARGEST}, {"data": data})
    assert (tmp_path / "a").stat().st_size < 3000
    with bounded(1e9), contextlib.suppress(GuidedError):
        walk(load_index(tmp_path / "a", TOKENS, limits=Limits(steps=100_000, states=10_000)), random.Random(1))


def test_compressed_parts_do_not_grow_beyond_their_bound(made: Any, tmp_path: Path) -> None:
    bomb = pack(bytes(10**7), 9)
    with bounded(), pytest.raises(ValueError, match="decompresses to more than"):
        unpack(bomb, 10**6)
    assert unpack(pack(b"abc"), 3) == b"abc"
    for wrong in ("!", "AAAA", pack(b"abc")[:-4]):
        with pytest.raises(ValueError, match=r"damaged|base64|padding|Incorrect"):
            unpack(wrong, 100)
    packer = zlib.compressobj(9, wbits=31)
    data = packer.compress(bytes(2 * 10**8)) + packer.flush()
    with bounded(), pytest.raises(ValueError, match="decompresses to more than"):
        gunzip(data, 10**6)
    (tmp_path / "tools.json.gz").write_bytes(data)
    with bounded(), pytest.raises(SchemaError, match="decompresses to more than"):
        guided.read_tools(tmp_path / "tools.json.gz")
    fields, arrays = made["inventory"]
    write_arrays(tmp_path / "a", {**fields}, {**arrays, "data": np.frombuffer(bomb.encode(), np.uint8)})
    with bounded(), pytest.raises(IndexFormatError, match="decompresses to more than"):
        load_index(tmp_path / "a", TOKENS, limits=Limits(file_bytes=10**6))


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("masks", (0, -1), -1),  # bits beyond the last token
        ("masks", (0, 8), 1 << 2),  # id 258 has bytes, 259 ends the text, 260 and on are padding
        ("masks", (0, 8), 1 << 4),
        ("masks", (0, slice(None)), 0),
        ("mask_of", 0, -2),
        ("mask_of", 1, 0),
    ],
)
def test_forged_masks_are_refused(name: str, at: Any, value: int, made: Any, tmp_path: Path) -> None:
    fields, arrays = made["json schema"]
    forged = arrays[name].copy()
    if value > 0 and name == "masks":
        forged[at] |= value
    else:
        forged[at] = value
    write_arrays(tmp_path / "a", fields, {**arrays, name: forged})
    if (name, value) == ("masks", 1 << 2):
        walk(load_index(tmp_path / "a", TOKENS), random.Random(1))
    else:
        with pytest.raises(IndexFormatError, match="damaged"):
            load_index(tmp_path / "a", TOKENS)


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("distance", 0, -1), ("distance", 0, 10**6), ("distance", 1, 7), ("accepting", 0, True), ("row_functions", 0, 1),
        ("mask_of", 1, 0),
    ],
)  # fmt: skip
def test_tables_that_contradict_each_other_are_refused(
    name: str, at: int, value: int, made: Any, tmp_path: Path
) -> None:
    fields, arrays = made["regular"]
    forged = arrays[name].copy()
    assert forged[at] != value
    forged[at] = value
    write_arrays(tmp_path / "a", fields, {**arrays, name: forged})
    with pytest.raises(IndexFormatError, match="contain numbers out of range"):
        load_index(tmp_path / "a", TOKENS)


def walk(index: Index, draw: random.Random) -> None:
    """Use an index as a generator would; only typed errors may leave it."""
    with contextlib.suppress(GuidedError):
        index.accepts(bytes(draw.choices(b'{"ab1[](,) :}', k=8)))
    for _ in range(3):
        with contextlib.suppress(GuidedError):
            guide = index.guide()
            for _ in range(12):
                mask = guide.mask()
                assert mask.shape == ((TOKENS.size + 31) // 32,)
                allowed = index.allowed(guide.state).tolist()
                assert all(token < TOKENS.size for token in allowed)
                index.remaining(guide.state)
                index.mask_within(guide.state, draw.randrange(1, 12))
                index.forced(guide.state)
                index.explain(guide.state, draw.randrange(TOKENS.size))
                if not allowed or guide.is_finished:
                    break
                guide.advance(draw.choice(allowed))


VALUES = [
    *HUGE,
    "",
    "\ud800",
    "x" * 300,
    [None],
    [[]],
    {"a": 1},
    0,
    1,
    2,
    5,
    255,
    256,
    False,
    [1, 2, 3],
    -2,
    1e308,
    {"\0decimal": "x"},
]


def mutated(value: Any, draw: random.Random) -> Any:
    """A JSON value with one place changed."""
    if isinstance(value, dict | list) and value and draw.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.choice(keys)
        copied = dict(value) if isinstance(value, dict) else list(value)
        kind = draw.random()
        if kind < 0.1:
            del copied[key]
        elif kind < 0.2 and isinstance(copied, list):
            copied.insert(key, draw.choice([*VALUES, value[key]]))
        else:
            copied[key] = mutated(value[key], draw)
        return copied
    if isinstance(value, str) and draw.random() < 0.5:
        return mutated_text(value, draw)
    if type(value) is int and draw.random() < 0.5:
        return value + draw.choice([-1, 1, 2, 100, -100])
    return draw.choice(VALUES)


def mutated_text(text: str, draw: random.Random) -> str:
    """A text with a place changed; what is inside compressed data or JSON is changed there."""
    with contextlib.suppress(ValueError, zlib.error):
        inner = zlib.decompress(b64decode(text, validate=True))
        with contextlib.suppress(ValueError):
            return pack(json.dumps(mutated(json.loads(inner), draw)).encode())
        words = (
            np.frombuffer(inner, "<i4").copy() if len(inner) % 4 == 0 and inner else np.frombuffer(inner, "u1").copy()
        )
        return pack(mutated_array(words, draw).tobytes())
    with contextlib.suppress(ValueError):
        if text[:1] in ("{", "["):
            return json.dumps(mutated(json.loads(text), draw))
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(["", "\0", "é", '"', "9", "$", "(", "\ud800"]) + text[at + draw.randrange(2) :]


def mutated_array(array: Any, draw: random.Random) -> Any:
    copied = array.copy()
    kind = draw.random()
    if kind < 0.75 and copied.size:
        for _ in range(draw.choice([1, 1, 2, 5])):
            at = draw.randrange(copied.size)
            low, high = (0, 1) if copied.dtype == np.bool_ else (np.iinfo(copied.dtype).min, np.iinfo(copied.dtype).max)
            near = int(copied.flat[at]) + draw.choice([-1, 1, 2, 7])
            copied.flat[at] = min(max(draw.choice([near, near, -1, -2, 0, 1, 31, 1 << 20, low, high]), low), high)
        return copied
    if kind < 0.85:
        return copied[: draw.randrange(len(copied) + 1)]
    if kind < 0.95:
        return np.concatenate([copied, copied[: draw.randrange(len(copied) + 1)]])
    return copied.astype(draw.choice([np.int32, np.int64, np.uint8, np.bool_]))


def forged(
    fields: dict[str, Any], arrays: dict[str, Any], draw: random.Random
) -> tuple[dict[str, Any], dict[str, Any]]:
    fields, arrays = dict(fields), dict(arrays)
    for _ in range(draw.choice([1, 1, 2])):
        what = draw.random()
        if what < 0.5 and arrays:
            name = draw.choice(list(arrays))
            if name == "data":
                text = mutated_text(arrays[name].tobytes().decode(), draw)
                arrays[name] = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
            else:
                arrays[name] = mutated_array(arrays[name], draw)
        elif what < 0.55 and arrays:
            del arrays[draw.choice(list(arrays))]
        else:
            fields = mutated(fields, draw) if draw.random() < 0.9 else fields
            fields = fields if isinstance(fields, dict) else {}
    # Whoever forges a spec knows its fingerprint.
    with contextlib.suppress(Exception):
        text = arrays["data"].tobytes().decode()
        fields["spec"] = STORED_SPECS[fields["kind"]].from_data(text).fingerprint
    return fields, arrays


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW_TO_WALK else []) for kind in SPECS]
)
def test_a_forged_file_is_refused_or_gives_an_index_that_works(kind: str, seed: int, made: Any, tmp_path: Path) -> None:
    draw = random.Random(seed)
    fields, arrays = forged(*made[kind], draw)
    try:
        write_arrays(tmp_path / "a", fields, arrays)
    except Exception:
        return
    with bounded(1e9):
        try:
            index = load_index(tmp_path / "a", TOKENS)
        except IndexFormatError:
            return
        walk(index, draw)
