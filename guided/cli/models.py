"""Loading the model that a command's options name, with a line that says so."""

from typing import TYPE_CHECKING

from guided.cli.output import progress

if TYPE_CHECKING:
    from guided.generate.model import LanguageModel

__all__ = ["load_model"]


def load_model(path: str | None, device: str) -> "LanguageModel":
    """The model, or the default one, which is fetched if need be.

    Raises
    ------
    ModelError
        It can not be fetched or read.
    """
    with progress("starting"):
        from guided.integrations.load import default_model_gguf, load

    # Why apart: fetching and converting write lines of their own.
    if path is None:
        default_model_gguf()
    with progress("loading the model", hidden=path is not None and path.endswith(".gguf")):
        return load(path, device=device)
