"""The grammar backend ``guided`` of SGLang: ``python -m sglang.launch_server --grammar-backend guided``.

SGLang calls `register` by the entry point ``sglang.srt.plugins`` in its processes. It uses SGLang's registry of backends, and nothing of
SGLang is changed. Importing this module imports neither SGLang nor the rest of the package.
"""

from typing import Any

__all__ = ["NAME", "register"]

NAME = "guided"


def register() -> None:
    """Add the backend to SGLang's registry, and its name to the choices of ``--grammar-backend``."""
    from sglang.srt.arg_groups.choices import add_grammar_backend_choices
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend

    add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, _create)


def _create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    from guided.integrations.sglang_backend import create

    return create(server_args, tokenizer, vocab_size, eos_token_ids)
