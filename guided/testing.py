"""Models for tests of programs that use `guided`: they need no weights, and write what the test says."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from guided.errors import ModelError, kind_of
from guided.generate.function_model import FunctionModel, FunctionSession
from guided.generate.messages import check_messages, text_of
from guided.generate.model import Logits, Prompt, Session
from guided.generate.retries import CORRECTED
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ScriptedModel", "scripted"]

_VOCABULARY = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
_END = 256
# Far enough apart that sampling at temperature 1 follows the script, too.
_WANTED, _INSTEAD = 60.0, 30.0


class ScriptedModel(FunctionModel):
    """A model that writes given texts, one token for each byte; made by `scripted`.

    Attributes
    ----------
    prompts : list of str
        The prompts that it has read, in order.
    known : list of bytes
        The prompts of which tokens were asked, and those of retries: the first request may have forced tokens after one.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(self._logits, _VOCABULARY, lambda text: list(text.encode()))
        self._texts = {end: text.encode() for end, text in texts.items()}
        self.prompts: list[str] = []
        self.known: list[bytes] = []

    def prompt_tokens(self, prompt: Prompt, tools: object = None) -> list[int]:  # noqa: ARG002 - tools are not shown
        """Return the bytes of a prompt; messages are written ``role: content``, one on a line."""
        if not isinstance(prompt, str):
            check_messages(prompt)
            prompt = "\n".join(f"{message['role']}: {text_of(message)}" for message in prompt)
        tokens = self.encode(prompt)
        if bytes(tokens) not in self.known:
            self.known.append(bytes(tokens))
        return tokens

    def session(self) -> Session:
        """Return a new, empty session."""
        return _ScriptedSession(self, self._logits)

    def prompt_and_text(self, read: bytes) -> tuple[bytes, bytes]:
        """Return the prompt with which the bytes read begin, and the text that the model writes after it.

        Raises
        ------
        ModelError
            The script has no text for the prompt.
        """
        before, end, _ = read.rpartition(CORRECTED.encode())
        # A retry reads a str, what was written after it, and the error.
        if b"\n\nError: " in before and before + end not in self.known:
            self.known.append(before + end)
        pairs = [(prompt, self._text_after(prompt)) for prompt in self.known if read.startswith(prompt)]
        pairs = pairs or [(read, self._text_after(read))]
        # Of prompts that begin like each other, the one after which the script was followed.
        prompt, text = max(
            pairs,
            key=lambda pair: ((pair[0] + (pair[1] or b"")).startswith(read) and pair[1] is not None, len(pair[0])),
        )
        if text is None:
            raise ModelError(f"the script has no text after a prompt that ends in {prompt.decode()[-40:]!r}")
        return prompt, text

    def _logits(self, tokens: list[int]) -> Logits:
        read = bytes(tokens)
        prompt, text = self.prompt_and_text(read)
        written = read[len(prompt) :]
        logits = np.zeros(self.vocabulary.size, np.float32)
        logits[_END] = _INSTEAD
        is_followed = text.startswith(written) and written != text
        logits[text[len(written)] if is_followed else _END] = _WANTED
        return logits

    def _text_after(self, prompt: bytes) -> bytes | None:
        ends = [end for end in self._texts if prompt.endswith(end.encode())]
        return self._texts[max(ends, key=len)] if ends else None


class _ScriptedSession(FunctionSession):
    def __init__(self, model: ScriptedModel, function: Callable[[list[int]], npt.ArrayLike]) -> None:
        super().__init__(function, model.vocabulary.size, model.block)
        self._model = model
        self._prompt: bytes | None = None

    def start(self, tokens: Sequence[int]) -> Logits:
        self._prompt = None
        return super().start(tokens)

    def _forward(self, tokens: Sequence[int]) -> Logits:
        prompt, _ = self._model.prompt_and_text(bytes([*self._tokens, *tokens]))
        # Why not at the start: a retry keeps what its prompt begins with.
        if self._prompt is None or (prompt != self._prompt and prompt in self._model.known):
            self._prompt = prompt
            self._model.prompts.append(prompt.decode(errors="replace"))
        return super()._forward(tokens)


def scripted(texts: str | Mapping[str, str]) -> ScriptedModel:
    """Return a model that writes a text after each prompt, as far as the constraint allows it.

    Parameters
    ----------
    texts : str or mapping of str to str
        The text after every prompt; or the text after prompts that end in a key, of which the longest decides. Results that tools insert
        are part of the text. Where the constraint or the budget does not allow the next character, the model departs from the text, and
        ends as soon as it may.

    Raises
    ------
    ModelError
        When generating: no key is the end of the prompt.

    Examples
    --------
    >>> import guided
    >>> model = guided.testing.scripted({"Oslo?": '{"city": "Oslo"}', "": "{}"})
    >>> guided.json(model, dict[str, str])("Where is Oslo?").value
    {'city': 'Oslo'}
    """
    if not isinstance(texts, str | Mapping):
        raise TypeError(f"scripted needs a text, or a dict from ends of prompts to texts, not {kind_of(texts)}")
    return ScriptedModel({"": texts} if isinstance(texts, str) else texts)
