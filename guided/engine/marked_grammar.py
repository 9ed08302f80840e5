"""`MarkedGrammar`: a Lark grammar that says what another spec does, under its name and with its markers, as `guided.calls` makes it."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from guided.engine.grammar import Grammar
from guided.engine.specs import Lowered
from guided.limits import Limits
from guided.schema.json_values import text_of, value_of

__all__ = ["MarkedGrammar"]


@dataclass(frozen=True, slots=True, eq=False)
class MarkedGrammar:
    """A grammar that was made of something else.

    Attributes
    ----------
    grammar : Grammar
    fingerprint : str
        SHA-256 in hex of what it was made of.
    markers : tuple of str
        Texts that may be special tokens of a vocabulary.
    notes : tuple of str
        What a user should know.
    """

    kind: ClassVar[str] = "marked grammar"

    grammar: Grammar = field(repr=False)
    fingerprint: str
    markers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """Everything as text."""
        content = {"grammar": self.grammar.data, "fingerprint": self.fingerprint, "markers": self.markers}
        return text_of({**content, **({"notes": self.notes} if self.notes else {})})

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "MarkedGrammar":
        """The spec of what `data` gave.

        Raises
        ------
        ValueError
            The text is something else.
        """
        try:
            content: Any = value_of(data, limits)
            grammar = Grammar.from_data(content["grammar"], limits)
            markers, notes = (tuple(map(str, content.get(name, ()))) for name in ("markers", "notes"))
            return cls(grammar, str(content["fingerprint"]), markers, notes)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no grammar with markers: {error}") from error

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """The automaton of the texts. What Lark decided about a grammar that nobody wrote is no note.

        Raises
        ------
        GrammarError, LimitError, VocabularyError
            As `Grammar`.
        """
        return replace(self.grammar.pushdown(limits, alphabet), notes=self.notes)
