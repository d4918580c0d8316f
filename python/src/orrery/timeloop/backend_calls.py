"""Calls: the mapper is `orrery map`, the model `orrery eval`, Accelergy `orrery energy`."""

from __future__ import annotations

import copy
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Sequence, TextIO

from orrery._call import Answer, call
from orrery.timeloop.output_parsing import OutputStats
from orrery.timeloop.specification import Specification


def call_mapper(
    specification: Specification,
    output_dir: str,
    environment: dict[str, str] | None = None,
    extra_input_files: Sequence[str] | None = None,
    dump_intermediate_to: str | None = None,
    log_to: Any = None,
    extra_args: Sequence[str] = (),
) -> OutputStats:
    """The best mapping. Files are named `timeloop-mapper.*`; `extra_args` are options of `orrery map`.

    `environment` is taken for Timeloop's sake and changes nothing. RuntimeError where there is no mapping.
    """
    files = _inputs(specification, output_dir, extra_input_files, dump_intermediate_to)
    return _costs("map", "timeloop-mapper", specification, files, output_dir, log_to, extra_args)


def call_model(
    specification: Specification,
    output_dir: str,
    environment: dict[str, str] | None = None,
    extra_input_files: Sequence[str] | None = None,
    dump_intermediate_to: str | None = None,
    log_to: Any = None,
    extra_args: Sequence[str] = (),
) -> OutputStats:
    """What the specification's `mapping` costs. Files are named `timeloop-model.*`."""
    files = _inputs(specification, output_dir, extra_input_files, dump_intermediate_to)
    return _costs("eval", "timeloop-model", specification, files, output_dir, log_to, extra_args)


def call_accelergy_verbose(
    specification: Specification,
    output_dir: str,
    environment: dict[str, str] | None = None,
    extra_input_files: Sequence[str] | None = None,
    dump_intermediate_to: str | None = None,
    log_to: Any = None,
    extra_args: Sequence[str] = (),
) -> int:
    """Energy and area of every component: ERT.yaml, ART.yaml, their summaries and where each figure is from."""
    files = _inputs(specification, output_dir, extra_input_files, dump_intermediate_to)
    with tempfile.TemporaryDirectory() as scratch:
        answer = _run(["energy", *files, *extra_args], Path(scratch) / "files", log_to)
        for file in _written(Path(scratch) / "files"):
            name = file.name if file.name in ("ERT.yaml", "ART.yaml") else f"{file.stem}_verbose.yaml"
            (Path(output_dir) / name).write_bytes(file.read_bytes())
    return answer.code


def _inputs(specification: Specification, output_dir: str, more: Any, dump_to: str | None) -> list[str]:
    if not isinstance(specification, Specification):
        raise TypeError(f"specification is an orrery.timeloop.Specification, not {type(specification).__name__}")
    processed = copy.deepcopy(specification)
    for one in processed.processors:
        one.process(processed)
        one.check_done(processed)
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    document = folder / "parsed-processed-input.yaml"
    document.write_text(processed.to_yaml_string())
    if dump_to is not None and not Path(dump_to).is_dir():
        Path(dump_to).write_text(document.read_text())
    return [str(document), *(more or [])]


def _costs(
    verb: str,
    prefix: str,
    specification: Specification,
    files: list[str],
    output_dir: str,
    log_to: Any,
    extra_args: Sequence[str],
) -> OutputStats:
    folder = Path(output_dir)
    with tempfile.TemporaryDirectory() as scratch:
        answer = _run([verb, *files, *extra_args], Path(scratch) / "files", log_to)
        result = Path(scratch) / "files" / "result.json"
        if not result.exists() or answer.code not in (0, 3):
            raise RuntimeError(f"orrery {verb} ended with code {answer.code}\n{answer.err}")
        found = json.loads(result.read_text())["result"]
        written = {file.name: file.read_text() for file in _written(result.parent)}
    for name, text in written.items():
        (folder / f"{prefix}.{name}").write_text(text)
    with tempfile.TemporaryDirectory() as scratch:
        energy = call(["energy", *files, "-q", "-o", str(Path(scratch) / "files")])
        for file in _written(Path(scratch) / "files"):
            (folder / f"{prefix}.{file.name}").write_bytes(file.read_bytes())
        (folder / f"{prefix}.accelergy.log").write_text(energy.out + energy.err)
    return _stats(found, written, specification)


def _stats(found: dict[str, Any], written: dict[str, str], specification: Specification) -> OutputStats:
    if len(found["layers"]) != 1:
        raise RuntimeError(f"a specification has one problem, not {len(found['layers'])}")
    layer = found["layers"][0]
    computes = re.search(r"^(?:Algorithmic )?Computes = (\d+)$", written["stats.txt"], re.MULTILINE)
    if computes is None:
        raise RuntimeError("stats.txt does not say how many computes there are")
    parsed = copy.deepcopy(specification)
    parsed.parse_expressions()
    return OutputStats(
        percent_utilization=100 * layer["utilization"],
        computes=int(computes[1]),
        cycles=layer["cycles"],
        cycle_seconds=layer["seconds"] / layer["cycles"],
        per_component_energy={level["name"]: level["energy_pj"] * 1e-12 for level in layer["levels"]},
        per_component_area={level["name"]: _area(level) for level in layer["levels"]},
        variables=parsed.get("variables", {}),
        mapping=written["map.txt"],
    )


def _area(level: dict[str, Any]) -> float:
    """Of all instances; a fan-out that no table names has none, a component of unknown area nan."""
    one = level["area_um2"]
    if one is None:
        return 0.0 if level.get("fan_out_only") else float("nan")
    return one * level["instances"] * 1e-12


def _written(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.glob("*")) if file.is_file() and file.name != "result.json")


def _run(arguments: Sequence[str], folder: Path, log_to: Any) -> Answer:
    answer = call([*arguments, "-o", str(folder)])
    if isinstance(log_to, (str, Path)):
        Path(log_to).parent.mkdir(parents=True, exist_ok=True)
        Path(log_to).write_text(answer.out + answer.err)
    else:
        stream: TextIO = sys.stdout if log_to is None else log_to
        stream.write(answer.out + answer.err)
    return answer
