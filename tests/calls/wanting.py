"""A model that wants to say one text, and its vocabulary."""

import numpy as np

from guided.generate.function_model import FunctionModel
from guided.vocabulary.vocabulary import Vocabulary

# All bytes, some pieces, and special tokens for the json format.
PIECES = [b"<T>", b"<T>add(", b")=", b")= ", b") =", b" = ", b"=3", b"\n\n", b"\nQ", b"Q:"]
SPECIAL = {"<tool_call>": 270, "</tool_call>": 271}
VOCABULARY = Vocabulary(
    [*(bytes([value]) for value in range(256)), *PIECES, *[None] * 4], eos=[280], size=281, special=SPECIAL
)


class Wanting(FunctionModel):
    """A model that wants to say a text after any prompt that ends in ``?``, in the longest tokens, and then ends.

    What is inserted must be what the text has there: otherwise the model, which has lost its place, ends.
    """

    def __init__(self, text: str, vocabulary: Vocabulary = VOCABULARY, pieces: bool = True) -> None:
        super().__init__(self._logits, vocabulary, lambda said: list(said.encode()))
        self.text = text.encode()
        self.asked: list[bytes] = []
        self.pieces = pieces

    def _logits(self, tokens: list[int]) -> np.ndarray:
        spelled = {number: name.encode() for name, number in self.vocabulary.special.items()}
        context = b"".join(self.vocabulary[token] or spelled.get(token, b"") for token in tokens)
        self.asked.append(context)
        said = context[context.rindex(b"?") + 1 :]
        logits = np.zeros(self.vocabulary.size)
        logits[self.vocabulary.eos[0]] = 1
        if self.text.startswith(said):
            for token, data in enumerate(self.vocabulary.tokens[: None if self.pieces else 256]):
                if data and self.text.startswith(said + data):
                    logits[token] = 5 + len(data)
        return logits
