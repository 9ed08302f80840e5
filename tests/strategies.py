"""Hypothesis strategies that several test modules share, one section per subject."""

from hypothesis import strategies as st

from guided.vocabulary.vocabulary import Vocabulary

# ---------------------------------------------------------------------------------------------------- vocabularies


@st.composite
def vocabularies(
    draw: st.DrawFn, alphabet: str = 'ab"é€', max_tokens: int = 24, complete: bool = False, longest: int = 5
) -> Vocabulary:
    """Small vocabularies with everything that real ones have.

    Tokens are byte strings over the UTF-8 of ``alphabet`` (so characters are split), parts of texts over it, runs of
    one byte, and rarely one of more than 1,000 bytes. There are duplicates, ids without bytes, one to three end of
    sequence ids (some beyond the tokens), special tokens and padding.

    Parameters
    ----------
    alphabet : str
        The characters that tokens are made of.
    max_tokens : int
        Most ids before duplicates, end of sequence and special ones are mixed in.
    complete : bool
        Every byte of the alphabet has a token of its own, so all texts over it can be spelled; else bytes may be missing.
    longest : int
        Most characters of an ordinary token.
    """
    values = sorted(set(alphabet.encode()))
    ordinary = st.one_of(
        st.lists(st.sampled_from(values), min_size=1, max_size=longest).map(bytes),
        st.text(st.sampled_from(alphabet), min_size=1, max_size=longest).map(str.encode),
        st.tuples(st.sampled_from(values), st.integers(1, longest)).map(lambda pair: bytes([pair[0]]) * pair[1]),
        st.sampled_from([b"", None]),
    )
    tokens: list[bytes | None] = draw(st.lists(ordinary, max_size=max_tokens))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=3)) if tokens else []
    if draw(st.integers(0, 19)) == 0:
        tokens.append(bytes([values[0]]) * draw(st.integers(1000, 1100)) + bytes([values[-1]]))
    if complete:
        tokens += [bytes([value]) for value in values]
    n_eos, n_special = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    tokens = draw(st.permutations([*tokens, *[None] * (n_eos + n_special - 1)]))
    size = len(tokens) + draw(st.sampled_from([1, 2, 31, 40]))
    silent = [i for i, token in enumerate(tokens) if not token] + [size - 1]
    chosen = draw(st.permutations(silent))
    special = {f"<|{i}|>": token for i, token in enumerate(chosen[n_eos : n_eos + n_special])}
    return Vocabulary(tokens, eos=chosen[:n_eos], size=size, special=special)
