"""Identifies the transformers generation to which a call of a logits processor belongs.

``generate`` passes token ids and scores to a processor, but no identity of the generation. Token ids alone are ambiguous: a sequence that
is one token longer may be the next step of a generation, or the prompt of a new one. The ``LogitsProcessorList`` through which the
processor is called identifies a generation, since every ``generate`` creates a new one. It is not an argument, so it is read from the
stack, where it is the ``self`` of the calling function.

In assisted decoding an assistant model drafts tokens with a ``generate`` of its own. That call also has its own list, and runs inside
``CandidateGenerator.get_candidates``, whose caller holds the list of the main generation.

A loop that calls a processor without such a list has no identity; the processor then uses thread and content.
"""

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

__all__ = ["Caller", "calling_list", "draft_of"]

_LISTS = "transformers.generation.logits_process"
_DRAFTERS = "transformers.generation.candidate_generator"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a processor."""

    # The list, one per generation.
    processors: Any
    # The function that called the list, such as ``_sample``.
    frame: FrameType

    @property
    def function(self) -> str:
        """The name of the function that called the list."""
        return self.frame.f_code.co_name

    def committed_length(self) -> int:
        """Return the number of tokens that assisted decoding has accepted; drafts follow them."""
        committed = self.frame.f_locals.get("input_ids")
        return 0 if committed is None else int(committed.shape[1])

    def setting(self, name: str) -> Any:
        """Return a setting of the generation; None if it is unset or the configuration is unknown."""
        return getattr(self.frame.f_locals.get("generation_config"), name, None)


def calling_list(depth: int) -> Caller | None:
    """Find the innermost list of processors on the stack, from the caller's ``depth``-th caller on; None if there is none."""
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


def draft_of(caller: Caller) -> tuple[Any, bool] | None:
    """Return the list of the generation that the caller drafts for, and whether with another tokenizer; None if it is not a draft."""
    module = sys.modules.get(_DRAFTERS)
    found = None
    frame: FrameType | None = caller.frame if module is not None else None
    while frame is not None:
        if frame.f_code.co_name == "get_candidates" and frame.f_back is not None:
            drafter = frame.f_locals.get("self")
            if isinstance(drafter, module.CandidateGenerator):  # type: ignore[union-attr]
                # No break: a subclass may call its parent's method, and the decoding loop calls only the outermost one.
                found = frame.f_back.f_locals.get("logits_processor"), hasattr(drafter, "assistant_tokenizer")
        frame = frame.f_back
    return None if found is None or found[0] is caller.processors else found
