"""Call formats as data: how a call is written, what begins it in running text, and where its result is inserted.

A format is a set of texts (`texts`) in a `Format` (`format`); grammar, parser and renderer are derived from it. Bundled formats are files
``*.toml`` in this folder, read on demand (`files`) and selected by a model's chat template (`detection`). A new format is a file or an
instance of `Format`; no other code changes.
"""

from guided.calls.formats.detection import format_of
from guided.calls.formats.files import format_named, format_names, read_format
from guided.calls.formats.format import Format

__all__ = ["Format", "format_named", "format_names", "format_of", "read_format"]
