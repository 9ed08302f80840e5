"""Vocabularies of real models: known facts, other programs' readings of the same files, and time."""

import base64
import inspect
import json
from dataclasses import dataclass
from pathlib import Path

import gguf
import pytest
import sentencepiece
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from guided.vocabulary.roundtrip import TEXTS
from guided.vocabulary.vocabulary import Vocabulary
from tests import real_vocabularies
from tests.real_vocabularies import NAMES, real_file, real_vocabulary
from tests.vocabulary.made import llama_of

pytestmark = pytest.mark.network

LONG_TEXTS = [*TEXTS, inspect.getsource(inspect), inspect.getsource(json.decoder)]


@dataclass(frozen=True)
class Facts:
    size: int
    eos: tuple[int, ...]
    special: dict[str, int]
    n_special: int
    token: tuple[int, bytes]
    nodes: int
    longest: int
    n_duplicates: int = 0
    n_missing: int = 0


FACTS = {
    "mistral-32k": Facts(32768, (2,), {"<s>": 1, "[TOOL_CALLS]": 5}, 751, (29473, b" "), 55934, 25, 125),
    "gpt2": Facts(50257, (50256,), {"<|endoftext|>": 50256}, 1, (262, b" the"), 98023, 128),
    "smollm2": Facts(49152, (0, 2), {"<|im_start|>": 1, "<|im_end|>": 2}, 17, (260, b" the"), 100297, 81, 0, 21),
    "llama3-128k": Facts(
        128256,
        (128001, 128008, 128009),
        {"<|begin_of_text|>": 128000, "<|eot_id|>": 128009, "<|reserved_special_token_245|>": 128255},
        256,
        (279, b" the"),
        274520,
        128,
    ),
    "deepseek-128k": Facts(129280, (1,), {"<｜begin▁of▁sentence｜>": 0}, 1230, (270, b" the"), 274692, 128),
    "tekken-131k": Facts(131072, (2,), {"[TOOL_CALLS]": 9, "<SPECIAL_999>": 999}, 1000, (1278, b" the"), 266312, 76),
    "qwen-151k": Facts(151646, (151643, 151645), {"<|im_start|>": 151644}, 3, (279, b" the"), 333009, 128),
}


def test_every_source_has_its_facts() -> None:
    assert set(FACTS) == set(NAMES)


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str) -> None:
    vocabulary, facts = real_vocabulary(name), FACTS[name]
    assert vocabulary.size == len(vocabulary) == facts.size
    assert vocabulary.eos == facts.eos
    assert facts.special.items() <= vocabulary.special.items()
    assert len(vocabulary.special) == facts.n_special
    assert all(vocabulary[token] is None for token in [*vocabulary.eos, *vocabulary.special.values()])
    token, data = facts.token
    assert vocabulary[token] == data
    assert vocabulary.trie.max_depth == facts.longest
    assert len(vocabulary.duplicates) == facts.n_duplicates
    assert len(vocabulary.missing_bytes) == facts.n_missing
    assert len(vocabulary.trie.byte) == facts.nodes


@pytest.mark.parametrize("name", FACTS)
def test_the_trie_holds_every_token_at_its_place(name: str) -> None:
    vocabulary = real_vocabulary(name)
    trie = vocabulary.trie
    stack = bytearray(trie.max_depth)
    found: dict[int, bytes] = {}
    bytes_, depths, indptr, ids = (a.tolist() for a in (trie.byte, trie.depth, trie.token_indptr, trie.token_ids))
    for node, (byte, depth) in enumerate(zip(bytes_, depths, strict=True)):
        stack[depth] = byte
        for token in ids[indptr[node] : indptr[node + 1]]:
            found[token] = bytes(stack[: depth + 1])
    assert found == {token: data for token, data in enumerate(vocabulary) if data is not None}


# ------------------------------------------------------------------------------------------ other programs' readings


def test_mistral_equals_the_sentencepiece_package() -> None:
    vocabulary = real_vocabulary("mistral-32k")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(real_file("mistral-32k")))
    assert len(vocabulary) == processor.get_piece_size()
    letter = processor.piece_to_id("e")
    for token, data in enumerate(vocabulary):
        if processor.is_control(token) or processor.is_unknown(token):
            assert data is None
        elif not processor.is_byte(token):
            assert b"e" + data + b"e" == processor.decode([letter, token, letter]).encode()
    for text in LONG_TEXTS:
        assert vocabulary.decode(processor.encode(text)) == b" " + text.encode()


def test_mistral_equals_itself_as_a_tokenizer_json(tmp_path: Path) -> None:
    """The vocabulary of the SentencePiece file, written as Hugging Face writes Llama-like tokenizers."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(real_file("mistral-32k")))
    pieces = [
        (processor.id_to_piece(i), processor.get_score(i), processor.is_control(i) or processor.is_unknown(i))
        for i in range(processor.get_piece_size())
    ]
    tokenizer = llama_of(pieces)
    assert Vocabulary.from_tokenizer(tokenizer) == real_vocabulary("mistral-32k")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert Vocabulary.from_file(tmp_path / "tokenizer.json") == real_vocabulary("mistral-32k")


def test_deepseek_equals_the_tokenizers_package() -> None:
    vocabulary = real_vocabulary("deepseek-128k")
    tokenizer = Tokenizer.from_file(str(real_file("deepseek-128k")))
    decoded = tokenizer.decode_batch([[token] for token in range(len(vocabulary))])
    assert [(data or b"").decode("utf-8", "replace") for data in vocabulary] == decoded
    for text in LONG_TEXTS:
        assert vocabulary.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text.encode()
    transformers = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<｜end▁of▁sentence｜>")
    assert Vocabulary.from_tokenizer(transformers) == vocabulary


def test_smollm2_equals_the_gguf_package() -> None:
    keys = gguf.GGUFReader(real_file("smollm2")).fields
    texts = keys["tokenizer.ggml.tokens"].contents()
    kinds = keys["tokenizer.ggml.token_type"].contents()
    vocabulary = real_vocabulary("smollm2")
    assert {text: i for i, text in enumerate(texts) if kinds[i] == gguf.TokenType.CONTROL} == dict(vocabulary.special)
    assert keys["tokenizer.ggml.eos_token_id"].contents() in vocabulary.eos


def test_smollm2_equals_transformers() -> None:
    path = real_file("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary == real_vocabulary("smollm2")
    for text in LONG_TEXTS:
        assert vocabulary.decode(tokenizer.encode(text, add_special_tokens=False)) == text.encode()


@pytest.mark.parametrize("name", ["gpt2", "llama3-128k", "qwen-151k"])
def test_ranks_are_those_of_the_file(name: str) -> None:
    vocabulary = real_vocabulary(name)
    lines = real_file(name).read_bytes().split(b"\n")
    for line in filter(None, lines):
        token, rank = line.split()
        assert vocabulary[int(rank)] == base64.b64decode(token)


def test_tekken_ranks_follow_the_special_tokens() -> None:
    vocabulary = real_vocabulary("tekken-131k")
    entries = json.loads(real_file("tekken-131k").read_bytes())["vocab"]
    ranks = [base64.b64decode(entry["token_bytes"]) for entry in entries]
    assert list(vocabulary)[1000:] == ranks[: 131072 - 1000]


def test_files_that_cannot_be_fetched_are_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUIDED_TEST_CACHE", str(tmp_path))
    monkeypatch.setattr(real_vocabularies, "_download", lambda source, folder: "no network")
    with pytest.raises(pytest.skip.Exception, match=r"gpt2: openai-whisper 20250625 is not in .*: no network"):
        real_file("gpt2")
    assert not list(tmp_path.rglob("*.tiktoken"))
