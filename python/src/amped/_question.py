"""AMPeD's files and names as a question to `orrery train --equations amped`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Sequence

from orrery._call import call

_HERE = Path(__file__).parent
_ROW = "accelerator_architecture_parameters.lookup_config.lookup_table_row"


class AmpedError(ValueError):
    """What Orrery says of files or parameters that it refuses."""


def config_path(config: str | Path | None) -> Path:
    """A configuration as named, or in this package's folder, which is where AMPeD looks."""
    if config is None:
        return _HERE / "config.json"
    named = Path(config)
    beside = _HERE / named
    return beside if beside.exists() and not named.exists() else named


def question(
    config: str | Path | None = None,
    *,
    accelerator: str | None = None,
    mended: bool = False,
    parameters: dict[str, Any] | None = None,
    options: Sequence[str] = (),
) -> list[str]:
    """The command's arguments. Tables lie beside the configuration; the package's stand in for them."""
    path = config_path(config)
    tables = path.parent / "lookup_tables.json"
    if not tables.exists():
        tables = _HERE / "lookup_tables.json"
    arguments = ["train", str(path), "--tables", str(tables), "--equations", "amped"]
    if not mended:
        arguments += ["--compat", "amped"]
    if accelerator is not None:
        arguments += ["--set", f"{_ROW}={accelerator}"]
    for name, value in (parameters or {}).items():
        arguments += ["--set", f"{name}={value}"]
    return arguments + list(options)


def document(arguments: Sequence[str]) -> dict[str, Any]:
    """The answer's `result`. That it does not fit into memory is an answer, too; a refusal raises AmpedError."""
    answer = call([*arguments, "--json"])
    found = json.loads(answer.out) if answer.out else {}
    if "result" not in found:
        remarks = found.get("diagnostics", [])
        messages = ["\n  ".join([f"{one['code']}: {one['message']}", *one["hints"]]) for one in remarks]
        raise AmpedError("\n".join(messages) or answer.err)
    return found["result"]


def command_line(module: str, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m amped.{module}", description=about)
    parser.add_argument("--config", help="configuration instead of the package's config.json")
    parser.add_argument("--mended", action="store_true", help="without AMPeD's defects (orrery's own default)")
    return parser


def show(arguments: Sequence[str]) -> int:
    """Runs the command, prints what it prints and returns its exit code."""
    answer = call(list(arguments))
    sys.stdout.write(answer.out)
    sys.stderr.write(answer.err)
    return answer.code


def save(arguments: Sequence[str], names: Sequence[str], folder: str | Path = "output_files") -> int:
    """Saves the files of these names into `folder`, date and time before their names, as AMPeD has them."""
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S_")
    with tempfile.TemporaryDirectory() as scratch:
        code = show([*arguments, "-o", str(Path(scratch) / "files")])
        written = [Path(scratch) / "files" / name for name in names]
        for source in filter(Path.exists, written):
            Path(folder).mkdir(parents=True, exist_ok=True)
            target = Path(folder) / (stamp + source.name)
            target.write_bytes(source.read_bytes())
            print(f"saved {target}")
    return code
