"""stubs.py FOLDER: writes type stubs of the module and of the package, whose functions are the program's verbs."""

import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from orrery import verbs
from orrery._call import _orrery

#: What an option's value may be: lists repeat it or join it, True stands for an option without a value.
HEAD = '''"""Orrery: what a workload costs on a machine, and which mapping costs least."""

from collections.abc import Mapping as _Mappings, Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any as _Any, TypeAlias as _TypeAlias

from orrery._errors import InputError as InputError
from orrery.arrays import attention as attention
from orrery.results import Chart as Chart, Fields as Fields, Result as Result, Row as Row
from orrery.values import (
    Chip as Chip,
    Einsum as Einsum,
    Mapping as Mapping,
    Model as Model,
    Plan as Plan,
    Setup as Setup,
    System as System,
    train_batch as train_batch,
)

_Value: _TypeAlias = (
    str | float | _PathLike[str] | Chip | Model | System | Setup | _Sequence[_Any] | _Mappings[str, _Any] | None
)

__version__: str

def chip(*what: str | _PathLike[str]) -> Chip: ...
def model(what: str | _PathLike[str]) -> Model: ...
def system(what: str | _PathLike[str]) -> System: ...
def best_plan(model: str | Model, system: str | System, **keywords: _Value) -> Result: ...
'''


def parameters(words: list[str]) -> list[str]:
    known = verbs.options(*words)
    out = [f"{name}: {'_Value' if option.type else 'bool'} = ..." for name, option in known.items() if name != "json"]
    out += ["time_limit: float | None = ..."] if "time_limit" not in known else []
    out += ["executor: _Any = ...", "**keywords: _Value"] if words == ["sweep"] else []
    return out


def function(name: str, words: list[str], owner: str = "") -> str:
    listed = sorted(parameters(words), key=lambda each: each.startswith("**"))
    listed.insert(len(listed) - (1 if words == ["sweep"] else 0), "progress: bool = ...")
    head = ["self", "*arguments: _Any"] if owner else ["*arguments: _Any"]
    joined = "".join(f"{'    ' if owner else ''}    {each},\n" for each in [*head, *listed]).replace(
        "**keywords: _Value,", "**keywords: _Value"
    )
    indent = "    " if owner else ""
    return f"{indent}def {name}(\n{joined}{indent}) -> Result: ...\n"


def package() -> str:
    out = [HEAD]
    for name, verb in verbs.functions().items():
        if isinstance(verb, verbs.Group):
            kind = f"_{name.capitalize()}"
            out.append(f"\nclass {kind}:\n")
            out += [function(each, [name, each.replace("_", "-")], kind) for each in dir(verb)]
            out.append(f"\n{name}: {kind}\n")
        elif name == "map":
            out.append("\nfrom typing import overload as _overload\n\n@_overload\n")
            out.append("def map(chip: Chip, einsum: Einsum, /, **keywords: _Any) -> _Any: ...\n@_overload\n")
            out.append(function(name, [name]))
        else:
            out.append(function(name, [name]))
    return "".join(out)


def main() -> None:
    folder = Path(sys.argv[1], "orrery")
    folder.mkdir(parents=True, exist_ok=True)
    made = StubGen(_orrery)
    made.put(_orrery)
    (folder / "_orrery.pyi").write_text(made.get(), encoding="utf-8")
    (folder / "__init__.pyi").write_text(package(), encoding="utf-8")


if __name__ == "__main__":
    main()
