"""Optional packages, and the command that installs them."""

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, requires

from guided.errors import ModelError

__all__ = ["is_installed", "require"]


def is_installed(*packages: str) -> bool:
    """Return whether all packages can be imported."""
    return not _missing(packages)


def require(what: str, *packages: str) -> None:
    """Check that packages are installed.

    ``what``: the feature that needs them, for the message. ``packages``: names for import and installation.

    Raises
    ------
    ModelError
        Some are missing. The message names all of them and the command that installs them.
    """
    missing = _missing(packages)
    if missing:
        *others, last = missing
        names = f"{', '.join(others)} and {last}" if others else last
        raise ModelError(
            f"{what} needs {names}, not installed here: run pip install {' '.join(_requirements(missing))}"
        )


def _missing(packages: tuple[str, ...]) -> list[str]:
    return [package for package in packages if importlib.util.find_spec(package) is None]


def _requirements(packages: list[str]) -> list[str]:
    """Requirement strings for pip, with the versions that this distribution declares."""
    try:
        declared = requires("guided-decoding") or []
    except PackageNotFoundError:  # a source tree on the path
        declared = []
    requirements = {}
    for line in declared:
        requirement = line.partition(";")[0].strip()
        if match := re.match(r"[\w.-]+", requirement):
            requirements[match[0].lower()] = f'"{requirement}"'
    return [requirements.get(package, package) for package in packages]
