"""Random texts of an index: byte by byte, and token by token."""

import random

from guided.engine.index import Index
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits

__all__ = ["random_text", "steered_text"]

# What ends a value is taken more often than its share, so that texts end.
_ENDS = tuple(b'"}]')


def random_text(index: Index, seed: int, longest: int = 3000) -> str | None:
    """A text that the index accepts; None if it grows too long. The index is over `tests.schema.engine.BYTES`."""
    generator = random.Random(seed)
    guide = index.guide()
    data = bytearray()
    while len(data) < longest:
        allowed = index.allowed(guide.state).tolist()
        ends = [token for token in allowed if token in _ENDS]
        if allowed[-1] == 256 and generator.random() < 0.5:
            return data.decode()
        usual = [token for token in allowed if token < 0x80] or allowed
        if usual == [256]:
            return data.decode()
        token = generator.choice(ends if ends and generator.random() < 0.35 else usual)
        if token == 256:
            return data.decode()
        guide.advance(token)
        data.append(token)
    return None


def steered_text(index: Index, vocabulary: Vocabulary, chance: random.Random, free: int = 40) -> bytes | None:
    """A text of tokens by lot, steered to its end after a while; None where that is far away."""
    guide, text = index.guide(), b""
    left = -1
    for step in range(free + 200):
        if step == free:
            left = guide.remaining + 3
            if left > 200:
                return None
        mask = guide.mask() if left < 0 else guide.mask_within(left)
        allowed = bits(mask)
        assert len(allowed), text
        if guide.is_accepting and (left >= 0 or chance.random() < 0.3):
            guide.advance(vocabulary.eos[0])
            assert guide.is_finished
            return text
        token = chance.choice(allowed)
        if token in vocabulary.eos:
            return text
        guide.advance(token)
        text += vocabulary[token] or b""
        left -= left > 0
    raise AssertionError(f"no end after {text!r}")
