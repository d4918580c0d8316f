"""python -m amped.optimization: the best batch sizes and parallel degrees."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Sequence

from amped._question import command_line, question, show


def print_best_parallelizations(config: str | Path | None = None, *, mended: bool = False, **parameters: Any) -> int:
    """Prints the fastest splits of the accelerators, each at its best batch size up to `batch_size`."""
    return show(question(config, mended=mended, parameters=parameters, options=["--search"]))


def main(argv: Sequence[str] | None = None) -> int:
    about = "Evaluate every batch size and every split of the accelerators"
    options = command_line("optimization", about).parse_args(argv)
    return print_best_parallelizations(options.config, mended=options.mended)


if __name__ == "__main__":
    sys.exit(main())
