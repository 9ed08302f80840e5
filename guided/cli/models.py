"""Loading the model that a command's options select, with a progress line."""

from pathlib import Path
from typing import TYPE_CHECKING

from guided.progress import progress

if TYPE_CHECKING:
    from guided.generate.model import LanguageModel

__all__ = ["load_model", "model_name"]


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


def model_name(path: str | None) -> str:
    """Return the name of a model that `load_model` loads: its whole path where it is a file or folder."""
    from guided.integrations.load import DEFAULT_MODEL

    if path is None:
        return f"{DEFAULT_MODEL.package} {DEFAULT_MODEL.version}"
    place = Path(path).expanduser()
    return str(place.resolve()) if place.exists() else path
