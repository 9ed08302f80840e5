"""The vocabulary of ``--vocabulary``: a tokenizer file, or the folder of a model.

A tokenizer file does not define a model's vocabulary completely: the logits may be wider than the ids, and other files name end tokens. A
folder therefore gives more than its tokenizer (`guided.vocabulary.folders`): an index compiled for the folder works with the model.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    if given is None and not eos and not place.is_dir():
        from guided.integrations.load import DEFAULT_EOS

        eos = DEFAULT_EOS
    # Why names: a file of ranks has no special tokens, so an id may be beyond its last id; named tokens are added.
    named = {f"<end {token}>": token for token in eos or ()}
    vocabulary = Vocabulary.from_file(place, eos=eos or None, special=named)
    if must_end and not vocabulary.eos:
        raise VocabularyError(f"{place} has no end-of-text token: pass its id with --eos")
    return vocabulary
