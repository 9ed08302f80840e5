"""The vocabulary of ``--vocabulary``: a tokenizer file, or the folder of a model.

A tokenizer file does not define a model's vocabulary completely: the logits may be wider than the ids, and the end-of-text tokens are those
of ``generation_config.json`` (``eos_token_id``), as in `guided.Model`. A folder therefore gives more than its tokenizer.json: an index
compiled for the folder works with the model.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guided.cli.boundary import UsageError
from guided.files import read_text

if TYPE_CHECKING:
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["read_vocabulary", "vocabulary_place"]


def vocabulary_place(given: Path | None) -> Path:
    """Return the path; by default, the default model's folder, or its GGUF file if only that has been fetched.

    The GGUF file is fetched on first use. Reading it needs neither torch nor transformers.

    Raises
    ------
    ModelError
        The default model cannot be fetched.
    """
    if given is not None:
        return given
    from guided.integrations.load import default_model_gguf

    gguf = default_model_gguf()
    return gguf.parent if (gguf.parent / "tokenizer.json").is_file() else gguf


def read_vocabulary(given: Path | None, eos: Sequence[int] | None = None, *, must_end: bool = True) -> "Vocabulary":
    """Read the vocabulary of a file or a folder; by default, of the default model.

    Parameters
    ----------
    given : Path, optional
        Path of a file or a folder.
    eos : sequence of int, optional
        The end-of-text tokens; by default those of the file or the model.
    must_end : bool
        Whether to reject a vocabulary without an end-of-text token.

    Raises
    ------
    VocabularyError
        The vocabulary cannot be read, or names no end-of-text token.
    ModelError
        The default model cannot be fetched.
    """
    from guided.errors import VocabularyError
    from guided.vocabulary.vocabulary import Vocabulary

    place = vocabulary_place(given)
    size, ends = _of_model(place) if place.is_dir() else (None, None)
    if given is None and ends is None:
        from guided.integrations.load import DEFAULT_EOS

        ends = list(DEFAULT_EOS)
    # Why names: a file of ranks has no special tokens, so an id may be beyond its last id; named tokens are added.
    named = {f"<end {token}>": token for token in eos or ()}
    vocabulary = Vocabulary.from_file(
        place / "tokenizer.json" if place.is_dir() else place, size, eos=eos or ends, special=named
    )
    if must_end and not vocabulary.eos:
        raise VocabularyError(f"{place} has no end-of-text token: pass its id with --eos")
    return vocabulary


def _of_model(folder: Path) -> tuple[int | None, list[int] | None]:
    """The width of a model's logits, and its end-of-text tokens, if its folder declares them."""
    config, generation = (_document(folder / name) for name in ("config.json", "generation_config.json"))
    text = config.get("text_config")
    size = config.get("vocab_size", text.get("vocab_size") if isinstance(text, dict) else None)
    ends = generation.get("eos_token_id", config.get("eos_token_id"))
    if isinstance(ends, int):
        ends = [ends]
    fits = (size is None or type(size) is int) and (ends is None or isinstance(ends, list))
    if not fits or not all(type(token) is int for token in ends or ()):
        raise UsageError(
            f"{folder}: vocab_size must be an integer, and eos_token_id an integer or a list of integers "
            "(config.json, generation_config.json)"
        )
    return size, ends


def _document(path: Path) -> dict[str, Any]:
    """Read a JSON object; empty if there is no such file."""
    try:
        found = json.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a JSON object")
    return found
