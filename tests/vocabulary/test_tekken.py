"""Mistral's tekken.json."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary


def document() -> dict[str, Any]:
    """Five ranks, of which three are used, after four special ids, of which two are named."""
    tokens = [b"a", b"\xc3", b"ab", b"unused", b"unused too"]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(token).decode()} for i, token in enumerate(tokens)]
    special = [{"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(["<unk>", "</s>"])]
    config = {"pattern": ".", "default_vocab_size": 7, "default_num_special_tokens": 4, "version": "v11"}
    return {"config": config, "vocab": vocab, "special_tokens": special}


def saved(document: dict[str, Any], folder: Path) -> Path:
    path = folder / "any name"
    path.write_text(json.dumps(document))
    return path


def test_special_tokens_come_first(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_file(saved(document(), tmp_path))
    assert list(vocabulary) == [None] * 4 + [b"a", b"\xc3", b"ab"]
    assert dict(vocabulary.special) == {"<unk>": 0, "</s>": 1, "<SPECIAL_2>": 2, "<SPECIAL_3>": 3}
    assert vocabulary.eos == (1,)


def test_old_files_do_not_list_their_special_tokens(tmp_path: Path) -> None:
    file = document()
    del file["special_tokens"]
    file["config"].update(default_vocab_size=25, default_num_special_tokens=22)
    vocabulary = Vocabulary.from_file(saved(file, tmp_path))
    assert vocabulary.eos == (2,)
    assert vocabulary.special["[TOOL_CALLS]"] == 9
    assert vocabulary.special["<SPECIAL_21>"] == 21
    assert vocabulary[22] == b"a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file["config"].pop("default_vocab_size"), "config has no member 'default_vocab_size'"),
        (lambda file: file["config"].update(default_vocab_size=10), "cannot make default_vocab_size 10"),
        (lambda file: file["config"].update(default_num_special_tokens=-1), "cannot make default_vocab_size 7"),
        (
            lambda file: file["config"].update(default_num_special_tokens=1, default_vocab_size=6),
            "special_tokens: a rank is not",
        ),
        (lambda file: file.update(special_tokens=5), "'special_tokens' must be an array, not an integer"),
        (lambda file: file["special_tokens"][0].pop("rank"), r"special_tokens\[0\] has no member 'rank'"),
        (lambda file: file["special_tokens"][0].update(rank=-1), "a rank is not below"),
        (lambda file: file["special_tokens"][0].update(rank=1), r"special_tokens\[1\]: rank 1 is given twice"),
        (lambda file: file["special_tokens"][0].update(token_str="</s>"), "'</s>' is given twice"),
        (lambda file: file.update(vocab={}), "'vocab' must be an array, not an object"),
        (lambda file: file["vocab"][1].update(rank=5), r"vocab\[1\]: the rank is 5, but ranks must be in order"),
        (lambda file: file["vocab"][1].update(token_bytes="a"), r"vocab\[1\]: token_bytes is not base64"),
        (lambda file: file["vocab"][1].update(token_bytes="é"), r"vocab\[1\]: token_bytes is not base64"),
        (lambda file: file["vocab"][1].pop("token_bytes"), r"vocab\[1\] has no member 'token_bytes'"),
    ],
)
def test_errors_are_reported_with_their_place(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    file = document()
    change(file)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_file(saved(file, tmp_path))
