"""python -m amped.scenario_summary: where the time of an iteration goes, as bars."""

from __future__ import annotations

import sys
from typing import Sequence

from amped._question import command_line, question, show


def main(argv: Sequence[str] | None = None) -> int:
    options = command_line("scenario_summary", "Show the shares of the time of an iteration").parse_args(argv)
    return show(question(options.config, mended=options.mended))


if __name__ == "__main__":
    sys.exit(main())
