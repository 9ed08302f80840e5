"""`LlamaCpp`: a llama.cpp model, through llama-cpp-python. Needs no torch.

The weights, settings and tokenizer are those of a `llama_cpp.Llama`; this adapter computes in contexts of its own
(`guided.integrations.llama_memory`), so the object's own generation is not disturbed.

llama_cpp is imported inside functions, except for type checkers: this module must be importable without it.
"""

from typing import Any

from guided.engine.index import Index
from guided.errors import ModelError, VocabularyError
from guided.generate.generator import check_index
from guided.generate.model import Batch, Session
from guided.integrations.encoding import TokenizedModel
from guided.integrations.llama_memory import CachedSession, StreamBatch
from guided.integrations.llama_processor import LlamaProcessor, processor_list
from guided.integrations.llama_vocabulary import vocabulary_of

__all__ = ["LlamaCpp"]

_CPU_BLOCK, _GPU_BLOCK = 64, 512
_NEEDED = ("llama_init_from_model", "llama_memory_seq_rm", "llama_model_is_hybrid", "llama_state_seq_get_data")


class LlamaCpp(TokenizedModel):
    """A causal language model of llama.cpp.

    Parameters
    ----------
    llm : llama_cpp.Llama
        A loaded model; its settings (threads, layers on the GPU, RoPE, types of the cache) are used here as well.
    context_length : int, optional
        Maximum number of tokens that the model can read; by default that of its training.

    Attributes
    ----------
    llm : llama_cpp.Llama
        As given.

    Raises
    ------
    TypeError
        The argument is not a `llama_cpp.Llama`.
    ModelError
        llama-cpp-python is too old, or the model is not causal, cannot be rewound, or has a LoRA adapter.
    VocabularyError
        The tokenizer cannot be read.
    """

    def __init__(self, llm: Any, *, context_length: int | None = None) -> None:
        import llama_cpp

        missing = [name for name in _NEEDED if not hasattr(llama_cpp, name)]
        if missing:
            raise ModelError(f"llama-cpp-python {llama_cpp.__version__} is too old: it has no {missing[0]}")
        if not isinstance(llm, llama_cpp.Llama):
            raise TypeError(f"llm must be a llama_cpp.Llama, not {type(llm).__name__}")
        _check_kind(llama_cpp, llm)
        self._api, self.llm = llama_cpp, llm
        self._vocab = llama_cpp.llama_model_get_vocab(llm.model)
        try:
            vocabulary = vocabulary_of(self._vocab)
        except VocabularyError as error:
            raise VocabularyError(f"the tokenizer of {llm.model_path} can not be used: {error}") from error
        block = _GPU_BLOCK if llm.model_params.n_gpu_layers else _CPU_BLOCK
        trained: int = llama_cpp.llama_model_n_ctx_train(llm.model)
        template = "tokenizer.chat_template"
        super().__init__(vocabulary, block, context_length or trained, lambda: str(llm.metadata.get(template, "")))

    def session(self) -> Session:
        """Return a new, empty session."""
        return CachedSession(self.llm, self.vocabulary.size, self.block, self.context_length)

    def batch(self) -> Batch:
        """Return a batch whose rows share each pass over the weights."""
        return StreamBatch(self.llm, self.vocabulary.size, self.block, self.context_length)

    def logits_processors(self, index: Index, prefix: str = "", max_tokens: int | None = None) -> list[LlamaProcessor]:
        """Return processors that constrain llama-cpp-python's own generation to an index.

        Use ``llm(prompt, logits_processor=model.logits_processors(index))``, and likewise ``create_completion``, ``create_chat_completion``
        and ``generate``, streamed or not, with any sampling.

        Parameters
        ----------
        index : Index
            Compiled for this model's vocabulary.
        prefix : str, optional
            The part of the answer that the prompt already contains at its end; the rest is generated.
        max_tokens : int, optional
            The budget given to the call: the last tokens are restricted so that the text is complete within it. They may not be what the
            model wanted to say: ``steered`` of the processor tells from where.

        Returns
        -------
        llama_cpp.LogitsProcessorList
            A list with one `LlamaProcessor`. One list serves any number of calls in sequence.

        Raises
        ------
        VocabularyError
            The index was compiled for another vocabulary.
        ValueError
            No text of the index begins with ``prefix``.
        LimitError
            ``max_tokens`` is below the length of the shortest text.
        ModelError
            The Llama has a draft model; the binding then does not tell processors the position of a token.
        """
        check_index(index)
        index.check_vocabulary(self.vocabulary)
        if self.llm.draft_model is not None:
            raise ModelError(
                "with a draft model, llama-cpp-python does not report the positions of tokens: do not use one"
            )
        found: list[LlamaProcessor] = processor_list(LlamaProcessor(index, prefix, max_tokens))
        return found

    def _templated(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, continued: bool) -> str:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        template = self.llm.metadata.get("tokenizer.chat_template")
        if not template:
            raise ModelError("this model has no chat template: give the prompt as one str")
        try:
            text: str = Jinja2ChatFormatter(
                template, self._name("eos"), self._name("bos"), add_generation_prompt=not continued
            )(messages=messages, tools=tools).prompt
        except Exception as error:  # templates are programs and may raise anything
            raise ModelError(f"the model's chat template refuses these messages: {error}") from error
        if not continued:
            return text
        message = str(messages[-1]["content"]).strip()
        if message not in text:
            raise ModelError("the model's chat template changes the last message, so it can not be continued")
        return text[: text.rindex(message) + len(message)]

    def _name(self, kind: str) -> str:
        token = getattr(self._api, f"llama_vocab_{kind}")(self._vocab)
        if token < 0:
            return ""
        name: bytes = self._api.llama_vocab_get_text(self._vocab, token)
        return name.decode("utf-8", errors="replace")

    def _begin(self) -> int | None:
        begin = int(self._api.llama_vocab_bos(self._vocab))
        return None if begin < 0 else begin

    def _tokenized(self, text: str, *, add: bool, special: bool) -> list[int]:
        data = text.encode()
        room = len(data) + 8
        tokens = (self._api.llama_token * room)()
        count = self._api.llama_tokenize(self._vocab, data, len(data), tokens, room, add, special)
        if count < 0:
            raise ModelError(f"llama.cpp makes {-count:,} tokens of {len(data):,} bytes")
        return list(tokens[:count])


def _check_kind(api: Any, llm: Any) -> None:
    if llm.model is None:
        raise ModelError("this llama_cpp.Llama has been closed")
    if api.llama_model_has_encoder(llm.model) or not api.llama_model_has_decoder(llm.model):
        raise ModelError(f"{llm.model_path} is not a causal language model")
    if api.llama_model_is_recurrent(llm.model) or api.llama_model_is_hybrid(llm.model):
        raise ModelError(f"{llm.model_path} has layers whose state can not be rewound")
    if llm.lora_path:
        raise ModelError("a LoRA adapter belongs to one context of llama.cpp: merge it into the model's file")
