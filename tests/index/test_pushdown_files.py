"""Indices with a stack in files and in other processes: the same answers, the same states, and no file that harms."""

import json
import pickle
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guided.engine.compile import compile as compile_spec
from guided.engine.files import load_index, read_index_file
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import IndexFormatError, LimitError
from guided.index.pushdown import PushdownIndex
from guided.index.pushdown_files import explored_arrays, restore
from guided.index.storage import read_arrays, write_arrays
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.test_pushdown_budget import SCHEMAS
from tests.schema.engine import BYTES

PAIRS = [b'{"', b'":', b'","', b'"}', b"}}", b"[[", b"],", b"00", b"ab", b'"a', b"1,"]
TOKENS = Vocabulary([*(bytes([value]) for value in range(256)), *PAIRS], eos=[256 + len(PAIRS)], size=300)


def compiled(schema: Any, **options: Any) -> Index:
    return compile_spec(JsonSchema(schema, **options), TOKENS)


def facts(index: Index, n_states: int) -> list[tuple[bytes, list[int]]]:
    return [
        (index.mask(state).tobytes(), [index.next(state, token) for token in index.allowed(state).tolist()[:40]])
        for state in range(n_states)
    ]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_loaded_index_is_the_same(name: str, mmap: bool, tmp_path: Path) -> None:
    index = compiled(SCHEMAS[name], property_order="any")
    index.explore(60)
    index.save(tmp_path / "a.index")
    loaded = load_index(tmp_path / "a.index", TOKENS, mmap=mmap)
    assert loaded.n_states == index.n_states >= min(60, 3)
    assert loaded.spec_fingerprint == index.spec_fingerprint
    assert (loaded.unenforced, loaded.notes) == (index.unenforced, index.notes)
    loaded.save(tmp_path / "b.index")
    assert (tmp_path / "b.index").read_bytes() == (tmp_path / "a.index").read_bytes()
    assert facts(loaded, index.n_states) == facts(index, index.n_states)
    assert [loaded.remaining(state) for state in range(60) if state < index.n_states] == [
        index.remaining(state) for state in range(60) if state < index.n_states
    ]


def test_explored_masks_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = compiled(SCHEMAS["required"])
    index.explore(50)
    index.save(tmp_path / "a.index")
    loaded = load_index(tmp_path / "a.index", TOKENS)
    monkeypatch.setattr(loaded.tables._cache.masker, "mask", None)
    for state in range(50):
        assert np.array_equal(loaded.mask(state), index.mask(state))


def test_unexplored_states_are_not_kept(tmp_path: Path) -> None:
    index = compiled(True)
    index.save(tmp_path / "before.index")
    guide = index.guide()
    for byte in b'{"a":[1,2]}':
        guide.advance(byte)
    index.save(tmp_path / "after.index")
    assert (tmp_path / "before.index").read_bytes() == (tmp_path / "after.index").read_bytes()
    assert (tmp_path / "before.index").stat().st_size < 2_000  # half of it the limits
    assert load_index(tmp_path / "after.index", TOKENS).n_states == 2


def test_exploring_is_deterministic_and_breadth_first() -> None:
    first, second = compiled(SCHEMAS["conditional"]), compiled(SCHEMAS["conditional"])
    first.explore(80)
    second.explore(80)
    assert first.tables.journal == second.tables.journal
    parents = [parent for parent, _ in first.tables.journal.values()]
    assert parents == sorted(parents)
    small = compiled({"enum": [1, "a"]}, whitespace="compact")
    small.explore(10**6)
    assert small.n_states < 20
    with pytest.raises(ValueError, match="-1"):
        small.explore(-1)


def test_a_limit_holds_while_exploring() -> None:
    index = compile_spec(JsonSchema(True), TOKENS, Limits(states=400))
    with pytest.raises(LimitError):
        index.explore(10**6)


PROGRAM = """
import sys
from tests.index.test_pushdown_files import SCHEMAS, compiled
index = compiled(SCHEMAS["one of"])
index.explore(70)
index.save(sys.argv[1])
"""


@pytest.mark.slow
def test_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    for seed in ("0", "1"):
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / seed)],
            check=True,
            cwd=Path(__file__).resolve().parents[2],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
        )
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_options_registry_decimals_and_limits_are_restored(tmp_path: Path) -> None:
    text = (
        '{"$ref": "https://a.example/n", "multipleOf": 0.10, "const": {"decimal": "1.5"}, "type": ["number", "object"]}'
    )
    for schema in (text, json.loads(text), {"const": {"decimal": "1.5", "x": Decimal("1.50")}}):
        spec = JsonSchema(
            schema,
            whitespace="compact",
            property_order="any",
            numbers="any",
            escapes="any",
            format="annotate",
            unsupported="record",
            registry={"https://a.example/n": {"minimum": Decimal("0.5")}},
        )
        again = JsonSchema.from_data(spec.data)
        assert (again, again.fingerprint, again.schema) == (spec, spec.fingerprint, spec.schema)
    index = compile_spec(JsonSchema({"minimum": Decimal("0.1")}), TOKENS, Limits(states=5000))
    index.save(tmp_path / "a.index")
    loaded = load_index(tmp_path / "a.index", TOKENS)
    assert loaded.origin == index.origin
    assert not loaded.accepts(b"0.05")
    assert loaded.accepts(b"0.1")


@pytest.mark.parametrize(
    "data", ["", "[]", "{}", '{"schema": 1}', '{"schema":true,"registry":{},"options":{"x":1},"unenforced":[]}']
)
def test_texts_that_are_not_a_spec(data: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what JSON says differs
        JsonSchema.from_data(data)


def test_a_file_is_read_without_its_vocabulary(tmp_path: Path) -> None:
    index = compiled(SCHEMAS["closed"])
    index.explore(10)
    index.save(tmp_path / "a.index")
    found = read_index_file(tmp_path / "a.index")
    assert found.automaton is None
    assert found.origin == index.origin
    assert (found.vocabulary_fingerprint, found.n_tokens) == (TOKENS.fingerprint, len(TOKENS))
    with pytest.raises(IndexFormatError, match="another vocabulary"):
        load_index(tmp_path / "a.index", BYTES)


def changed(arrays: dict[str, Any], name: str, at: Any, value: int) -> dict[str, Any]:
    copied = {key: array.copy() for key, array in arrays.items()}
    copied[name][at] = value
    return copied


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("parent", 0, -1), ("parent", 3, 10**6), ("parent", 2, 1), ("text", 0, 0), ("text_indptr", 0, 3), ("text_indptr", 5, 10**6),
        ("text_indptr", 5, -4), ("mask_of", 4, 10**6),
    ],
)  # fmt: skip
def test_arrays_that_are_not_the_index_are_refused(name: str, at: int, value: int, tmp_path: Path) -> None:
    index = compiled(SCHEMAS["required"])
    index.explore(40)
    index.save(tmp_path / "a.index")
    fields, arrays = read_arrays(tmp_path / "a.index")
    write_arrays(tmp_path / "b.index", fields, changed(arrays, name, at, value))
    with pytest.raises(IndexFormatError, match="damaged"):
        load_index(tmp_path / "b.index", TOKENS)


def test_fields_that_are_not_the_index_are_refused(tmp_path: Path) -> None:
    index = compiled(SCHEMAS["required"])
    index.explore(10)
    index.save(tmp_path / "a.index")
    fields, arrays = read_arrays(tmp_path / "a.index")
    wrong: list[dict[str, Any]] = [
        {"kind": "grammar"}, {"kind": 3}, {"spec": "0" * 64}, {"limits": {"states": "x"}}, {"limits": None}, {"limits": {"states": 3}},
    ]  # fmt: skip
    for change in wrong:
        write_arrays(tmp_path / "b.index", {**fields, **change}, arrays)
        with pytest.raises(IndexFormatError):
            load_index(tmp_path / "b.index", TOKENS)
    for schema in ({"type": "object", "required": ["z"]}, {"$ref": "#/nowhere"}):
        data = np.frombuffer(JsonSchema(schema).data.encode(), np.uint8)
        write_arrays(tmp_path / "b.index", fields, {**arrays, "data": data})
        with pytest.raises(IndexFormatError):
            load_index(tmp_path / "b.index", TOKENS)
    some = {name: arrays[name] for name in ("parent", "text")}
    write_arrays(tmp_path / "b.index", fields, some)
    with pytest.raises(IndexFormatError, match="missing or of another type"):
        load_index(tmp_path / "b.index", TOKENS)
    write_arrays(tmp_path / "b.index", fields, {**arrays, "masks": arrays["masks"][:, :-1]})
    with pytest.raises(IndexFormatError, match="the shapes of its arrays do not fit"):
        load_index(tmp_path / "b.index", TOKENS)


def test_flips_and_cuts_are_noticed(tmp_path: Path) -> None:
    index = compiled({"enum": [1, 2]}, whitespace="compact")
    index.explore(10)
    index.save(tmp_path / "a.index")
    content = (tmp_path / "a.index").read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        damaged = bytearray(content)
        if draw.random() < 0.3:
            del damaged[draw.randrange(len(damaged)) :]
        else:
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        (tmp_path / "b.index").write_bytes(damaged)
        with pytest.raises(IndexFormatError):
            load_index(tmp_path / "b.index", TOKENS)


def test_restoring_twice_is_refused() -> None:
    index = compiled(SCHEMAS["required"])
    index.explore(20)
    arrays = explored_arrays(index.tables)
    twin = compiled(SCHEMAS["required"])
    restore(twin.tables, arrays)
    with pytest.raises(ValueError, match="is not reached"):
        restore(twin.tables, arrays)


@pytest.mark.parametrize("name", ["recursive", "different", "conditional"])
def test_states_have_the_same_numbers_after_pickling(name: str) -> None:
    index = compiled(SCHEMAS[name])
    index.explore(15)
    draw, guide = random.Random(name), index.guide()
    for _ in range(12):
        tokens = [token for token in index.allowed(guide.state).tolist() if token not in TOKENS.eos]
        if not tokens:
            break
        guide.advance(draw.choice(tokens))
    copied = pickle.loads(pickle.dumps(guide))
    assert copied.state == guide.state
    assert np.array_equal(copied.mask(), guide.mask())
    copied.rollback(len(copied))
    assert copied.state == 0
    again = pickle.loads(pickle.dumps(index))
    assert isinstance(again.tables, PushdownIndex)
    assert again.tables.journal == index.tables.journal
    assert facts(again, index.n_states) == facts(index, index.n_states)


def test_unenforced_keywords_are_kept_as_pairs(tmp_path: Path) -> None:
    unknown = {"format": "idn-hostname"}
    index = compiled({"properties": {"a b": unknown, "": unknown}, **unknown}, unsupported="record")
    assert set(index.unenforced) == {("", "format"), ("/properties/a b", "format"), ("/properties/", "format")}
    index.save(tmp_path / "a.index")
    assert load_index(tmp_path / "a.index", TOKENS).unenforced == index.unenforced
    assert read_index_file(tmp_path / "a.index").unenforced == index.unenforced
