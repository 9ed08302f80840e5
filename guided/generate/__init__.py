"""Generators: a language model and an index produce constrained text.

In: a `model.LanguageModel`, a prompt, and an index (or a spec to compile). Out: a stream of events (`guided.events`), or a result with
the text, its value and its tokens.

Invariants: only allowed tokens are chosen, with the model's probabilities renormalized; a text is complete when its budget of tokens
ends; a generator calls the model only through a driver, so streams, event loops and batches run the same coroutine.

Reading order: `model`, `sampler`, `decoding`, `drivers`, `generator`; the factory functions (`api`, `texts`, `schemas`, `grammars`) with
`structured` for JSON; `segments`, `writing` and `tools` for tool calls; `search` and `weighing` for methods that choose among whole texts.

Public modules: none.
"""

from guided.keywords import attribute_elsewhere


def __getattr__(name: str) -> object:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{attribute_elsewhere(name, __name__, ())}")
