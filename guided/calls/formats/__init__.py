"""Call formats as data: how a call is written, what begins it in running text, and where its result goes.

A format is a handful of texts (`texts`) in a `Format` (`format`); grammar, parser and renderer are all read off them. Those that come
with the package are files ``*.toml`` in this folder, read when they are asked for (`files`), and found by a model's chat
template (`detection`). A new format is a file or an instance of `Format`; nothing else needs to know of it.
"""

from guided.calls.formats.detection import format_of
from guided.calls.formats.files import format_named, format_names, read_format
from guided.calls.formats.format import Format

__all__ = ["Format", "format_named", "format_names", "format_of", "read_format"]
