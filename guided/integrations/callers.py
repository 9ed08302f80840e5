"""Which generation of transformers a call of a logits processor belongs to.

``generate`` passes token ids and scores to a processor, but nothing that tells one generation from another. Token ids
alone cannot decide it either: a sequence that is one token longer may be the next step of a generation, or the prompt
of a new one. What does identify a generation is the ``LogitsProcessorList`` through which the processor is called:
every ``generate`` builds a new one. It is not an argument, so it is read from the stack, where it is the ``self`` of
the calling function.

Assisted decoding lets an assistant model draft tokens by a ``generate`` of its own. That call has a list of its own too, and runs inside
``CandidateGenerator.get_candidates``, whose caller holds the list of the generation that the draft is for.

A loop that calls a processor without such a list has no identity here; the processor then goes by thread and content.
"""

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

__all__ = ["Caller", "Draft", "calling_list", "draft_of"]

_LISTS = "transformers.generation.logits_process"
_DRAFTERS = "transformers.generation.candidate_generator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls a processor.

    Attributes
    ----------
    processors : LogitsProcessorList
        One for each generation.
    frame : FrameType
        The function that called the list, such as ``_sample``.
    """

    processors: Any
    frame: FrameType

    @property
    def function(self) -> str:
        """The name of the function that called the list."""
        return self.frame.f_code.co_name

    def committed_length(self) -> int:
        """The number of tokens that assisted decoding has accepted: behind them there are drafts."""
        committed = self.frame.f_locals.get("input_ids")
        return 0 if committed is None else int(committed.shape[1])

    def setting(self, name: str) -> Any:
        """A setting of the generation; None where it has none, or its configuration is not known."""
        return getattr(self.frame.f_locals.get("generation_config"), name, None)


@dataclass(frozen=True, slots=True)
class Draft:
    """What drafts tokens for another generation.

    Attributes
    ----------
    processors : LogitsProcessorList or None
        Of the generation that the draft is for.
    own_tokenizer : bool
        Does the assistant model read and write tokens of another tokenizer?
    """

    processors: Any
    own_tokenizer: bool


def calling_list(depth: int) -> Caller | None:
    """The innermost list of processors on the stack, from the caller's ``depth``-th caller on; None: there is none."""
    module = sys.modules.get(_LISTS)
    if module is None:
        return None
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_back is not None:
        if frame.f_code.co_name == "__call__":
            owner = frame.f_locals.get("self")
            if isinstance(owner, module.LogitsProcessorList):
                return Caller(owner, frame.f_back)
        frame = frame.f_back
    return None


def draft_of(caller: Caller) -> Draft | None:
    """What the caller drafts for; None where it generates for itself."""
    module = sys.modules.get(_DRAFTERS)
    found = None
    frame: FrameType | None = caller.frame if module is not None else None
    while frame is not None:
        if frame.f_code.co_name == "get_candidates" and frame.f_back is not None:
            drafter = frame.f_locals.get("self")
            if isinstance(drafter, module.CandidateGenerator):  # type: ignore[union-attr]
                # No break: a subclass may call the method of its parent, and only the outermost is called by the decoding loop.
                found = Draft(frame.f_back.f_locals.get("logits_processor"), hasattr(drafter, "assistant_tokenizer"))
        frame = frame.f_back
    return None if found is None or found.processors is caller.processors else found
