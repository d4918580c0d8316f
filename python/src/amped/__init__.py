"""AMPeD's interface, answered by Orrery with AMPeD's equations.

    import amped
    print(amped.estimateTrainingTime("H100 PCIe"))

`python -m amped.main`, `.optimization`, `.scenario_summary` and `.mat_dims` take AMPeD's options. AMPeD's equations
are evaluated as they are, defects included; `mended=True` (`--mended`) takes these away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amped._question import AmpedError, document, question

__all__ = ["AmpedError", "estimateTrainingTime", "estimate_training"]


def estimate_training(
    accelerator: str | None = None, *, config: str | Path | None = None, mended: bool = False, **parameters: Any
) -> dict[str, Any]:
    """The whole answer: times of an iteration, memory, and in `amped` AMPeD's derived quantities and terms.

    `accelerator` is a row of the configuration's lookup table; `parameters` are AMPeD's by name, such as
    `batch_size=512`. AmpedError says what is wrong with either.
    """
    return document(question(config, accelerator=accelerator, mended=mended, parameters=parameters))


def estimateTrainingTime(
    accelerator: str | None = None, *, config: str | Path | None = None, mended: bool = False, **parameters: Any
) -> float:
    """Seconds of the whole training on accelerators of this row of the lookup table."""
    result = estimate_training(accelerator, config=config, mended=mended, **parameters)
    return float(result["amped"]["outputs"]["total_time_to_train_s"])
