"""python -m amped.main: the time of the training, config_summary.txt and training_time_breakdown.txt."""

from __future__ import annotations

import sys
from typing import Sequence

from amped._question import command_line, question, save


def main(argv: Sequence[str] | None = None) -> int:
    parser = command_line("main", "Predict the time of a training by AMPeD's equations")
    parser.add_argument("--GEMM", action="store_true", help="also save gemm_breakdown.txt")
    parser.add_argument("--compute_graph", action="store_true", help="with --GEMM: also save compute_graph.txt")
    options = parser.parse_args(argv)
    if options.compute_graph and not options.GEMM:
        parser.error("--compute_graph goes with --GEMM")
    names = ["config_summary.txt", "training_time_breakdown.txt"]
    more = []
    if options.GEMM:
        names.append("gemm_breakdown.txt")
        more.append("--gemm")
    if options.compute_graph:
        names.append("compute_graph.txt")
        more.append("--compute-graph")
    return save(question(options.config, mended=options.mended, options=more), names)


if __name__ == "__main__":
    sys.exit(main())
