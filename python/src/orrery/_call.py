"""A command line of the program, run in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
    raise ImportError("orrery: free-threaded Python is not supported: run it with PYTHON_GIL=1, or an ordinary build")
try:
    from orrery import _orrery
except ImportError as error:
    try:
        import _orrery  # type: ignore  # a build folder is on the path
    except ImportError:
        raise error from None

_folder = os.path.dirname(os.path.realpath(_orrery.__file__))
#: The program: the wheel's, or that of the build folder. Its catalogue stands beside it.
PROGRAM = next(filter(os.path.isfile, (f"{_folder}/bin/orrery", f"{os.path.dirname(_folder)}/orrery")), "")
if PROGRAM:
    _orrery.set_program_file(PROGRAM)


class Answer(NamedTuple):
    """What a command printed, and its exit code (docs/python.md)."""

    code: int
    out: str
    err: str
    timed_out: bool = False


def call(
    arguments: Sequence[str], *, time_limit: float | None = None, progress: Callable[[bytes], object] | None = None
) -> Answer:
    """Runs `orrery ARGUMENTS...` in this process, without the GIL.

    Ctrl-C and `time_limit` (seconds) end a search with the best so far: exit codes 130 and 3. Commands run one after
    the other, whichever thread asks.
    """
    if isinstance(arguments, (str, bytes)):
        raise TypeError("arguments: a sequence of words is expected, not one string")
    words = []
    for word in arguments:
        try:
            words.append(os.fsencode(word))
        except TypeError:
            raise TypeError(f"arguments: {word!r} is neither text nor a path") from None
    code, out, err, timed_out = _orrery.call(words, time_limit, progress)
    return Answer(code, out.decode(errors="surrogateescape"), err.decode(errors="surrogateescape"), timed_out)
