"""The program itself: what the console script `orrery` starts."""

import os
import sys

from orrery._call import PROGRAM


def main() -> None:
    if not PROGRAM:
        sys.exit("orrery: the program does not lie beside the package")
    os.execv(PROGRAM, ["orrery", *sys.argv[1:]])


if __name__ == "__main__":
    main()
