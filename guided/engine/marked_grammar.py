"""`MarkedGrammar`: a Lark grammar derived from another spec, with that spec's fingerprint and markers; made by `guided.calls`."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from guided.engine.grammar import Grammar
from guided.engine.specs import Lowered
from guided.limits import Limits
from guided.schema.frontend.json_values import text_of, value_of

__all__ = ["MarkedGrammar"]


@dataclass(frozen=True, slots=True, eq=False)
class MarkedGrammar:
    """A Lark grammar generated from another spec."""

    kind: ClassVar[str] = "marked grammar"

    grammar: Grammar = field(repr=False)
    # SHA-256 in hex of that spec.
    fingerprint: str
    # Texts that may be special tokens of the vocabulary.
    markers: tuple[str, ...] = ()
    # Remarks for the user.
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """All fields as text."""
        made_of = {"grammar": self.grammar.data, "fingerprint": self.fingerprint}
        return text_of({**made_of, "markers": self.markers, "notes": self.notes})

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "MarkedGrammar":
        """See `StoredSpec`."""
        try:
            content: Any = value_of(data, limits)
            grammar = Grammar.from_data(content["grammar"], limits)
            markers, notes = (tuple(map(str, content[name])) for name in ("markers", "notes"))
            return cls(grammar, str(content["fingerprint"]), markers, notes)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a valid grammar with markers: {error}") from error

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """See `StackSpec`. Lark's own notes are omitted, because no user wrote the grammar."""
        return replace(self.grammar.pushdown(limits, alphabet), notes=self.notes)
