"""Random texts of an index, byte by byte."""

import random

from guided.engine.index import Index

__all__ = ["random_text"]

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
