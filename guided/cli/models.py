"""Loading the model that a command's options select, with a progress line."""

from typing import TYPE_CHECKING

from guided.progress import progress

if TYPE_CHECKING:
    from guided.generate.model import LanguageModel

__all__ = ["load_model"]


def load_model(path: str | None, device: str) -> "LanguageModel":
    """Load a model; by default the default model, which is fetched on first use.

    Raises
    ------
    ModelError
        A package is missing, or the model cannot be fetched or read.
    """
    with progress("loading the model"):
        from guided.integrations.load import load

        return load(path, device=device)
