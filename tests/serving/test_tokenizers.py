"""Tokenizers of vLLM that are not fast ones: their vocabularies are read from the files that they were made from."""

from pathlib import Path
from typing import Any

import pytest

from guided.integrations.serving import vocabulary_of

pytest.importorskip("vllm")
mistral_common = pytest.importorskip("mistral_common")

FILES = sorted((Path(mistral_common.__file__).parent / "data").iterdir())


def made(file: Path, is_wrapped: bool) -> Any:
    from mistral_common.protocol.instruct.validator import ValidationMode
    from transformers import MistralCommonBackend
    from vllm.tokenizers.mistral import MistralTokenizer

    inner = MistralCommonBackend(tokenizer_path=file, mode=ValidationMode.test)
    return MistralTokenizer(inner) if is_wrapped else inner


@pytest.mark.parametrize("is_wrapped", [True, False])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_tokenizers_of_mistral(file: Path, is_wrapped: bool) -> None:
    """tekken.json and SentencePiece models, as vLLM's own class and as that of transformers."""
    tokenizer = made(file, is_wrapped)
    vocabulary = vocabulary_of(tokenizer, tokenizer.vocab_size, [tokenizer.eos_token_id])
    assert len(vocabulary) == tokenizer.vocab_size
    text = '{"name": "Zürich", "n": [1, 2.5]}'
    assert vocabulary.decode(tokenizer.encode(text)).decode().lstrip() == text


def test_a_slow_tokenizer_of_transformers() -> None:
    from transformers import GPTSw3Tokenizer

    (file,) = [file for file in FILES if file.name.endswith(".v1")]
    tokenizer = GPTSw3Tokenizer(str(file))
    assert not tokenizer.is_fast
    vocabulary = vocabulary_of(tokenizer, 32_100, [2])
    assert vocabulary.size == 32_100
