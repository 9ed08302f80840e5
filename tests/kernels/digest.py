"""Fingerprints of everything that kernels make, for a few small languages over a small vocabulary."""

import hashlib

import numpy as np

from guided.automata.build import from_strings, from_tree
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.vocabulary.vocabulary import Vocabulary

PATTERNS = ["a{1,9}", r"(?:\w\d?){0,3}", "(a|b)*a(a|b){4}", "[é-ü€]+x?", r"(?=.*b)a.*", "a{300}", "(?!)|b"]
TOKENS = [bytes([97 + i % 3]) * (1 + i // 3 % 4) + "é€1"[i % 3].encode()[: i % 4] for i in range(60)]


def digest() -> list[str]:
    """SHA-256 of automata, their combinations, and indices."""
    vocabulary = Vocabulary([*TOKENS, *(bytes([value]) for value in range(256))], eos=[330], size=340)
    automata = [from_tree(parse(pattern)) for pattern in PATTERNS]
    automata += [
        from_strings([b"ab", b"abc", b"xbc", b""]),
        automata[0] & automata[2],
        automata[1] | automata[3],
        ~automata[2],
    ]
    found = []
    for automaton in automata:
        index = build_regular(automaton, vocabulary, Limits())
        hashed = hashlib.sha256(automaton.fingerprint.encode())
        arrays = [value for _, value in sorted(vars(index).items()) if isinstance(value, np.ndarray)]
        for array in [*arrays, *map(index.mask, range(index.n_states)), index.mask_within(0, int(index.distance[0]))]:
            hashed.update(np.ascontiguousarray(array).tobytes())
        found.append(hashed.hexdigest())
    return found


if __name__ == "__main__":
    np.seterr(over="ignore")
    print(*digest(), sep="\n")
