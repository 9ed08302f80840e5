"""GGUF files, written by the gguf package or by hand."""

import struct
from pathlib import Path
from typing import Any

import gguf
import pytest

from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def written(folder: Path, kind: str, tokens: list[tuple[str, int]], **keys: int) -> Path:
    path = folder / "any name"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("llama.some.numbers", [1, 2, 3])
    writer.add_array("llama.some.flags", [True, False])
    writer.add_float64("llama.some.float", 1.5)
    writer.add_tokenizer_model(kind)
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([type_ for _, type_ in tokens])
    for name, value in keys.items():
        writer.add_uint32(f"tokenizer.ggml.{name}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_byte_level(tmp_path: Path) -> None:
    tokens = [("<|s|>", CONTROL), ("Ġa", NORMAL), ("<tool> é", USER_DEFINED), ("Ċ", NORMAL), ("[PAD4]", UNUSED)]
    vocabulary = Vocabulary.from_file(written(tmp_path, "gpt2", tokens, eos_token_id=0))
    assert list(vocabulary) == [None, b" a", "<tool> é".encode(), b"\n", None]
    assert dict(vocabulary.special) == {"<|s|>": 0}
    assert vocabulary.eos == (0,)


def test_sentencepiece(tmp_path: Path) -> None:
    tokens = [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<0x0A>", BYTE),
        ("▁a", NORMAL),
        ("▁▁", USER_DEFINED),
    ]
    vocabulary = Vocabulary.from_file(written(tmp_path, "llama", tokens, eos_token_id=2))
    assert list(vocabulary) == [None, None, None, b"\n", b" a", b"  "]
    assert vocabulary.eos == (2,)


def test_several_ends(tmp_path: Path) -> None:
    tokens = [(f"<|{i}|>", CONTROL) for i in range(4)] + [("<|im_end|>", CONTROL)]
    path = written(tmp_path, "gpt2", tokens, eos_token_id=0, eot_token_id=1, eom_token_id=2)
    assert Vocabulary.from_file(path).eos == (0, 1, 2, 4)
    path = written(tmp_path, "gpt2", tokens, eos_token_id=0, eot_token_id=0xFFFFFFFF)
    assert Vocabulary.from_file(path).eos == (0, 4)


def test_an_end_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="end of sequence id 7 is out of range"):
        Vocabulary.from_file(written(tmp_path, "gpt2", [("a", NORMAL)], eos_token_id=7))


@pytest.mark.parametrize("kind", ["bert", "rwkv", "no_vocab"])
def test_other_kinds_are_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=f"its tokenizer is of the kind '{kind}'; supported are gpt2, llama, t5"):
        Vocabulary.from_file(written(tmp_path, kind, [("a", NORMAL)]))


def test_a_model_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    writer = gguf.GGUFWriter(path, "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(VocabularyError, match=r"it has no tokenizer\.ggml\.model of type str"):
        Vocabulary.from_file(path)


# --------------------------------------------------------------------------------------------------- files by hand


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def strings(*texts: str) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(texts)) + b"".join(map(string, texts))


def file(*keys: tuple[str, bytes], version: int = 3, count: int | None = None) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", version, 0, len(keys) if count is None else count)
    return head + b"".join(string(name) + value for name, value in keys)


KIND = ("tokenizer.ggml.model", struct.pack("<I", 8) + string("gpt2"))
TOKENS = ("tokenizer.ggml.tokens", strings("a", "Ġb"))


def types(*values: int) -> tuple[str, bytes]:
    return "tokenizer.ggml.token_type", struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


def test_without_types_all_tokens_are_normal(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(file(KIND, TOKENS))
    assert list(Vocabulary.from_file(tmp_path / "model")) == [b"a", b" b"]


def test_tensors_after_the_front_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(file(KIND, TOKENS) + b"\xff" * 5000)
    assert len(Vocabulary.from_file(tmp_path / "model")) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (file(KIND, TOKENS, version=1), r"GGUF version 1 is not supported \(2 and 3 are"),
        (file(KIND, TOKENS)[:-1], "the file is truncated or damaged: a value has 3 bytes, 2 are left"),
        (file(KIND, TOKENS, count=3), "the file is truncated or damaged: a value has 8 bytes, 0 are left"),
        (file(KIND, TOKENS, count=2**63), "it has 9,223,372,036,854,775,808 keys; the file is damaged"),
        (file(KIND, TOKENS, count=5), "the file is truncated or damaged"),
        (file(KIND, KIND), "it has the key 'tokenizer.ggml.model' twice"),
        (b"GGUF\x03", "the file is truncated or damaged: a value has 24 bytes, 5 are left"),
        (file(KIND, TOKENS, types(1)), "2 tokens have 1 types"),
        (file(KIND, ("tokenizer.ggml.tokens", struct.pack("<IIQ2i", 9, 5, 2, 1, 2))), "token 0 is not a string"),
        (file(KIND, ("tokenizer.ggml.tokens", struct.pack("<I", 8) + string("a"))), "tokens of type list"),
        (file(("k", struct.pack("<I", 99))), "the value of 'k' has the unknown type 99"),
        (file(("k", struct.pack("<IIQ", 9, 9, 1))), "the value of 'k' has the unknown type 9"),
        (file(("k", struct.pack("<IIQ", 9, 8, 2**24 + 1))), "'k' has 16,777,217 values; the file is damaged"),
        (file(("k", struct.pack("<IIQ", 9, 8, 5))), "truncated or damaged: k has 40 bytes, 0 are left"),
        (
            file(("k", struct.pack("<IIQ", 9, 10, 2**60))),
            "'k' has 1,152,921,504,606,846,976 values; the file is damaged",
        ),
        (file(("k", struct.pack("<IIQ", 9, 10, 5))), "truncated or damaged: k has 40 bytes, 0 are left"),
        (file(("k", struct.pack("<IQ", 8, 2) + b"\xff\xff")), r"a string is not UTF-8: b'\\xff\\xff'"),
        (
            file(KIND, TOKENS, ("tokenizer.ggml.eos_token_id", struct.pack("<I", 8) + string("a"))),
            r"it has no tokenizer\.ggml\.eos_token_id of type int",
        ),
    ],
)
def test_mistakes_are_reported(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_file(tmp_path / "model")


@pytest.mark.parametrize(
    ("kind", "form", "value"), [(0, "B", 1), (4, "I", 1), (10, "Q", 1), (6, "f", 1.0), (7, "?", True)]
)
def test_numbers_of_all_sizes_are_passed_over(kind: int, form: str, value: Any, tmp_path: Path) -> None:
    key = ("k", struct.pack("<I" + form, kind, value))
    (tmp_path / "model").write_bytes(file(key, KIND, TOKENS))
    assert len(Vocabulary.from_file(tmp_path / "model")) == 2
