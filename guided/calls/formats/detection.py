r"""`format_of`: detects a model's call format by its chat template.

A format's file lists texts that all templates of its family contain (``seen``), and texts that occur only in other families (``unseen``).
The template is searched, never run; ``\n`` in a string of it counts as the line feed that it writes. If several formats match, the one
whose texts are longest in total is chosen; a tie is an error.
"""

import re
from collections.abc import Mapping
from typing import Any

from guided.calls.formats.files import format_named, format_names
from guided.calls.formats.format import Format
from guided.errors import SchemaError, shown

__all__ = ["format_for", "format_of"]

_KEY = "tokenizer.chat_template"
# Attributes with a template, or with an object that has one: tokenizers, their processors, models of this package, llama-cpp-python.
_HOLDERS = ("chat_template", "metadata", "hf_tokenizer", "tokenizer")
_WRITES_CALLS = re.compile(r"(?i)tool|function")
_TAG = re.compile(r"<[|｜]?/?[A-Za-z][^<>\s{}'\"]{1,40}>|\[/?[A-Z][A-Z_]{2,20}\]")


def format_of(source: Any) -> Format:
    """Detect the call format of a model's chat template.

    Parameters
    ----------
    source : str, Mapping or object
        The template; or an object with one: a transformers tokenizer, a model of `guided.load`, a ``llama_cpp.Llama``, or the metadata
        of a GGUF file.

    Raises
    ------
    SchemaError
        There is no template, or it matches no bundled format; the message lists the tags found in it.
    """
    template = _template(source)
    if template is None:
        given = "there is" if source is None else f"a {type(source).__name__} has"
        reason = f"{given} no chat template to detect the format from: give chat_template, or the format's name"
        raise SchemaError(reason, "", "format")
    template = template.replace("\\n", "\n")
    fitting = [
        (sum(map(len, form.seen)), name)
        for name, form in ((name, format_named(name)) for name in format_names())
        if form.seen
        and all(text in template for text in form.seen)
        and not any(text in template for text in form.unseen)
    ]
    if not fitting:
        tags = list(dict.fromkeys(_TAG.findall(template)))[:12]
        seen = f"tags in it: {', '.join(tags)}" if tags else "it contains no tags"
        known = ", ".join(format_names())
        reason = f"the chat template matches no known format; {seen}. Give a format's name, such as hermes: {known}"
        raise SchemaError(reason, "", "chat_template")
    longest = max(length for length, _ in fitting)
    names = [name for length, name in fitting if length == longest]
    if len(names) > 1:
        raise SchemaError(f"the chat template fits several formats, {', '.join(names)}: name one", "", "chat_template")
    return format_named(names[0])


def format_for(model: Any) -> Format:
    """Return the call format of a model's chat template; JSON if there is no template, or if it writes no tools.

    Raises
    ------
    SchemaError
        The template writes tools in no known format, or fits several.
    """
    template = _template(model)
    if template is None or not _WRITES_CALLS.search(template):
        return format_named("json")
    return format_of(template)


def _template(source: Any) -> str | None:
    """The template of an object; if it has several, the one for tools."""
    for _ in range(4):
        if isinstance(source, str):
            return source
        if isinstance(source, list | tuple):
            # Why: transformers tokenizers may have a list of named templates.
            source = {item.get("name"): item.get("template") for item in source if isinstance(item, Mapping)}
        if isinstance(source, Mapping):
            names = ("tool_use", f"{_KEY}.tool_use", "default", "chat_template", _KEY)
            source = next((source[name] for name in names if isinstance(source.get(name), str)), None)
        else:
            holders = (getattr(source, name, None) for name in _HOLDERS)
            source = next((holder for holder in holders if holder), None)
        if source is None:
            return None
    raise SchemaError(f"no chat template found in {shown(source)}", "", "chat_template")
