"""`TokenizedModel`: what models with a tokenizer of their own share.

The tokenizer has two uses that must be kept apart. A *prompt* is encoded by the tokenizer's own rules, including special tokens by name.
*Inserted text* (a tool's result) is encoded to exactly its bytes, so it can never become a special token.

SentencePiece tokenizers add a space at the beginning of a text, but not within a text. If the tokens of a text do not decode to it, the
text is encoded after an anchor, and the anchor's tokens are removed; if that fails too, it is split into the fewest tokens.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from guided.calls.tool_prompt import ToolPrompt
from guided.errors import ModelError
from guided.generate.chat import ChatTemplate
from guided.generate.model import LanguageModel, Prompt
from guided.vocabulary.splitting import fewest_tokens
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenizedModel"]

_ANCHORS = ("\n", "a", ".")


class TokenizedModel(LanguageModel):
    """A model whose prompts are encoded by its tokenizer.

    Parameters
    ----------
    vocabulary, block, context_length
        As in `LanguageModel`.
    template : callable
        Returns the source of the chat template.
    """

    def __init__(
        self, vocabulary: Vocabulary, block: int, context_length: int | None, template: Callable[[], str]
    ) -> None:
        super().__init__(vocabulary, block, context_length)
        self._chat = ChatTemplate(self._templated, template)

    @abstractmethod
    def _tokenized(self, text: str, *, add: bool, special: bool) -> list[int]:
        """Encode with the tokenizer; ``add``: add what begins a sequence; ``special``: recognize names of special tokens."""

    @abstractmethod
    def _begin(self) -> int | None:
        """The token that begins a sequence, if there is one."""

    @abstractmethod
    def _templated(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, continued: bool) -> str:
        """Render messages, as `ChatTemplate` calls it."""

    def prompt_tokens(self, prompt: Prompt, tools: ToolPrompt | None = None) -> list[int]:
        """Return the tokens of a prompt.

        A str is encoded by the tokenizer's own rules: special tokens in it are recognized, and a beginning of sequence is added if the
        tokenizer adds one. Messages are rendered by the chat template, with ``tools`` if given (`guided.generate.chat`); if the last
        message is the assistant's, it is continued.

        Raises
        ------
        ModelError
            There is no chat template, or it rejects the messages; or the prompt is empty and the tokenizer has no token to begin with.
        """
        if isinstance(prompt, str):
            tokens = self._tokenized(prompt, add=True, special=True)
        else:
            tokens = self._tokenized(self._chat.text(prompt, tools), add=False, special=True)
        if tokens:
            return tokens
        begin = self._begin()
        if begin is None:
            raise ModelError("the prompt is empty, and this tokenizer has no token that begins a sequence")
        return [begin]

    def encode(self, text: str) -> list[int]:
        """Encode a text to tokens that decode to exactly its bytes: names of special tokens are plain text, and nothing is added.

        Raises
        ------
        ModelError
            The vocabulary cannot spell the text.
        """
        data = text.encode()
        tokens = self._tokenized(text, add=False, special=False)
        if self.vocabulary.decode(tokens) == data:
            return tokens
        for anchor in _ANCHORS:
            tokens = self._tokenized(anchor + text, add=False, special=False)
            for begin in range(1, len(tokens) + 1):
                if self.vocabulary.decode(tokens[:begin]).endswith(anchor.encode()):
                    break
            if self.vocabulary.decode(tokens[begin:]) == data:
                return tokens[begin:]
        if (found := fewest_tokens(self.vocabulary, data)) is None:
            raise ModelError(f"the vocabulary cannot spell {data[:60]!r}")
        return found
