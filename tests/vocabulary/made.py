"""Small real tokenizers, trained on the spot by the packages that make the big ones."""

import io
from collections.abc import Iterable
from typing import Any

import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from guided.vocabulary.roundtrip import TEXTS

CORPUS = [*TEXTS, *(" ".join(sorted(dir(kind))) for kind in (str, bytes, dict, list, int, set))]

SPECIAL = ["<unk>", "<s>", "</s>"]


def byte_level_bpe(size: int = 400, special: Iterable[str] = ("<|endoftext|>",), **options: Any) -> Tokenizer:
    """A tokenizer of GPT-2's kind; options are those of the ByteLevel pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options})
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=list(special), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def byte_fallback_bpe(kind: str, size: int = 700) -> Tokenizer:
    """A tokenizer of Llama-2's kind: spaces as ▁, missing characters as bytes.

    ``kind`` says how spaces are written: "prepend" (Llama 2: a normalizer, and a decoder that strips), "never" (Gemma: nothing
    before the text), or the scheme of a Metaspace pre-tokenizer ("metaspace-always", "metaspace-first", "metaspace-never").
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    steps: list[Any] = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind == "prepend":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    elif kind == "never":
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.decoder = decoders.Sequence(steps)
    else:
        scheme = kind.removeprefix("metaspace-")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=False)
        last = [] if scheme == "never" else [decoders.Strip(" ", 1, 0)]
        tokenizer.decoder = decoders.Sequence([*steps, *last])
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*SPECIAL, *bytes_], limit_alphabet=100, show_progress=False
    )
    tokenizer.train_from_iterator([text.replace(" ", "▁") for text in CORPUS], trainer)
    return _with_plain_bytes(tokenizer, bytes_)


def _with_plain_bytes(tokenizer: Tokenizer, bytes_: list[str]) -> Tokenizer:
    """The trainer can only put the byte tokens first as special ones; in real files they are plain."""
    import json

    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in bytes_]
    return Tokenizer.from_str(json.dumps(document))


def unigram(size: int = 200) -> Tokenizer:
    """A tokenizer of T5's kind: Metaspace decoder, unknown characters lost, compatibility forms normalized."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def llama_of(pieces: list[tuple[str, float, bool]]) -> Tokenizer:
    """The tokenizers form of a SentencePiece BPE model, given texts, scores and whether a piece is special, by id.

    A merge is a piece cut in two pieces; merges go by the score of the whole, as Hugging Face's converter has them.
    """
    ids = {text: token for token, (text, _, _) in enumerate(pieces)}
    merges = []
    for text, score, _ in pieces:
        parts = [(text[:i], text[i:]) for i in range(1, len(text)) if text[:i] in ids and text[i:] in ids]
        parts.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges += [(score, pair) for pair in parts]
    merges.sort(key=lambda entry: -entry[0])
    model = models.BPE(
        vocab=ids, merges=[pair for _, pair in merges], unk_token="<unk>", fuse_unk=True, byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text, _, special in pieces if special])
    return tokenizer


def sentencepiece_model(**options: Any) -> bytes:
    """The file of a SentencePiece model; options are the trainer's."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        **{
            "sentence_iterator": iter(line for text in CORPUS for line in text.splitlines()),
            "model_writer": model,
            "vocab_size": 600,
            "model_type": "bpe",
            "byte_fallback": True,
            "character_coverage": 0.98,
            "hard_vocab_limit": False,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "minloglevel": 2,
            **options,
        }
    )
    return model.getvalue()
