"""python -m amped.mat_dims: matrix dimensions for DeepFlow, in mat_dims.txt."""

from __future__ import annotations

import sys
from typing import Sequence

from amped._question import command_line, question, save


def main(argv: Sequence[str] | None = None) -> int:
    options = command_line("mat_dims", "Write the matrix dimensions of a layer for DeepFlow").parse_args(argv)
    return save(question(options.config, mended=options.mended, options=["--mat-dims"]), ["mat_dims.txt"])


if __name__ == "__main__":
    sys.exit(main())
