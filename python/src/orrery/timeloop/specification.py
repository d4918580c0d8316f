"""A chip, a problem and a mapper's settings as one document that Python code edits."""

from __future__ import annotations

import glob
from collections import ChainMap
from pathlib import Path
from typing import Any, Iterable

from orrery.timeloop import arch, components, constraints, mapper, problem, variables, yaml_files
from orrery.timeloop.expressions import Evaluator
from orrery.timeloop.nodes import DictNode
from orrery.timeloop.processor import Processor, ProcessorError




class Specification(DictNode):
    """Timeloop's documents, combined: `architecture`, `problem`, `mapper`, `variables`, `components`, ..."""

    KEYS = {
        "architecture": arch.Architecture,
        "components": components.Components,
        "constraints": constraints.Constraints,
        "mapping": constraints.ConstraintsList,
        "mapper": mapper.Mapper,
        "problem": problem.Problem,
        "sparse_optimizations": DictNode,
        "variables": variables.Variables,
        "mapspace": DictNode,
        "globals": DictNode,
        "ERT": DictNode,
        "ART": DictNode,
    }

    def __init__(self, *args: Any, processors: Iterable[Any] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "processors", [])
        for one in processors:
            self._take(one)

    @classmethod
    def from_yaml_files(
        cls,
        *files: Any,
        jinja_parse_data: dict[str, Any] | None = None,
        processors: Iterable[Any] = (),
    ) -> "Specification":
        """Reads files (names, patterns with `*`, or lists of them), which may be templates, into one document."""
        spec = cls()
        for file in _flat(files):
            document = yaml_files.load(file, jinja_parse_data)
            if not isinstance(document, dict):
                raise ValueError(f"{file}: the document is no map of `architecture`, `problem` and the like")
            spec.combine(document)
        for one in processors:
            spec._take(one)
        return spec

    def _take(self, one: Any) -> Processor:
        made = one() if isinstance(one, type) else one
        if not isinstance(made, Processor):
            raise TypeError(f"a processor is an orrery.timeloop.Processor, not {type(made).__name__}")
        made.declared = []
        made.declare_attrs()
        for target, key, default in made.declared:
            for node in self.get_nodes_of_type(target):
                node.setdefault(key, default)
        self.processors.append(made)
        return made

    def __reduce__(self) -> Any:
        return _respecified, (dict(self), list(self.processors))

    def process(self, with_processors: Any = None) -> None:
        """Runs the processors, in place, and evaluates expressions of variables, attributes, meshes and sizes."""
        chosen = self.processors
        if with_processors is not None:
            several = with_processors if isinstance(with_processors, (list, tuple)) else [with_processors]
            chosen = [one if one in self.processors else self._take(one) for one in several]
        for one in list(chosen):
            one.process(self)
            one.check_done(self)
        self.parse_expressions()

    def parse_expressions(self) -> None:
        names = ChainMap({"spec": self}, self.get("variables", {}))
        _evaluate(self.get("variables", {}), names)
        _evaluate(self.problem.instance if "problem" in self else {}, names)
        for leaf in self.get_nodes_of_type(arch.Leaf):
            _evaluate(leaf.get("attributes", {}), names.new_child(leaf.get("attributes", {})))
            _evaluate(leaf.get("spatial", {}), names.new_child(leaf.get("attributes", {})))

    def to_yaml_string(self) -> str:
        """The document as the program reads it."""
        return yaml_files.dump(DictNode(self))


def _respecified(values: dict[str, Any], processors: list[Any]) -> Specification:
    spec = Specification(values)
    spec.processors.extend(processors)
    return spec


def _evaluate(values: dict[str, Any], names: Any) -> None:
    evaluator = Evaluator(names)
    for key in list(values):
        value = evaluator.value(values[key])
        if not isinstance(value, (type, Specification)) and not callable(value):
            values[key] = value


def _flat(files: Any) -> list[str]:
    if isinstance(files, (list, tuple)):
        return [each for file in files for each in _flat(file)]
    name = str(files)
    found = sorted(glob.glob(name)) if glob.has_magic(name) and not Path(name).exists() else [name]
    if not found:
        raise FileNotFoundError(f"no file is named like `{name}`")
    return found


__all__ = ["ProcessorError", "Specification"]
