"""Bytes that come next in whatever token: which tokens go along, and that a scored name leaves the next token to the model."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.generate.steering import FreeGuide, tokens_along


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=40), st.binary(min_size=1, max_size=4))
def test_tokens_that_go_along(tokens: list[bytes], data: bytes) -> None:
    vocabulary = guided.Vocabulary([*tokens, None], eos=[len(tokens)])
    mask = FreeGuide(vocabulary).mask() & tokens_along(vocabulary, data)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    expected = [i for i, token in enumerate(tokens) if token.startswith(data) or data.startswith(token)]
    assert np.flatnonzero(bits).tolist() == expected


def test_text_after_a_scored_name_begins_in_a_token_of_the_model() -> None:
    words = [bytes([byte]) for byte in range(256)] + [b'("', b'")', b"<T>", b"find", b"fin", None]
    vocabulary = guided.Vocabulary(words, eos=[261])

    def logits(tokens: list[int]) -> npt.NDArray[np.float32]:
        # After the parenthesis and the quote in one token it goes on; after a quote of its own it closes an empty text.
        wanted = {ord("Q"): 258, 258: 259, 259: 256, 256: ord("o"), ord("o"): 257, ord("("): ord('"'), ord('"'): 257}
        found = np.zeros(262, np.float32)
        found[wanted.get(tokens[-1], 261)] = 9.0
        return found

    def find(city: str) -> str:
        return city

    def fins(city: str) -> str:
        return city

    def encode(text: str) -> list[int]:
        data, found = text.encode(), []
        while data:
            token = max(
                (t for t, word in enumerate(words) if word and data.startswith(word)),
                key=lambda t: len(words[t] or b""),
            )
            found.append(token)
            data = data[len(words[token] or b"") :]
        return found

    model = guided.FunctionModel(logits, vocabulary, encode)
    made = guided.tools(model, [find, fins], format="tooldec-positional", select="score", execute=False)
    result = made("Q", max_tokens=30)
    assert [call.name for call in result.calls] == ["find"]
    assert result.calls[0].arguments == {"city": "o"}
