"""Checks whether a tokenizer belongs to a model, and finds the end-of-sequence tokens.

With the tokenizer of another model no step fails, but all texts are nonsense that never ends. These checks detect most such pairs:

- The model's logits are as wide as the tokenizer, or slightly wider: rows are padded to a round number (Qwen2.5: 151,936 for 151,665
  tokens, 0.2 %; Phi-2: 51,200 for 50,295, 1.8 %; DeepSeek LLM: 102,400 for 100,015, 2.3 %).
- The end-of-sequence tokens in the model's configuration exist in the tokenizer, and are special or added tokens there.

The model's configuration may name several ends (Llama 3: ``<|end_of_text|>`` and ``<|eot_id|>``); all of them are used. The tokenizer may
name another one, for example ``<|im_end|>`` for a chat-tuned model; then both are used.
"""

import warnings
from typing import Any

from guided.errors import ModelError, VocabularyError
from guided.vocabulary.content import Content
from guided.vocabulary.tokenizer_json import read_tokenizer
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["fitting_vocabulary"]

# Number of extra columns that padding explains at any size, and the fractions from which the pair is doubtful or wrong.
_PADDING, _DOUBTFUL, _WRONG = 512, 1 / 20, 1 / 8


def fitting_vocabulary(hf_model: Any, config: Any, hf_tokenizer: Any, width: int) -> Vocabulary:
    """Build the vocabulary of a tokenizer with the width of the model's logits and the model's end-of-sequence tokens.

    ``config``: of the language part of the model. ``width``: number of columns of the logits.

    Raises
    ------
    TypeError
        The tokenizer is not a fast one.
    ModelError
        The tokenizer cannot be read, or belongs to another model.

    Warns
    -----
    UserWarning
        The tokenizer may belong to another model, or it names an end of sequence that the model does not.
    """
    try:
        content = read_tokenizer(hf_tokenizer)
        _check_width(hf_model, len(content.tokens), width)
        ends = _ends(hf_model, config, hf_tokenizer, content, width)
        return Vocabulary.of_content(content, width, ends)
    except VocabularyError as error:
        raise ModelError(f"the tokenizer does not fit the model: {error}") from error


def _check_width(hf_model: Any, n_tokens: int, width: int) -> None:
    extra = width - n_tokens
    if extra <= max(_PADDING, _DOUBTFUL * width):
        return
    text = (
        f"{type(hf_model).__name__} has logits for {width:,} tokens, but the tokenizer knows {n_tokens:,}: more of them are missing "
        "than padding explains, so the tokenizer seems to be that of another model. Load both from the same place"
    )
    if extra > max(_PADDING, _WRONG * width):
        raise ModelError(
            f"{text}; if they belong together, cut the model to its tokenizer: hf_model.resize_token_embeddings({n_tokens})"
        )
    warnings.warn(text, UserWarning, stacklevel=4)


def _ends(hf_model: Any, config: Any, hf_tokenizer: Any, content: Content, width: int) -> list[int]:
    """The end-of-sequence tokens of the model and the tokenizer."""
    declared = getattr(getattr(hf_model, "generation_config", None), "eos_token_id", None)
    if declared is None:
        declared = getattr(config, "eos_token_id", None)
    if declared is None or declared == []:
        return list(content.eos)
    ends = [int(token) for token in (declared if isinstance(declared, list | tuple) else [declared])]
    own = getattr(hf_tokenizer, "eos_token_id", None)
    own_name = "" if own is None else f"; the tokenizer's is {own} ({getattr(hf_tokenizer, 'eos_token', None)})"
    advice = "The tokenizer is that of another model, or the model's configuration is wrong: set hf_model.generation_config.eos_token_id"
    for token in ends:
        if not 0 <= token < width:
            raise ModelError(
                f"the model's end of sequence, token {token}, is outside its {width:,} logits{own_name}. {advice}"
            )
        if token >= len(content.tokens):
            raise ModelError(
                f"the tokenizer does not fit the model: the model's end of sequence is token {token}, and the tokenizer has only "
                f"{len(content.tokens):,} tokens{own_name}. {advice}"
            )
        spelled = content.tokens[token]
        if spelled is not None and token not in content.added:
            raise ModelError(
                f"the tokenizer does not fit the model: the model's end of sequence, token {token}, spells {spelled!r:.40} "
                f"in this tokenizer{own_name}. {advice}"
            )
    if own is not None and int(own) not in ends:
        warnings.warn(
            f"the tokenizer ends texts with token {own} ({hf_tokenizer.eos_token}), the model's generation_config with {ends}: "
            "guided takes any of them for the end. Set hf_model.generation_config.eos_token_id to the right ones",
            UserWarning,
            stacklevel=4,
        )
        ends.append(int(own))
    return ends
