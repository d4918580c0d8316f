"""Orrery: what a workload costs on a machine, and which mapping costs least.

Every verb of the program is a function here; docs/python.md tells how options become keyword arguments.
"""

from typing import Any

from orrery import verbs as _verbs
from orrery._call import _orrery
from orrery._errors import InputError
from orrery.arrays import attention
from orrery.fleets import Sweep
from orrery.results import Chart, Fields, Result, Row
from orrery.values import Chip, Einsum, Mapping, Model, Plan, Setup, System, train_batch

__version__ = _orrery.__version__
_functions = _verbs.functions()
_functions["sweep"] = Sweep(["sweep"], _functions["sweep"].summary)
globals().update(_functions)


def map(*arguments: Any, **keywords: Any) -> Any:  # noqa: A001 - as the verb is called
    """The best mapping of each layer on a chip, with proof; of one einsum on a prepared chip as `Chip.map`."""
    if len(arguments) == 2 and isinstance(arguments[0], Chip) and isinstance(arguments[1], Einsum):
        return arguments[0].map(arguments[1], **keywords)
    return _functions["map"](*arguments, **keywords)


def best_plan(model: Any, system: Any, **keywords: Any) -> Result:
    """The best plan of a training run: `train` without degrees."""
    return _functions["train"](model=model, system=system, **keywords)


def chip(*what: Any) -> Chip:
    """A chip of the catalogue by its name, or Timeloop's files."""
    return Chip(*what)


def model(what: Any) -> Model:
    """A model of the catalogue by its name, or its config.json."""
    return Model(what)


def system(what: Any) -> System:
    """A system of the catalogue by its name, or its file."""
    return System(what)


__all__ = [
    "Chart",
    "Chip",
    "Einsum",
    "Fields",
    "InputError",
    "Mapping",
    "Model",
    "Plan",
    "Result",
    "Row",
    "Setup",
    "System",
    "attention",
    "best_plan",
    "chip",
    "model",
    "system",
    "train_batch",
    *_functions,
]
