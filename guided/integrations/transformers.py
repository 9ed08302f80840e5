"""``guided.Model``: a transformers model with its tokenizer.

Neither torch nor transformers is imported here: the caller passes both objects. `guided.integrations.forward` runs the forward pass.
"""

import copy
from typing import Any

from guided.errors import ModelError
from guided.generate.model import Batch, Session, advice_on_models
from guided.integrations.encoding import TokenizedModel
from guided.integrations.forward import CachedSession, Forward, PaddedBatch
from guided.integrations.model_fit import fitting_vocabulary

__all__ = ["Model"]

_CPU_BLOCK, _GPU_BLOCK = 64, 512
_CACHED_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}


class Model(TokenizedModel):
    """A causal language model of transformers with its tokenizer.

    Parameters
    ----------
    hf_model : transformers.PreTrainedModel
        A model with a language head. It is switched to evaluation mode and stays on its device.
    hf_tokenizer : transformers.PreTrainedTokenizerBase
        A fast tokenizer.

    Raises
    ------
    ModelError
        The model is not causal, or its state cannot be rewound; or the tokenizer cannot be read, or belongs to another model
        (`guided.integrations.model_fit`).

    Warns
    -----
    UserWarning
        The tokenizer may belong to another model, or names an end of sequence that the model does not.
    """

    def __init__(self, hf_model: Any, hf_tokenizer: Any) -> None:
        config = _checked_config(hf_model)
        size = _logit_width(hf_model, config)
        vocabulary = fitting_vocabulary(hf_model, config, hf_tokenizer, size)
        block = _CPU_BLOCK if hf_model.device.type == "cpu" else _GPU_BLOCK
        context_length = getattr(config, "max_position_embeddings", None)
        super().__init__(vocabulary, block, context_length, lambda: str(getattr(hf_tokenizer, "chat_template", "")))
        hf_model.eval()
        self.hf_model, self.hf_tokenizer = hf_model, hf_tokenizer
        self._forward = Forward(hf_model)
        self._backend = getattr(hf_tokenizer, "backend_tokenizer", hf_tokenizer)
        self._plain_backend: Any = None

    def __repr__(self) -> str:
        model, dtype = self.hf_model, str(getattr(self.hf_model, "dtype", "")).removeprefix("torch.")
        return f"<Model {type(model).__name__}: {self.vocabulary.size:,} tokens, {dtype} on {model.device}>"

    def session(self) -> Session:
        """Return a new, empty session."""
        return CachedSession(self._forward, self.vocabulary.size, self.block, self.context_length)

    def batch(self) -> Batch:
        """Return a batch whose rows share each forward pass."""
        return PaddedBatch(self._forward, self.vocabulary.size, self.block, self.context_length)

    def _templated(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, continued: bool) -> str:
        if not getattr(self.hf_tokenizer, "chat_template", None):
            raise ModelError("this tokenizer has no chat template: give the prompt as one str")
        try:
            text = self.hf_tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=not continued,
                continue_final_message=continued,
                **({} if tools is None else {"tools": tools}),
            )
        except Exception as error:  # templates are programs and may raise anything
            raise ModelError(f"the model's chat template refuses these messages: {error}") from error
        return str(text)

    def _begin(self) -> int | None:
        begin = getattr(self.hf_tokenizer, "bos_token_id", None)
        return None if begin is None else int(begin)

    def _tokenized(self, text: str, *, add: bool, special: bool) -> list[int]:
        if not special and self._plain_backend is None:
            # Treats names of special tokens as plain text.
            backend = copy.deepcopy(self._backend)
            backend.encode_special_tokens = True
            backend.no_truncation()
            backend.no_padding()
            self._plain_backend = backend
        backend = self._backend if special else self._plain_backend
        return list(backend.encode(text, add_special_tokens=add).ids)


def _checked_config(hf_model: Any) -> Any:
    """The text configuration of a model; raises if this module cannot run the model."""
    if not hasattr(hf_model, "config") or not callable(getattr(hf_model, "get_output_embeddings", None)):
        raise _not_a_model(hf_model)
    if getattr(hf_model.config, "is_encoder_decoder", False):
        raise ModelError(f"{type(hf_model).__name__} is an encoder-decoder model; a causal language model is needed")
    config = hf_model.config.get_text_config() if hasattr(hf_model.config, "get_text_config") else hf_model.config
    others = set(getattr(config, "layer_types", None) or ()) - _CACHED_LAYERS
    if others:
        raise ModelError(
            f"{type(hf_model).__name__} has layers ({', '.join(sorted(others))}) whose state can not be rewound"
        )
    return config


def _not_a_model(given: Any) -> TypeError:
    is_tokenizer = hasattr(given, "convert_ids_to_tokens")
    advice = (
        "; the model comes first: guided.Model(hf_model, hf_tokenizer)" if is_tokenizer else advice_on_models(given)
    )
    return TypeError(f"hf_model must be a model of transformers, not {type(given).__name__}{advice}")


def _logit_width(hf_model: Any, config: Any) -> int:
    head = hf_model.get_output_embeddings()
    if head is None:
        raise ModelError(f"{type(hf_model).__name__} has no language head, so it gives no logits")
    weight = getattr(head, "weight", None)
    return int(config.vocab_size if weight is None else weight.shape[0])
