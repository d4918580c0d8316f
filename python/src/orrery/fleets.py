"""Studies on many processes: parts of a sweep on any `concurrent.futures` executor, Dask's client among them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from orrery._errors import InputError
from orrery.results import Result
from orrery.verbs import Verb, _reference, ask

_ON_WORKERS = """

With an `executor`, in `parts` on its workers. Each part has a store of its own in the folder `<store>.parts`, which the
workers must reach. A part that is lost with its worker is finished here, from its store; then all are merged into
`store`, beside what that has.
"""


def _part(positional: Sequence[Any], keywords: Mapping[str, Any]) -> int:
    """What a worker does; its store keeps what it found, should it be killed."""
    return ask(["sweep"], positional, keywords).code


def _gather(futures: Sequence[Any]) -> list[int]:
    """Indices of the parts that got lost with their workers. What the program refuses is raised."""
    lost = []
    try:
        for index, future in enumerate(futures):
            try:
                future.result()
            except (InputError, TypeError):
                raise
            except Exception:  # noqa: BLE001 - whatever an executor says when a worker dies
                lost.append(index)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return lost


class Sweep(Verb):
    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return _reference(self._verb, self.summary) + _ON_WORKERS

    def __call__(self, *arguments: Any, executor: Any = None, progress: bool = False, **keywords: Any) -> Result:
        if executor is None:
            return super().__call__(*arguments, progress=progress, **keywords)
        if not hasattr(executor, "submit"):
            raise TypeError(f"sweep: executor: something with `submit` is expected, not {type(executor).__name__}")
        count = keywords.pop("parts", None) or getattr(executor, "_max_workers", None) or 4
        store = os.path.abspath(os.fsdecode(keywords.get("store") or "sweep.db"))
        folder = f"{store}.parts"
        os.makedirs(folder, exist_ok=True)
        parts = [
            {**keywords, "shard": f"{k}/{count}", "store": f"{folder}/{k}-of-{count}.db"} for k in range(1, count + 1)
        ]
        for index in _gather([executor.submit(_part, arguments, each) for each in parts]):
            _part(arguments, parts[index])
        ask(["merge"], [each["store"] for each in parts], {"store": store})
        for name in os.listdir(folder):
            os.remove(f"{folder}/{name}")
        os.rmdir(folder)
        return super().__call__(*arguments, progress=progress, **{**keywords, "store": store})
