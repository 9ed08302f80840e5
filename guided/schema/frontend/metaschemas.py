"""The metaschemas of the drafts, as data from the package ``jsonschema_specifications`` if it is installed.

The package is never imported; its files are read. Without it a reference to a metaschema is refused, like any unknown one.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["content", "metaschema"]

_FILES = {
    "http://json-schema.org/draft-03/schema": "draft3/metaschema.json",
    "http://json-schema.org/draft-04/schema": "draft4/metaschema.json",
    "http://json-schema.org/draft-06/schema": "draft6/metaschema.json",
    "http://json-schema.org/draft-07/schema": "draft7/metaschema.json",
    "https://json-schema.org/draft/2019-09/schema": "draft201909/metaschema.json",
    "https://json-schema.org/draft/2020-12/schema": "draft202012/metaschema.json",
    **{
        f"https://json-schema.org/draft/2019-09/meta/{name}": f"draft201909/vocabularies/{name}"
        for name in ("core", "applicator", "validation", "meta-data", "content", "format")
    },
    **{
        f"https://json-schema.org/draft/2020-12/meta/{name}": f"draft202012/vocabularies/{name}"
        for name in (
            "core",
            "applicator",
            "unevaluated",
            "validation",
            "meta-data",
            "content",
            "format",
            "format-annotation",
            "format-assertion",
        )
    },
}


def metaschema(uri: str) -> Any:
    """Return the metaschema of a URI without fragment; None if there is none, or the package is missing."""
    file = _FILES.get(uri)
    return None if file is None else content(file)


@cache
def content(file: str) -> Any:
    """Return the content of a metaschema file; None without the package."""
    found = find_spec("jsonschema_specifications")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "schemas" / file
    return json.loads(path.read_bytes()) if path.is_file() else None
