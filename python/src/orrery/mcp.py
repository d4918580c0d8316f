"""`orrery-mcp`: a server of the Model Context Protocol whose tools are verbs of the program.

It reads below one folder, writes nothing, and ends each call at a time limit with the best so far.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

try:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
except ImportError as lacking:
    how = "orrery-mcp needs the MCP SDK, version 2 or newer: pip install 'mcp>=2'"
    raise ImportError(f"{how} ({lacking})", name=lacking.name) from lacking

from orrery._call import _orrery, call
from orrery.verbs import Option, _Words, options

#: What a tool takes beside options: the name of the list, and what it holds.
_TOOLS = {
    "map": ("files", "Timeloop documents (YAML, templates), an ONNX model, or a folder of Timeloop-Experiments"),
    "train": ("files", "AMPeD's config.json, with equations amped"),
    "place": ("files", "DFModel's setup.txt, or a folder with user_input/setup.txt"),
    "sweep": ("files", "files of the verb"),
    "explain": ("code", "code of a diagnostic, such as O0710"),
    "catalog": ("words", "words of the command: a kind (chips, models, systems, ...), `show` and a name, or a text"),
}
_SWEPT = ("map", "train", "place")
#: Options that write, that start or read what a client does not see, or that only change the form of the answer.
_WITHHELD = {
    *("output", "force", "html", "svg", "dot", "latency_svg", "hdf5", "trace", "export", "store", "slurm", "parts"),
    *("status", "shard", "title", "cacti", "json", "csv", "latex", "plot", "quiet", "no_color", "seed", "log"),
    *("summary", "table", "live", "vict_cond", "compute_graph", "mat_dims"),
}


class Refused(ValueError):
    """A call that the server does not make."""


def _options(tool: str, verb: str | None = None) -> dict[str, Option]:
    """Options of a tool; of a sweep with those of its verb, or of all verbs that it may have."""
    verbs = [*([verb] if verb else reversed(_SWEPT)), tool] if tool == "sweep" else [tool]
    found: dict[str, Option] = {}
    for verb in verbs:
        found.update({name: option for name, option in options(verb).items() if name not in _WITHHELD})
    return found


def _value_schema(option: Option) -> dict[str, Any]:
    text = option.text.rstrip(".")
    if not option.type:
        return {"type": "boolean", "description": text}
    one = [{"type": "string"}, {"type": "number"}]
    many = {"type": "array", "items": {"anyOf": one}}
    fields = [{"type": "object"}] if option.type.startswith(("PATH=", "NAME=", "DIM=", "FIGURE=")) else []
    return {"anyOf": [*one, many, *fields], "description": f"{option.type}: {text}"}


def input_schema(tool: str) -> dict[str, Any]:
    """What a tool takes: options of its verb, `-` written as `_`."""
    name, what = _TOOLS[tool]
    properties: dict[str, Any] = {}
    if tool == "sweep":
        properties["verb"] = {"enum": list(_SWEPT), "default": "map", "description": "what is asked at every point"}
    properties[name] = {"type": "array", "items": {"type": "string"}, "description": what}
    properties.update({key: _value_schema(option) for key, option in _options(tool).items()})
    return {"type": "object", "properties": properties, "additionalProperties": False}


def output_schema(tool: str) -> dict[str, Any]:
    """The document of a verb, as `orrery schema` prints it."""
    return json.loads(call(["schema", tool]).out)


def _description(tool: str) -> str:
    return dict(_orrery.verbs())[tool]


class Tools:
    """The tools on the files of one folder."""

    def __init__(self, root: str | Path, time_limit: float) -> None:
        self.root = Path(root).resolve(strict=True)
        if not self.root.is_dir():
            raise NotADirectoryError(f"--root is a folder, not {self.root}")
        if not time_limit > 0:
            raise ValueError(f"--time-limit is a number of seconds above 0, not {time_limit}")
        self.time_limit = time_limit

    def confined(self, word: str) -> None:
        """Refuses a word that names something outside the folder, or standard input."""
        for piece in re.split(r"[=,;|]", word):
            path = self.root / piece
            named = "/" in piece or "\\" in piece or piece == ".." or os.path.lexists(path)
            if piece == "-" or "\0" in piece or (named and not path.resolve().is_relative_to(self.root)):
                raise Refused(f"`{piece}` is outside {self.root}; files are named below it")

    def words(self, tool: str, arguments: dict[str, Any]) -> list[str]:
        """The command line of a call."""
        if tool not in _TOOLS:
            raise Refused(f"there is no tool `{tool}`; there are {', '.join(_TOOLS)}")
        given = dict(arguments)
        listed = given.pop(_TOOLS[tool][0], [])
        if isinstance(listed, str):
            listed = [listed]
        if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
            raise Refused(f"{tool}: {_TOOLS[tool][0]} is a list of texts")
        if any(word.startswith("-") for word in listed):
            raise Refused(f"{tool}: {_TOOLS[tool][0]} has no options; these have names of their own")
        made = _Words([tool])
        verb = None
        if tool == "sweep":
            verb = given.pop("verb", "map")
            if verb not in _SWEPT:
                raise Refused(f"sweep: verb is one of {', '.join(_SWEPT)}, not {verb!r}")
            made.words.append(verb)
        known = _options(tool, verb)
        for name, value in given.items():
            if name not in known:
                held = "writes, or is none of a server's" if name in _WITHHELD else "is not known"
                raise Refused(f"{tool}: the option `{name}` {held}")
            before = len(made.words)
            made.add(name, known[name], value)
            if known[name].type and value is not True:  # joined to its flag a value is one, whatever it begins with
                pairs = made.words[before:]
                made.words[before:] = [f"{flag}={text}" for flag, text in zip(pairs[::2], pairs[1::2])]
        for word in [*listed, *(word.partition("=")[2] for word in made.words if word.startswith("--"))]:
            self.confined(word)
        return [*made.words, *listed]

    def answer(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Runs a call. What is refused is an answer, too, with the program's code, place and help."""
        try:
            words = self.words(tool, arguments)
        except (Refused, TypeError) as wrong:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(wrong))], is_error=True)
        os.chdir(self.root)
        with tempfile.TemporaryDirectory(prefix="orrery-mcp-") as scratch:
            if tool == "sweep":
                words += ["--store", str(Path(scratch) / "sweep.db")]
            answer = call([*words, "--json"], time_limit=self.time_limit)
            if tool == "sweep":  # whoever repeats the command has a store of his own
                answer = answer._replace(out=answer.out.replace(f" --store {scratch}/sweep.db", ""))
        refused = not answer.out or '"schema": "orrery.error/' in answer.out[:200]
        document = json.loads(answer.out) if answer.out.startswith("{") else None
        content: list[Any] = [types.TextContent(type="text", text=answer.out or answer.err)]
        if answer.out and answer.err:
            content.append(types.TextContent(type="text", text=answer.err))
        return types.CallToolResult(
            content=content, structured_content=None if refused else document, is_error=refused
        )

    def list(self) -> list[types.Tool]:
        return [
            types.Tool(
                name=tool,
                description=_description(tool),
                input_schema=input_schema(tool),
                output_schema=output_schema(tool),
                annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
            )
            for tool in _TOOLS
        ]


def server(root: str | Path, time_limit: float = 60.0) -> Server:
    """The server for files below `root`; a call ends after `time_limit` seconds. Calls change to that folder."""
    tools = Tools(root, time_limit)

    async def list_tools(context: Any, request: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.list())

    async def call_tool(context: Any, request: types.CallToolRequestParams) -> types.CallToolResult:
        return await asyncio.to_thread(tools.answer, request.name, request.arguments or {})

    return Server(
        "orrery",
        version=_orrery.__version__,
        instructions="What a workload costs on a machine, and which mapping, plan or placement costs least.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def main(argv: Sequence[str] | None = None) -> int:
    about = "Orrery's verbs as tools of agents, on standard input and output"
    parser = argparse.ArgumentParser(prog="orrery-mcp", description=about)
    parser.add_argument("--root", default=".", help="folder whose files may be read (default: this one)")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a call (default 60)")
    asked = parser.parse_args(argv)
    try:
        made = server(asked.root, asked.time_limit)
    except (OSError, ValueError) as wrong:
        parser.error(str(wrong))

    async def run() -> None:
        async with stdio_server() as (read, write):
            await made.run(read, write, made.create_initialization_options())

    asyncio.run(run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
