"""Chips, models, systems and plans as values: compared, printed, pickled, and copied with changes.

Each knows how it was made; what the program prepares of that is made when it is first needed, and kept.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping as Mappings, Sequence
from typing import Any

from orrery._call import _orrery

_Settings = tuple[tuple[str, str], ...]


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_setting(each) for each in value) + "]"
    if isinstance(value, str) or not hasattr(value, "__index__"):
        return str(value)
    return str(value.__index__())


def _whole(where: str, name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: {name}: a whole number is expected, not {value!r}")
    if value.__index__() < least:
        raise ValueError(f"{where}: {name}: at least {least} is expected, not {value}")
    return value.__index__()


class _Described:
    """What is described by a name of the catalogue, files or a text, and changed by settings."""

    option = ""  # that of the program
    _root = ""  # before the paths of settings on a command line
    _texts = True

    def __init__(self, *what: str | os.PathLike[str], _how: str = "", _settings: _Settings = ()):
        name = type(self).__name__
        if not what:
            raise TypeError(f"{name}: a name of the catalogue or a file is expected")
        words = []
        for each in what:
            if not isinstance(each, (str, os.PathLike)):
                raise TypeError(f"{name}: a name or a path is expected, not {type(each).__name__}")
            words.append(os.fsdecode(each))
        self._how = _how or ("files" if len(words) > 1 else "name")
        self._what, self._settings = tuple(words), _settings
        self._kept: Any = None
        self._prepared  # noqa: B018 - what cannot be read is told here

    @classmethod
    def from_file(cls, *paths: str | os.PathLike[str]) -> Any:
        """What the files say; their paths are kept as absolute ones."""
        return cls(*(os.path.abspath(os.fsdecode(path)) for path in paths), _how="files" if len(paths) > 1 else "name")

    @classmethod
    def from_text(cls, text: str) -> Any:
        """What a file with this text says."""
        if not isinstance(text, str):
            raise TypeError(f"{cls.__name__}.from_text: text is expected, not {type(text).__name__}")
        return cls(text, _how="text")

    def _make(self) -> Any:
        return getattr(_orrery, type(self).__name__).make(self._how, list(self._what), list(self._settings))

    @property
    def _prepared(self) -> Any:
        if self._kept is None:
            self._kept = self._make()
        return self._kept

    def _path(self, path: str) -> str:
        return path.removeprefix(self._root)

    def replace(self, path: str, value: Any) -> Any:
        """A copy with one field changed, named as `--set` names it."""
        if not isinstance(path, str):
            raise TypeError(f"{type(self).__name__}.replace: path: text is expected, not {type(path).__name__}")
        path = self._path(path)
        rest = tuple(each for each in self._settings if each[0] != path)
        return type(self)(*self._what, _how=self._how, _settings=(*rest, (path, _setting(value))))

    def as_arguments(self, words: Any) -> tuple[list[str], list[tuple[str, str]]]:
        """As the program takes it: words, and settings for --set."""
        what = list(self._what)
        if self._how == "text":
            file = words.file(f"{self.option}{'.json' if self.option == 'model' else '.yaml'}")
            file.write_text(what[0], encoding="utf-8")
            what = [str(file)]
        return what, [(self._root + path, value) for path, value in self._settings]

    def _state(self) -> tuple[Any, ...]:
        return (self._how, self._what, self._settings)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._state() == other._state()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._state()))

    def __reduce__(self) -> Any:
        return _again, (type(self), *self._state())

    def __repr__(self) -> str:
        shown = ", ".join(repr(each if len(each) < 60 else each[:57] + "...") for each in self._what)
        made = "" if self._how == "name" else ".from_text" if self._how == "text" else ".from_file"
        changed = "".join(f".replace({path!r}, {value!r})" for path, value in self._settings)
        return f"{type(self).__name__}{made}({shown}){changed}"


def _again(kind: type, how: str, what: tuple[str, ...], settings: _Settings) -> Any:
    return kind(*what, _how=how, _settings=settings)


#: Paths of a chip's files that do not begin at a component.
_DOCUMENTS = ("arch", "variables", "problem", "mapper", "orrery", "compound_components", "architecture", "ERT", "ART")


def chip_path(path: str) -> str:
    """`Scratchpad.entries` as `--set` names it: a component's path begins with `arch`."""
    return path if path.split(".")[0] in _DOCUMENTS else f"arch.{path}"


class Chip(_Described):
    """A chip and what it allows as a mapping: `Chip("gemmini")`, `Chip("arch.yaml", "constraints.yaml")`."""

    option = "chip"

    def _path(self, path: str) -> str:
        return chip_path(path)

    @property
    def problem(self) -> Einsum | None:
        """The einsum among its files."""
        found = self._prepared.problem()
        return None if found is None else Einsum._of(found)

    @property
    def mapping(self) -> Mapping | None:
        """The mapping among its files."""
        found = self._prepared.mapping()
        return None if found is None else Mapping(found.levels())

    def map(
        self,
        einsum: Einsum,
        *,
        objective: str | Sequence[str] = (),
        time_limit: float = 0.0,
        memory_bytes: int = 0,
        threads: int = 1,
    ) -> Any:
        """The best mapping of one einsum: `mapping`, `energy_pj`, `cycles`, `edp_j_cycles`, `certificate`.

        It reads no file. `memory_bytes`: of the whole process; by default 1 GiB more than it holds.
        """
        if not isinstance(einsum, Einsum):
            raise TypeError(f"Chip.map: einsum: an Einsum is expected, not {type(einsum).__name__}")
        names = objective.split(",") if isinstance(objective, str) else objective
        if not isinstance(names, (list, tuple)) or any(not isinstance(name, str) for name in names):
            raise TypeError(f"Chip.map: objective: names are expected, not {objective!r}")
        if isinstance(time_limit, str) or not hasattr(time_limit, "__float__"):
            raise TypeError(f"Chip.map: time_limit: a number of seconds is expected, not {time_limit!r}")
        memory, count = (_whole("Chip.map", name, value) for name, value in
                         (("memory_bytes", memory_bytes), ("threads", threads)))  # fmt: skip
        return self._prepared.map(einsum._prepared, list(names), float(time_limit), memory, count)

    def evaluate(self, einsum: Einsum, mapping: Any) -> Any:
        """What a mapping costs; an InputError where it cannot run."""
        if not isinstance(einsum, Einsum):
            raise TypeError(f"Chip.evaluate: einsum: an Einsum is expected, not {type(einsum).__name__}")
        made = mapping._prepared if isinstance(mapping, Mapping) else mapping
        if not isinstance(made, _orrery.Mapping):
            raise TypeError(f"Chip.evaluate: mapping: a Mapping is expected, not {type(mapping).__name__}")
        return self._prepared.evaluate(einsum._prepared, made)


class Model(_Described):
    """A transformer: `Model("bert-large")`, `Model("config.json")`."""

    option = "model"
    _root = "model."

    def _make(self) -> Any:
        made = _orrery.Model.make(self._how, list(self._what), [])
        return made.with_sizes(list(self._settings)) if self._settings else made

    def block(self, *, seq: int, batch: int = 1) -> list[tuple[str, Einsum, int]]:
        """Operators of a block in prefill: (name, einsum, instances)."""
        sizes = (_whole("Model.block", name, value, 1) for name, value in (("batch", batch), ("seq", seq)))
        return [(name, Einsum._of(each), count) for name, each, count in self._prepared.block(*sizes)]


class System(_Described):
    """A cluster of accelerators: `System("dgx-h100")`, `System("mine.yaml")`."""

    option = "system"
    _root = "system."


class Setup(_Described):
    """A graph of kernels on a system, and how it is run: DFModel's setup file, for `place`."""

    option = "setup"

    def _make(self) -> Any:
        return _orrery.check_setup(self._how, self._what[0], list(self._settings))


class Einsum:
    """An operation as a loop nest: bounds of its dimensions, and tensors whose coordinates are sums of loops."""

    def __init__(self, name: str, bounds: Mappings[str, int], tensors: Sequence[tuple[Any, ...]]):
        """`tensors`: (name, coordinates, is_output, bits) each; a coordinate is a list of (dimension, coefficient)."""
        sizes = [(dimension, _whole("Einsum", dimension, bound, 1)) for dimension, bound in bounds.items()]
        self._set(_orrery.Einsum(name, sizes, [tuple(each) for each in tensors]))

    def _set(self, made: Any) -> None:
        self._prepared = made
        self._state: tuple[Any, ...] = (made.name, tuple(made.bounds()), repr(made.tensors()))

    @classmethod
    def _of(cls, made: Any) -> Einsum:
        self = cls.__new__(cls)
        self._set(made)
        return self

    @classmethod
    def matmul(cls, name: str, m: int, k: int, n: int) -> Einsum:
        """Outputs[m][n] += Weights[k][m] * Inputs[k][n]; the dimensions are D, E and L."""
        sizes = (_whole("Einsum.matmul", which, size, 1) for which, size in (("m", m), ("k", k), ("n", n)))
        return cls._of(_orrery.matmul(name, *sizes))

    @property
    def name(self) -> str:
        return self._prepared.name

    @property
    def bounds(self) -> dict[str, int]:
        return dict(self._prepared.bounds())

    @property
    def operations(self) -> int:
        """Multiply-accumulates."""
        return self._prepared.operations()

    def replace(self, dimension: str, bound: int) -> Einsum:
        """A copy with another bound of a dimension."""
        bounds = self.bounds
        if dimension not in bounds:
            raise KeyError(f"{self.name} has no dimension `{dimension}`; it has: {', '.join(bounds)}")
        return Einsum(self.name, {**bounds, dimension: bound}, self._prepared.tensors())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Einsum) and self._state == other._state

    def __hash__(self) -> int:
        return hash(self._state)

    def __reduce__(self) -> Any:
        return Einsum, (self.name, self.bounds, self._prepared.tensors())

    def __repr__(self) -> str:
        return f"<Einsum {self.name}: {' '.join(f'{name}={bound}' for name, bound in self.bounds.items())}>"


class Mapping:
    """How an einsum runs on a chip: of each storage, innermost first, loops in time and in space, and what it keeps."""

    def __init__(self, levels: Sequence[tuple[Any, ...]]):
        if any(not isinstance(each, (list, tuple)) for each in levels):
            raise TypeError("Mapping: levels: a list of levels is expected, each as `Mapping.levels` gives it")
        self._prepared = _orrery.Mapping([tuple(each) for each in levels])

    @property
    def levels(self) -> list[tuple[Any, ...]]:
        return self._prepared.levels()

    def text(self, einsum: Einsum, chip: Chip) -> str:
        """In one line, as Timeloop prints it."""
        return self._prepared.text(einsum._prepared, chip._prepared)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.levels == other.levels

    def __hash__(self) -> int:
        return hash(repr(self.levels))

    def __reduce__(self) -> Any:
        return Mapping, (self.levels,)

    def __repr__(self) -> str:
        return f"Mapping({self.levels!r})"


class Plan:
    """A plan of a training run: `Plan(gpus=1024, global_batch=1536, tp=8, pp=8, dp=16)`.

    Fields are those of `--set plan.NAME`; `stack` names the software, by default the system's.
    """

    def __init__(self, *, stack: str = "", **fields: Any):
        self.stack = stack
        self.fields = {name: _orrery.checked_field(name, _setting(value)) for name, value in fields.items()}

    def replace(self, path: str, value: Any) -> Plan:
        """A copy with one field changed."""
        changed = {"stack": self.stack, **self.fields, path: value}
        return Plan(**changed)

    def __getattr__(self, name: str) -> Any:
        if name != "fields" and name in self.fields:
            return self.fields[name]
        raise AttributeError(f"the plan does not say `{name}`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and (self.stack, self.fields) == (other.stack, other.fields)

    def __hash__(self) -> int:
        return hash((self.stack, tuple(sorted(self.fields.items()))))

    def __reduce__(self) -> Any:
        return _plan, (self.stack, self.fields)

    def __repr__(self) -> str:
        said = [f"stack={self.stack!r}"] if self.stack else []
        return f"Plan({', '.join([*said, *(f'{name}={value!r}' for name, value in self.fields.items())])})"


def _plan(stack: str, fields: dict[str, Any]) -> Plan:
    return Plan(stack=stack, **fields)


def _column(name: str, values: Iterable[Any]) -> tuple[str, list[str], list[int]]:
    """The values that a column takes, and an index into them for each row."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"train_batch: {name}: a list of values is expected, not text")
    known: dict[Any, int] = {}
    try:
        listed = values.tolist() if hasattr(values, "tolist") else values
        rows = [known.setdefault(value, len(known)) for value in listed]
    except TypeError:
        raise TypeError(f"train_batch: {name}: a list of values is expected, not {values!r}") from None
    return name, [_setting(value) for value in known], rows


def train_batch(
    model: Model | str,
    system: System | str,
    plans: Mappings[str, Iterable[Any]] | Sequence[Plan],
    base: Plan | None = None,
) -> dict[str, array[Any]]:
    """Iterations of many plans in one call: columns `time_s`, `memory_bytes`, `mfu`, `tokens_per_s`, `fits`.

    `plans` is a list of plans, or columns of fields beside `base`: {"tp": [1, 2], "dp": [16, 8]}. Where a plan cannot
    be, its figures are NaN; `train` says why. The columns are arrays, which NumPy reads in place.
    """
    trained = Model(model) if isinstance(model, str) else model
    on = System(system) if isinstance(system, str) else system
    for name, value, kind in (("model", trained, Model), ("system", on, System)):
        if not isinstance(value, kind):
            raise TypeError(f"train_batch: {name}: a {kind.__name__} or a name is expected, not {type(value).__name__}")
    base = base or Plan()
    stack = base.stack
    if not isinstance(plans, Mappings):
        listed = list(plans)
        if len({each.stack for each in listed}) > 1:
            raise ValueError("train_batch: plans: all plans of a batch run the same software")
        if listed:
            stack = listed[0].stack or stack
        names = dict.fromkeys(name for each in listed for name in each.fields)
        lacking = [name for name in names if any(name not in each.fields for each in listed)]
        if lacking:
            raise ValueError(f"train_batch: plans: not every plan says {', '.join(lacking)}; say it in all")
        plans = {name: [each.fields[name] for each in listed] for name in names}
    varied = [_column(name, values) for name, values in plans.items()]
    rows = len(varied[0][2]) if varied else 1
    same = [(name, _setting(value)) for name, value in base.fields.items()]
    found = _orrery.train_batch(trained._prepared, on._prepared, stack, same, varied, rows)
    return {name: array("B" if name == "fits" else "d", column) for name, column in found.items()}
