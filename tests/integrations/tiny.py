"""Models of transformers with random weights and a handful of tokens, made in milliseconds.

Random weights test constraints harder than trained ones: any token may be the most probable one.
"""

import functools
from typing import Any

import guided

BOS, EOS = 256, 257


@functools.cache
def tiny_tokenizer(merges: tuple[str, ...] = ("19", "20", ",Ġ", "00", "ab", "bb"), swapped: bool = False) -> Any:
    """Bytes, a few merges, and two special tokens. Swapped: with other ids for the same bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    characters = sorted(pre_tokenizers.ByteLevel.alphabet(), reverse=swapped)
    names = [*characters, "<s>", "</s>", *merges]
    backend = Tokenizer(
        models.BPE({name: place for place, name in enumerate(names)}, [(one[0], one[1:]) for one in merges])
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="</s>")


@functools.cache
def tiny_model(seed: int = 0, size: int = 264, **settings: Any) -> Any:
    """A Llama of two layers, for `tiny_tokenizer`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=1.0,
        **{"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": EOS} | settings,
    )
    return LlamaForCausalLM(config).eval()


@functools.cache
def tiny_vocabulary(size: int = 264) -> guided.Vocabulary:
    """Of the tokenizer, as wide as the model's logits."""
    return guided.Vocabulary.from_tokenizer(tiny_tokenizer(), size)


@functools.cache
def tiny_index(pattern: str, size: int = 264) -> guided.Index:
    """A compiled pattern."""
    return guided.compile(guided.Regex(pattern), tiny_vocabulary(size))
