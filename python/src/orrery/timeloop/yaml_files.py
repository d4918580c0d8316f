"""YAML as Timeloop's front end reads it: tags, deep merges (`<<<`) and Jinja templates."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import Any, Iterable

try:
    import jinja2
    import jinja2.sandbox
    import yaml
except ImportError as lacking:
    raise ImportError(f"orrery.timeloop needs PyYAML and Jinja2: pip install pyyaml jinja2 ({lacking})") from lacking

from orrery.timeloop.nodes import DictNode, ListNode, Node

_FLOAT = r"""[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"""
_SCALARS = [  # YAML 1.2's: `1e-9` is a number, `yes` and `1:30` are not
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("tag:yaml.org,2002:float", _FLOAT, "-+0123456789."),
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN\0"),
    ("tag:yaml.org,2002:merge", r"<<", "<"),
]


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict = {}


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), [c if c != "\0" else "" for c in _first])


def _deep(mine: Any, other: Any) -> None:
    """Adds what `other` has to `mine`: maps are merged in turn, lists added up, other values are `mine`'s."""
    if getattr(mine, "tag", None) == "!nomerge":
        return
    if isinstance(mine, dict) and isinstance(other, dict):
        for key, value in other.items():
            if key in mine:
                _deep(mine[key], value)
            else:
                mine[key] = value
    elif isinstance(mine, list) and isinstance(other, list):
        mine.extend(other)


def _copied(value: Any) -> Any:
    """A copy in which no part stands twice, as an alias would have it."""
    if isinstance(value, dict):
        copy: Any = DictNode({key: _copied(each) for key, each in value.items()})
    elif isinstance(value, list):
        copy = ListNode([_copied(each) for each in value])
    else:
        return value
    copy.tag = getattr(value, "tag", None)
    return copy


def _map(loader: _Loader, node: yaml.MappingNode) -> DictNode:
    merges = [value for key, value in node.value if key.value == "<<<"]
    node.value = [(key, value) for key, value in node.value if key.value != "<<<"]
    loader.flatten_mapping(node)
    made = DictNode()
    for key, value in node.value:
        made[loader.construct_object(key, deep=True)] = loader.construct_object(value, deep=True)
    made.tag = node.tag if node.tag.startswith("!") else None
    for merge in merges:
        sources = loader.construct_object(merge, deep=True)
        for source in sources if isinstance(sources, list) else [sources]:
            _deep(made, _copied(source))
    return made


def _list(loader: _Loader, node: yaml.SequenceNode) -> ListNode:
    made = ListNode([loader.construct_object(value, deep=True) for value in node.value])
    made.tag = node.tag if node.tag.startswith("!") else None
    return made


def _tagged(loader: _Loader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _map(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return _list(loader, node)
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:map", _map)
_Loader.add_constructor("tag:yaml.org,2002:seq", _list)
_Loader.add_multi_constructor("!", _tagged)


def _drop_merge_tags(value: Any) -> None:
    for node in value.all_nodes() if isinstance(value, Node) else ():
        if node.tag == "!nomerge":
            node.tag = None


def _untouched(value: Any) -> bool:
    """Made by reading attributes alone."""
    return getattr(value, "implicit", False) and all(_untouched(child) for child in value.children())


def _represent(dumper: _Dumper, node: Any) -> yaml.Node:
    if isinstance(node, DictNode):
        kept = {key: value for key, value in node.items() if not _untouched(value)}
        return dumper.represent_mapping(node.tag or "tag:yaml.org,2002:map", kept)
    return dumper.represent_sequence(node.tag or "tag:yaml.org,2002:seq", node)


_Dumper.add_multi_representer(DictNode, _represent)
_Dumper.add_multi_representer(ListNode, _represent)


def dump(value: Any, *, flow: bool = False) -> str:
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=flow, sort_keys=False, width=2**30, allow_unicode=True)


class _Template:
    """The functions that Timeloop's front end gives to templates, and the folders in which they look."""

    def __init__(self, file: Path, data: dict[str, Any], folders: list[Path]) -> None:
        self.file, self.data, self.folders = file, data, folders

    def names(self) -> dict[str, Any]:
        return {
            "cwd": lambda: str(self.file.parent),
            "add_to_path": self.add_to_path,
            "find_path": lambda path: str(self.find(path)),
            "path_exists": lambda path: any(folder.joinpath(path).exists() for folder in self.folders),
            "include": self.include,
            "include_all": self.include_all,
            "include_text": lambda path: self.find(path).read_text(),
            **self.data,
        }

    def add_to_path(self, folder: str) -> str:
        self.folders.append(self.file.parent / folder)
        return ""

    def find(self, path: str) -> Path:
        for folder in self.folders:
            if folder.joinpath(path).exists():
                return folder / path
        raise FileNotFoundError(f"no `{path}` in {', '.join(map(str, self.folders))}")

    def part(self, path: Path, key: str | None) -> Any:
        value = load(path, self.data, self.folders)
        for name in key.split(".") if key else ():
            value = value[name]
        return value

    def include(self, path: str, key: str | None = None) -> str:
        return _inline(self.part(self.find(path), key))

    def include_all(self, pattern: str, key: str | None = None) -> str:
        found: list[str] = []
        for folder in self.folders:
            found = found or sorted(glob.glob(str(folder / pattern), recursive=True))
        values = [self.part(Path(path), key) for path in found]
        if values and all(isinstance(value, list) for value in values):
            values = [each for value in values for each in value]
        return _inline(values)


def _inline(value: Any) -> str:
    return dump(value, flow=True).removesuffix("...\n").strip()


def load(file: str | Path, data: dict[str, Any] | None = None, folders: Iterable[Path] = ()) -> Any:
    """The document of a file, which is a template as well."""
    path = Path(os.path.abspath(file))
    template = _Template(path, dict(data or {}), [path.parent, *folders])
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        text = environment.from_string(path.read_text()).render(template.names())
    except jinja2.TemplateError as wrong:
        raise ValueError(f"{path}: {wrong}") from wrong
    value = yaml.load(text, Loader=_Loader)
    _drop_merge_tags(value)
    return _copied(value) if isinstance(value, Node) else value
