"""What ``--vocabulary`` names: files, and folders of models."""

import json
from pathlib import Path

import pytest

from guided.cli.vocabularies import read_vocabulary
from guided.errors import VocabularyError
from tests.cli.programs import write_ranks
from tests.vocabulary.made import byte_level_bpe


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a tokenizer, as a model's is."""
    byte_level_bpe(400, ["<|endoftext|>", "<|turn|>"]).save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def configure(folder: Path, name: str, **content: object) -> None:
    (folder / name).write_text(json.dumps(content))


def test_a_folder_without_more_is_its_tokenizer(model: Path) -> None:
    assert read_vocabulary(model) == read_vocabulary(model / "tokenizer.json")


def test_a_folder_defines_the_logit_width_and_the_end_tokens(model: Path) -> None:
    configure(model, "config.json", vocab_size=512, eos_token_id=1)
    assert (read_vocabulary(model).size, read_vocabulary(model).eos) == (512, (1,))
    configure(model, "generation_config.json", eos_token_id=[0, 1])
    assert read_vocabulary(model).eos == (0, 1)
    assert read_vocabulary(model, [0]).eos == (0,)
    configure(model, "config.json", text_config={"vocab_size": 1024})
    assert read_vocabulary(model).size == 1024
    assert read_vocabulary(model / "tokenizer.json").size == 400


@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("content", ["{", "[" * 100_000, "[]", '{"eos_token_id": "x"}', '{"eos_token_id": [true]}'])
def test_folders_that_are_wrong(model: Path, name: str, content: str) -> None:
    (model / name).write_text(content)
    with pytest.raises(VocabularyError, match=r"config.json"):
        read_vocabulary(model)


def test_a_width_that_does_not_fit(model: Path) -> None:
    configure(model, "config.json", vocab_size=7)
    with pytest.raises(VocabularyError):
        read_vocabulary(model)
    configure(model, "config.json", vocab_size="7")
    with pytest.raises(VocabularyError):
        read_vocabulary(model)


def test_a_text_must_end(tmp_path: Path) -> None:
    ranks = write_ranks(tmp_path / "ranks")
    with pytest.raises(VocabularyError, match="has no end-of-text token: pass its id with --eos"):
        read_vocabulary(ranks)
    assert read_vocabulary(ranks, must_end=False).eos == ()
    assert read_vocabulary(ranks, [256]).eos == (256,)


@pytest.mark.model
def test_the_default_one_is_that_of_the_default_model() -> None:
    import guided

    assert read_vocabulary(None) == guided.load().vocabulary
