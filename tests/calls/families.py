"""Readers of calls written from the documentation of each model family, by `re` and `json`: they share nothing with the package.

A reader gets a whole text, prose and calls, and gives names and arguments, or raises ValueError.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["READERS", "TYPE_OF", "Found"]

Found = list[tuple[str, Any]]
_M3 = "]<]minimax[>["


TYPE_OF = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def _object(call: dict[str, Any], key: str = "arguments") -> tuple[str, Any]:
    if not isinstance(call["name"], str) or not isinstance(call[key], dict):
        raise ValueError(f"{call} is no call")
    return call["name"], call[key]


def _load(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def _blocks(begin: str, end: str, text: str) -> list[str]:
    """What stands between two tags; each tag that begins is closed."""
    found = re.findall(re.escape(begin) + "(.*?)" + re.escape(end), text, re.DOTALL)
    if text.count(begin) != len(found) or text.count(end) != len(found):
        raise ValueError("an open tag")
    return found


def hermes(text: str) -> Found:
    return [_object(_load(block)) for block in _blocks("<tool_call>", "</tool_call>", text)]


def longcat(text: str) -> Found:
    return [_object(_load(block)) for block in _blocks("<longcat_tool_call>", "</longcat_tool_call>", text)]


def json_calls(text: str) -> Found:
    if "<tool_call>" in text:
        return hermes(text)
    found = _load(text)
    return [_object(call) for call in (found if isinstance(found, list) else [found])]


def _listed(*triggers: str, end: str = "") -> Callable[[str], Found]:
    def read(text: str) -> Found:
        places = [(text.index(trigger), trigger) for trigger in triggers if trigger in text]
        place, trigger = min(places)
        rest = text[place + len(trigger) :].lstrip()
        calls, after = json.JSONDecoder().raw_decode(rest)
        if not rest[after:].lstrip().startswith(end):
            raise ValueError("the list does not end")
        return [_object(call) for call in calls]

    return read


def openai(text: str) -> Found:
    message, _ = json.JSONDecoder().raw_decode(text[text.index('{"tool_calls"') :])
    found = []
    for call in message["tool_calls"]:
        if call["type"] != "function" or not isinstance(call.get("id", ""), str):
            raise ValueError("no call")
        found.append(_object(call["function"]))
    return found


def mistral_args(text: str) -> Found:
    found = []
    for block in text.split("[TOOL_CALLS]")[1:]:
        match = re.match(r"(?P<name>[^\[{]+)(\[CALL_ID\][a-zA-Z0-9]{9})?\[ARGS\]", block)
        if match is None:
            raise ValueError(block)
        arguments, _ = json.JSONDecoder().raw_decode(block[match.end() :])
        found.append((match["name"], arguments))
    return found


def deepseek_v3(text: str) -> Found:
    (calls,) = _blocks("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", text)
    found = []
    for block in _blocks("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", calls):
        match = re.fullmatch(r"function<｜tool▁sep｜>([^\n]*)\n```json\n(.*)\n```", block, re.DOTALL)
        if match is None:
            raise ValueError(block)
        found.append((match[1], _load(match[2])))
    return found


def deepseek_v31(text: str) -> Found:
    (calls,) = _blocks("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", text)
    blocks = _blocks("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", calls)
    return [(name, _load(arguments)) for name, _, arguments in (block.partition("<｜tool▁sep｜>") for block in blocks)]


def llama_json(text: str) -> Found:
    found: Found = []
    while (match := re.search(r'\{(?="name":|"type": "function", "name":)', text)) is not None:
        call, end = json.JSONDecoder().raw_decode(text[match.start() :])
        found.append(_object(call, "parameters" if "parameters" in call else "arguments"))
        text = text[match.start() + end :]
    return found


def llama_function(text: str) -> Found:
    blocks = _blocks("<function=", "</function>", text)
    return [(name, _load(arguments)) for name, _, arguments in (block.partition(">") for block in blocks)]


def harmony(text: str) -> Found:
    match = re.search(
        r"(?:<\|channel\|>(?:commentary|analysis)|<\|start\|>assistant|^) to=functions\.([^ <]+)"
        r"(?:<\|channel\|>commentary)?(?: ?<\|constrain\|>json| json)?<\|message\|>",
        text,
    )
    if match is None:
        raise ValueError("no message to a function")
    arguments, _ = json.JSONDecoder().raw_decode(text[match.end() :])
    return [(match[1], arguments)]


def react(text: str) -> Found:
    match = re.search(r"^Action: ?([^\n]+)\nAction Input: ?", text, re.MULTILINE)
    if match is None:
        raise ValueError("no action")
    arguments, _ = json.JSONDecoder().raw_decode(text[match.end() :])
    return [(match[1], arguments)]


class _Names(ast.NodeTransformer):
    """JSON's words in what is otherwise an expression of Python."""

    words = {"true": True, "false": False, "null": None}  # noqa: RUF012 - a constant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.words:
            raise ValueError(node.id)
        return ast.copy_location(ast.Constant(self.words[node.id]), node)


def called(text: str) -> tuple[str, Any]:
    """Name and arguments of an expression that is a call; those without keys are under ``""``."""
    name, rest = text[: text.index("(")], text[text.index("(") :]
    # Why: surrogate pairs are one character to JSON, and two to Python.
    rest = re.sub(
        r"(\\u[dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})", lambda m: json.loads(f'"{m[0]}"'), rest
    )
    # Python's keywords are no names of its arguments.
    rest = re.sub(r'"(?:[^"\\]|\\.)*"|(\w+)=', lambda m: m[0] if m[1] is None else f"k_{m[0]}", rest)
    call = ast.parse(f"f{rest}", mode="eval").body
    assert isinstance(call, ast.Call)
    arguments = {str(item.arg)[2:]: ast.literal_eval(_Names().visit(item.value)) for item in call.keywords}
    values = [ast.literal_eval(_Names().visit(item)) for item in call.args]
    return name, {**arguments, **({"": values} if values else {})}


def _calls_between(begin: str, opener: str, end: str) -> Callable[[str], Found]:
    """Calls as expressions, with something around them; alone they have nothing after them, and maybe nothing before."""

    def read(text: str) -> Found:
        call = r"([\w.\-/:]+)" + re.escape(opener) + r"((?:\"(?:[^\"\\]|\\.)*\"|[^\"()])*\))"
        tagged = f"{re.escape(begin)}{call} ?{re.escape(end)}"
        return [called(f"{name}({rest}") for name, rest in re.findall(call if re.match(call, text) else tagged, text)]

    return read


class Raw(str):
    """A value as it stands in a text: a string, or what its JSON says."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str(self) == other if isinstance(other, str) else _load(self) == other

    __hash__ = str.__hash__


def _pairs(pattern: str, text: str) -> dict[str, Raw]:
    """Names and values of all parameters, which are all that there is."""
    if re.sub(pattern, "", text, flags=re.DOTALL).strip():
        raise ValueError(f"more than parameters: {text!r}")
    return {name: Raw(value) for name, value in re.findall(pattern, text, re.DOTALL)}


def _tagged(begin: str, end: str, call: str, parameter: str) -> Callable[[str], Found]:
    """Calls with parameters in tags, all within a block."""

    def read(text: str) -> Found:
        found: Found = []
        for block in _blocks(begin, end, text):
            calls = re.findall(call, block, re.DOTALL)
            if not calls or re.sub(call, "", block, flags=re.DOTALL).strip():
                raise ValueError(block)
            found += [(name, _pairs(parameter, inside)) for name, inside in calls]
        return found

    return read


def _braced(begin: str, quote: str, end: str) -> Callable[[str], Found]:
    """Calls as ``name{key:value}``, strings between quotes."""
    quoted = re.escape(quote) + "(.*?)" + re.escape(quote)
    pair = rf"([\w.\-]+):(?:{quoted}|(\[[^\]]*\]|[^,\[]*))(?:,|$)"

    def read(text: str) -> Found:
        found: Found = []
        for block in _blocks(begin, end, text):
            name, _, rest = block.partition("{")
            inside = rest.removesuffix("}")
            if not rest.endswith("}") or re.sub(pair, "", inside, flags=re.DOTALL):
                raise ValueError(block)
            pairs = re.finditer(pair, inside, re.DOTALL)
            found.append((name, {m[1]: Raw(m[3]) if m[2] is None else m[2] for m in pairs}))
        return found

    return read


def pythonic(text: str) -> Found:
    """A list of calls as Python parses it, which begins where a bracket, a name and a parenthesis stand."""
    match = re.search(r"\[[\w.]+\(", text)
    if match is None:
        raise ValueError("no list of calls")
    for end in (place + 1 for place, character in enumerate(text) if character == "]"):
        try:
            calls = ast.parse(text[match.start() : end], mode="eval").body
        except SyntaxError:
            continue
        assert isinstance(calls, ast.List)
        return [
            (ast.unparse(call.func), {item.arg: ast.literal_eval(item.value) for item in call.keywords})
            for call in calls.elts
            if isinstance(call, ast.Call)
        ]
    raise ValueError("the list does not end")


def kimi(text: str) -> Found:
    (calls,) = _blocks("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", text)
    found = []
    for block in _blocks("<|tool_call_begin|>", "<|tool_call_end|>", calls):
        match = re.fullmatch(r"functions\.(.+?):\d+<\|tool_call_argument_begin\|>(.*)", block, re.DOTALL)
        if match is None:
            raise ValueError(block)
        found.append((match[1], _load(match[2])))
    return found


def kimi_k3(text: str) -> Found:
    begin, end = r"<\|open\|>", r"<\|close\|>"
    found: Found = []
    for block in _blocks("<|open|>tools<|sep|>", "<|close|>tools<|sep|>", text):
        call = rf'{begin}call tool="([^"]+)" index="\d+"<\|sep\|>(.*?){end}call<\|sep\|>'
        argument = rf'{begin}argument key="([^"&]+)" type="([a-z]+)"<\|sep\|>(.*?){end}argument<\|sep\|>'
        if re.sub(call, "", block, flags=re.DOTALL):
            raise ValueError(block)
        for name, inside in re.findall(call, block, re.DOTALL):
            if re.sub(argument, "", inside, flags=re.DOTALL):
                raise ValueError(inside)
            values = {}
            for key, kind, value in re.findall(argument, inside, re.DOTALL):
                values[key] = value if kind == "string" else _load(value)
                if kind != TYPE_OF[type(values[key])]:
                    raise ValueError(kind)
            found.append((name, values))
    return found


def command(text: str) -> Found:
    (calls,) = _blocks("<|START_ACTION|>", "<|END_ACTION|>", text)
    found = []
    for call in _load(calls):
        if not set(call) <= {"tool_call_id", "tool_name", "parameters"} or not isinstance(
            call.get("tool_call_id", ""), str
        ):
            raise ValueError(call)
        found.append((call["tool_name"], call["parameters"]))
    return found


def _dsml(block: str, space: str = "", mark: str = "DSML") -> Callable[[str], Found]:
    """DeepSeek's markup, and GigaChat's: a parameter says whether it is a string, which stands as it is, or else JSON."""
    tag = f"｜{mark}｜{space}"
    call = rf'<{tag}invoke name="([^"]+)">(.*?)</{tag}invoke>'
    parameter = rf'<{tag}parameter name="([^"]+)" string="(true|false)">(.*?)</{tag}parameter>'

    def read(text: str) -> Found:
        (inside,) = _blocks(f"<{tag}{block}>", f"</{tag}{block}>", text)
        if re.sub(call, "", inside, flags=re.DOTALL).strip():
            raise ValueError(inside)
        found: Found = []
        for name, rest in re.findall(call, inside, re.DOTALL):
            if re.sub(parameter, "", rest, flags=re.DOTALL).strip():
                raise ValueError(rest)
            pairs = re.findall(parameter, rest, re.DOTALL)
            found.append((name, {key: value if flag == "true" else _load(value) for key, flag, value in pairs}))
        return found

    return read


def _behind(pattern: str, text: str) -> tuple[Any, str]:
    """The JSON behind the first match of a pattern, and what follows."""
    match = re.search(pattern, text)
    if match is None:
        raise ValueError("no call")
    found, end = json.JSONDecoder().raw_decode(text[match.end() :].lstrip(" \n"))
    return found, text[match.end() :].lstrip(" \n")[end:]


def command_r_plus(text: str) -> Found:
    """A fenced list behind ``Action:``."""
    calls, after = _behind(r"Action:\s?```json", text)
    if not after.lstrip(" \n").startswith("```"):
        raise ValueError("the list does not end")
    return [(call["tool_name"], call["parameters"]) for call in calls]


def gigachat(text: str) -> Found:
    return [_object(_behind(r"<\|function_call\|>|function call<\|role_sep\|>\n", text)[0])]


def functionary(text: str) -> Found:
    """Messages to tools, behind ``>>>``; the prompt ends with the first of these."""
    found, rest = [], f">>>{text}"
    while (match := re.search(r">>>([\w.\-/:]+)\n(?=\{)", rest)) is not None:
        arguments, end = json.JSONDecoder().raw_decode(rest[match.end() :])
        found.append((match[1], arguments))
        rest = rest[match.end() + end :]
    return found


def solar(text: str) -> Found:
    blocks = _blocks("<|tool_call:begin|>", "<|tool_call:end|>", text)
    found = []
    for block in blocks:
        match = re.fullmatch(r"[a-z0-9]{10}<\|tool_call:name\|>(.+?)<\|tool_call:args\|>(.*)", block, re.DOTALL)
        if match is None:
            raise ValueError(block)
        found.append((match[1], _load(match[2])))
    return found


def apertus(text: str) -> Found:
    """A list of objects, each with the name as its only key."""
    (calls,) = _blocks("<|tools_prefix|>", "<|tools_suffix|>", text)
    found = []
    for call in _load(calls):
        ((name, arguments),) = call.items()
        found.append((name, arguments))
    return found


def minimax_m3(text: str) -> Found:
    """Tags behind a mark; those within a tag are an array, if they are items, or an object. Nothing tells other types."""
    found: Found = []
    for block in _blocks(f"{_M3}<tool_call>", f"{_M3}</tool_call>", text):
        calls = re.findall(rf'{re.escape(_M3)}<invoke name="([^"]+)">(.*?){re.escape(_M3)}</invoke>', block, re.DOTALL)
        found += [(name, _of_tags(inside) if inside.strip() else {}) for name, inside in calls]
    return found


class _Nothing(Raw):
    """An empty string, list or object."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other in ("", [], {})

    __hash__ = str.__hash__


def _of_tags(text: str) -> Any:
    mark = re.escape(_M3)
    parts: list[tuple[str, Any]] = []
    rest = text
    while (match := re.match(rf"\s*{mark}<([^/>]+)>", rest)) is not None:
        name, depth, at = match[1], 1, match.end()
        while depth:
            tag = re.compile(rf"{mark}<(/?)[^>]+>").search(rest, at)
            if tag is None:
                raise ValueError("an open tag")
            depth, at = depth + (-1 if tag[1] else 1), tag.end()
        end = f"{_M3}</{name}>"
        if not rest[:at].endswith(end):
            raise ValueError("another tag ends")
        parts.append((name, _of_tags(rest[match.end() : at - len(end)])))
        rest = rest[at:]
    if not parts:
        return Raw(text) if text else _Nothing()
    if rest.strip():
        raise ValueError(rest)
    return [value for _, value in parts] if {name for name, _ in parts} == {"item"} else dict(parts)


def minimax_m1(text: str) -> Found:
    """Each line of a block is a call; blanks between calls may be missing."""
    (calls,) = _blocks("<tool_calls>", "</tool_calls>", text)
    found, rest = [], calls.strip()
    while rest:
        call, end = json.JSONDecoder().raw_decode(rest)
        found.append(_object(call))
        rest = rest[end:].lstrip()
    return found


def internlm(text: str) -> Found:
    (call,) = (_load(block) for block in _blocks("<|action_start|><|plugin|>", "<|action_end|>", text))
    return [_object(call, "parameters" if "parameters" in call else "arguments")]


def olmo(text: str) -> Found:
    """Lines of calls as Python parses them."""
    (calls,) = _blocks("<function_calls>", "</function_calls>", text)
    return pythonic(f"[{', '.join(line.strip() for line in calls.splitlines() if line.strip())}]")


def xlam(text: str) -> Found:
    calls, _ = json.JSONDecoder().raw_decode(text[text.index('[{"name": ') :])
    return [_object(call) for call in calls]


_QWEN = (
    "<tool_call>",
    "</tool_call>",
    r"<function=([^>]+)>(.*)</function>",
    r"<parameter=([^>]+)>\n(.*?)\n</parameter>",
)
_INVOKE = r'<invoke name="([^"]+)">(.*?)</invoke>', r'<parameter name="([^"]+)">(.*?)</parameter>'

READERS: dict[str, Callable[[str], Found]] = {
    "anthropic": _tagged("<function_calls>", "</function_calls>", *_INVOKE),
    "apertus": apertus,
    "apriel": _listed("<tool_calls>", end="</tool_calls>"),
    "command": command,
    "command-r-plus": command_r_plus,
    "deepseek-v3": deepseek_v3,
    "deepseek-v3.1": deepseek_v31,
    "deepseek-v3.2": _dsml("function_calls"),
    "deepseek-v4": _dsml("tool_calls"),
    "deepseek-v4.1": _dsml("calls", " "),
    "exaone": hermes,
    "functiongemma": _braced("<start_function_call>call:", "<escape>", "<end_function_call>"),
    "gemma": _braced("<|tool_call>call:", '<|"|>', "<tool_call|>"),
    "gemma3": pythonic,
    "functionary-3.2": functionary,
    "gigachat-3": gigachat,
    "gigachat-3.1": gigachat,
    "gigachat-3.5": _dsml("tool_calls", mark="GCML"),
    "lfm2": pythonic,
    "glm": _tagged(
        "<tool_call>", "</tool_call>", r"^([^\n]+)\n(.*)", r"<arg_key>([^<]+)</arg_key>\n?<arg_value>(.*?)</arg_value>"
    ),
    "glm-4.7": _tagged(
        "<tool_call>", "</tool_call>", r"^([^<]+)(.*)", r"<arg_key>([^<]+)</arg_key><arg_value>(.*?)</arg_value>"
    ),
    "granite-4": hermes,
    "granite": _listed("<|tool_call|>", "<tool_call>"),
    "harmony": harmony,
    "hermes": hermes,
    "hunyuan-3": _tagged(
        "<tool_calls:opensource>",
        "</tool_calls:opensource>",
        r"<tool_call:opensource>([^<]+)<tool_sep:opensource>(.*?)</tool_call:opensource>",
        r"<arg_key:opensource>([^<]+)</arg_key:opensource>\s*<arg_value:opensource>(.*?)</arg_value:opensource>",
    ),
    "hunyuan-a13b": _listed("<tool_calls>", end="</tool_calls>"),
    "internlm2": internlm,
    "jamba": _listed("<tool_calls>", end="</tool_calls>"),
    "json": json_calls,
    "kimi-k2": kimi,
    "llama-function": llama_function,
    "llama-json": llama_json,
    "kimi-k3": kimi_k3,
    "longcat": longcat,
    "longcat-tags": _tagged(
        "<longcat_tool_call>",
        "</longcat_tool_call>",
        r"^([^\n]+)\n(.*)",
        r"<longcat_arg_key>([^<]+)</longcat_arg_key>\s*<longcat_arg_value>(.*?)</longcat_arg_value>",
    ),
    "minimax": _tagged("<minimax:tool_call>", "</minimax:tool_call>", *_INVOKE),
    "minimax-m1": minimax_m1,
    "minimax-m3": minimax_m3,
    "mistral": _listed("[TOOL_CALLS]"),
    "mistral-args": mistral_args,
    "nemotron-nano-v2": _listed("<TOOLCALL>", end="</TOOLCALL>"),
    "olmo3": olmo,
    "openai": openai,
    "phi": _listed("functools"),
    "phi-4-mini": _listed("<|tool_call|>", end="<|/tool_call|>"),
    "pythonic": pythonic,
    "qwen-coder": _tagged(*_QWEN),
    "react": react,
    "seed-oss": _tagged(
        "<seed:tool_call>",
        "</seed:tool_call>",
        r"<function=([^>]+)>(.*)</function>",
        r"<parameter=([^>]+)>(.*?)</parameter>",
    ),
    "solar-open": solar,
    "step-3": _tagged(
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        r'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="([^"]+)">(.*?)</steptml:invoke><｜tool_call_end｜>',
        r'<steptml:parameter name="([^"]+)">(.*?)</steptml:parameter>',
    ),
    "step-3.5": _tagged(*_QWEN),
    "tooldec": _calls_between("<T>", "(", "="),
    "tooldec-positional": _calls_between("<T>", "(", "="),
    "toolkengpt": _calls_between("<", ">(", "="),
    "xlam": xlam,
}
