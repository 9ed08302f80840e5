"""Content of a tokenizer before it becomes a `Vocabulary`: the same rules for every format.

- **Special tokens have no bytes.** If a file gives a special token bytes (usually its name), they are dropped here.
- **End of sequence** is every token that the tokenizer declares as such, and every *special* token whose name is one that
  chat models end a turn with (`END_NAMES`). Why the names: tokenizers declare one token, while models are trained to
  stop at several (Llama-3 at ``<|end_of_text|>``, ``<|eom_id|>`` and ``<|eot_id|>``), depending on whether they chat or complete;
  llama.cpp goes by names too. An explicit ``eos`` argument replaces this rule; it may name special and added tokens.
- ``<|end|>`` ends a turn (Phi) unless there is a ``<|return|>``: then it ends one message of several (gpt-oss).
- **Holes** between ids, and ids that no encoder produces, have no bytes.

Ids are checked before anything is allocated for them, so a damaged file cannot cause unbounded allocation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from guided.errors import VocabularyError
from guided.vocabulary.segmentation import UNKNOWN_ENCODING, Encoding

__all__ = ["END_NAMES", "ID_SPACE", "Content", "assemble", "named_ends"]

_END_NAMES = """
    </s> <eos> [EOS] [EOT] <EOT> <|EOT|> <|eot|> <|eom|> <|endoftext|> <|end_of_text|> <|eot_id|> <|eom_id|> <|im_end|>
    <|end|> <|return|> <|call|> <end_of_turn> <|end_of_turn|> <turn|> <|END_OF_TURN_TOKEN|> <end_of_utterance>
    <｜end▁of▁sentence｜>
"""
END_NAMES = frozenset(_END_NAMES.split())

ID_SPACE = 1 << 24


@dataclass(frozen=True, slots=True)
class Content:
    """Arguments of a `Vocabulary`, as a reader found them.

    Attributes
    ----------
    tokens : list of (bytes or None)
        Bytes of each id.
    eos : tuple of int
        Ids that end a sequence, ascending.
    special : dict of str to int
        Special tokens by name, including end of sequence tokens with a name.
    encoding : Encoding or str
        How the tokenizer encodes a text, or why that is unknown.
    added : frozenset of int
        Ids with bytes that the tokenizer matches as a whole (added tokens that are not special): they may end a sequence.
    """

    tokens: list[bytes | None]
    eos: tuple[int, ...]
    special: dict[str, int]
    encoding: Encoding | str = UNKNOWN_ENCODING
    added: frozenset[int] = frozenset()

    def ending_with(self, eos: Iterable[int]) -> "Content":
        """Return a content with these end of sequence tokens, without their bytes.

        Raises
        ------
        VocabularyError
            One of them is an ordinary token.
        """
        ends, tokens, special = sorted(set(eos)), list(self.tokens), dict(self.special)
        for token in ends:
            data = tokens[token] if 0 <= token < len(tokens) else None
            if data is None:
                continue
            if token not in self.added:
                raise VocabularyError(
                    f"eos: id {token} spells {data!r:.60} in this tokenizer, where it is neither a special nor an added token: check the id"
                )
            tokens[token] = None
            special.setdefault(data.decode("utf-8", "replace"), token)
        return replace(self, tokens=tokens, eos=tuple(ends), special=special)


def assemble(
    spelled: Iterable[tuple[int, bytes]],
    special: Iterable[tuple[int, str]],
    declared_eos: Iterable[int] = (),
    least_size: int = 0,
    encoding: Encoding | str = UNKNOWN_ENCODING,
    added: Iterable[int] = (),
) -> Content:
    """Order a reader's results by id, and apply the rules above.

    Parameters
    ----------
    spelled : iterable of (int, bytes)
        Ids and their bytes; an id may be repeated only with the same bytes.
    special : iterable of (int, str)
        Ids and names of the special tokens.
    declared_eos : iterable of int
        Ids that the tokenizer itself declares as end of sequence.
    least_size : int
        Ids below it exist even if nothing is known about them.
    encoding : Encoding or str
    added : iterable of int
        As in `Content`.

    Raises
    ------
    VocabularyError
        An id out of range or with two meanings, a special name that is empty or used twice, an end of sequence id that does not exist.
    """
    by_id: dict[int, bytes] = {}
    for token, data in spelled:
        if by_id.setdefault(token, data) != data:
            raise VocabularyError(f"id {token} is given twice, as {by_id[token]!r:.60} and as {data!r:.60}")
    names: dict[str, int] = {}
    for token, name in special:
        if not name:
            raise VocabularyError(f"special token {token} has an empty name")
        if names.setdefault(name, token) != token:
            raise VocabularyError(f"special token {name!r:.60} is given twice, as id {names[name]} and as id {token}")
    n_ids = max([least_size - 1, *by_id, *names.values()]) + 1
    if n_ids > ID_SPACE or min([0, *by_id, *names.values()]) < 0:
        wrong = next(i for i in [*by_id, *names.values(), least_size] if not 0 <= i < ID_SPACE)
        raise VocabularyError(f"id {wrong} is out of range: no tokenizer has {ID_SPACE:,} ids")

    eos = set(declared_eos)
    for token in sorted(eos):
        if not 0 <= token < n_ids:
            raise VocabularyError(f"end of sequence id {token} is out of range: the ids are 0 to {n_ids - 1}")
    eos |= named_ends(names)
    silent = eos.union(names.values())
    tokens = [None if token in silent else by_id.get(token) or None for token in range(n_ids)]
    return Content(tokens, tuple(sorted(eos)), names, encoding, frozenset(added) - silent)


def named_ends(names: Mapping[str, int]) -> set[int]:
    """Return the special tokens with which chat models end a turn, of all special tokens by name."""
    ends = END_NAMES - {"<|end|>"} if "<|return|>" in names else END_NAMES
    return {token for name, token in names.items() if name in ends}
