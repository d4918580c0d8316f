"""Results: cycles, energy and area of the mapping, in SI units."""

from __future__ import annotations

import copy
from typing import Any, Iterable


class MultipliableDict(dict):
    """Numbers by name that are scaled together."""

    def __mul__(self, other: float) -> "MultipliableDict":
        return MultipliableDict({key: value * other for key, value in self.items()})

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> "MultipliableDict":
        return MultipliableDict({key: value / other for key, value in self.items()})


def _ratio(a: float, b: float) -> float:
    return a / b if b else float("inf")


class OutputStats:
    """What a mapping costs: joules, square metres, seconds; `percent_utilization` is 0 to 100."""

    def __init__(
        self,
        percent_utilization: float,
        computes: float,
        cycles: float,
        cycle_seconds: float,
        per_component_energy: dict[str, float],
        per_component_area: dict[str, float],
        variables: dict[str, Any],
        mapping: str | None = "",
    ) -> None:
        self.percent_utilization = percent_utilization
        self.computes = computes
        self.cycles = cycles
        self.cycle_seconds = cycle_seconds
        self.latency = cycles * cycle_seconds
        self.per_component_energy = MultipliableDict(per_component_energy)
        self.per_component_area = MultipliableDict(per_component_area)
        self.variables = copy.deepcopy(dict(variables))
        self.energy = sum(per_component_energy.values())
        self.area = sum(per_component_area.values())
        self.computes_per_second = _ratio(computes, self.latency)
        self.computes_per_second_per_square_meter = _ratio(self.computes_per_second, self.area)
        self.computes_per_joule = _ratio(computes, self.energy)
        self.mapping = mapping

    def access(self, key: str) -> Any:
        """An attribute, or else a variable of the specification."""
        if hasattr(self, key):
            return getattr(self, key)
        if key in self.variables:
            return self.variables[key]
        raise AttributeError(f"neither a result nor a variable is named `{key}`")

    def per_compute(self, key: str) -> Any:
        return getattr(self, key) / self.computes

    def scale_computes_by(self, factor: float) -> None:
        self.computes *= factor
        self.computes_per_second *= factor
        self.computes_per_joule *= factor

    @staticmethod
    def aggregate(tests: Iterable["OutputStats"]) -> "OutputStats":
        """Layers one after the other on one chip."""
        tests = list(tests)
        computes = sum(test.computes for test in tests)
        energy: dict[str, float] = {}
        for test in tests:
            for name, value in test.per_component_energy.items():
                energy[name] = energy.get(name, 0) + value
        return OutputStats(
            percent_utilization=sum(test.percent_utilization * test.computes for test in tests) / computes,
            computes=computes,
            cycles=sum(test.cycles for test in tests),
            cycle_seconds=tests[-1].cycle_seconds,
            per_component_energy=energy,
            per_component_area=tests[-1].per_component_area,
            variables=tests[-1].variables,
            mapping=None,
        )

    @staticmethod
    def aggregate_by(tests: Iterable["OutputStats"], *keys: str) -> "OutputStatsList":
        return OutputStatsList(tests).aggregate_by(*keys)

    def combine_per_component_energy(self, from_keys: list[str], to: str) -> None:
        _combine(self.per_component_energy, from_keys, to)

    def combine_per_component_area(self, from_keys: list[str], to: str) -> None:
        _combine(self.per_component_area, from_keys, to)

    def combine_per_component_area_energy(self, from_keys: list[str], to: str) -> None:
        self.combine_per_component_area(from_keys, to)
        self.combine_per_component_energy(from_keys, to)

    def clear_zero_energies(self) -> None:
        _clear_zeros(self.per_component_energy)

    def clear_zero_areas(self) -> None:
        _clear_zeros(self.per_component_area)


def _combine(values: dict[str, float], from_keys: list[str], to: str) -> None:
    lacking = [key for key in from_keys if key not in values]
    if lacking or len(set(from_keys)) != len(from_keys):
        raise KeyError(f"components to combine are named once each, of {list(values)}; not so {lacking or from_keys}")
    values[to] = sum(values.pop(key) for key in from_keys)


def _clear_zeros(values: dict[str, float]) -> None:
    for key in [key for key, value in values.items() if value == 0]:
        del values[key]


class OutputStatsList(list):
    """Results of several runs; what changes one result changes each of them."""

    def split_by(self, *keys: str) -> list["OutputStatsList"]:
        groups: dict[tuple, OutputStatsList] = {}
        for test in self:
            groups.setdefault(tuple(test.access(key) for key in keys), OutputStatsList()).append(test)
        return list(groups.values())

    def aggregate(self) -> OutputStats:
        return OutputStats.aggregate(self)

    def aggregate_by(self, *keys: str) -> "OutputStatsList":
        return OutputStatsList(group.aggregate() for group in self.split_by(*keys))


def _for_each(name: str) -> Any:
    def method(self: OutputStatsList, *args: Any) -> None:
        for test in self:
            getattr(test, name)(*args)

    return method


for _name in ("energy", "area", "area_energy"):
    setattr(OutputStatsList, f"combine_per_component_{_name}", _for_each(f"combine_per_component_{_name}"))
for _name in ("energies", "areas"):
    setattr(OutputStatsList, f"clear_zero_{_name}", _for_each(f"clear_zero_{_name}"))
