"""A function for each verb: keyword arguments are its options, `-` written as `_`; docs/python.md has the rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, NamedTuple

from orrery._call import _orrery, call
from orrery._errors import InputError
from orrery.results import Result
from orrery.values import Chip, Model, chip_path

# What takes long to import is imported where it is needed.
if TYPE_CHECKING:
    import tempfile
    from pathlib import Path


class Option(NamedTuple):
    flag: str
    type: str  # empty: takes no value
    text: str

    def joins(self, values: Sequence[Any]) -> bool:
        """Whether these are one value, such as the sizes of `M,K,N`, not several."""
        whole = "repeatable" not in self.text or all(isinstance(each, (int, float)) for each in values)
        return "," in self.type and whole and not any(isinstance(each, (list, tuple)) for each in values)


@lru_cache(maxsize=None)
def options(*words: str) -> dict[str, Option]:
    """The options of a verb, by the names of keyword arguments."""
    found = {}
    for each in _orrery.describe(list(words))["options"]:
        for flag in each["names"]:
            if not each["positional"] and flag.startswith("--"):
                name = flag[2:].replace("-", "_")
                found[f"{name}_" if iskeyword(name) else name] = Option(flag, each["type"], each["text"])
    return found


class _Words:
    """A command line in the making, with the files that hold its values."""

    def __init__(self, verb: Sequence[str]):
        self.verb = " ".join(verb)
        self.words = list(verb)
        self.folder: tempfile.TemporaryDirectory | None = None

    def file(self, name: str) -> Path:
        import tempfile
        from pathlib import Path

        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="orrery-")
        return Path(self.folder.name, f"{len(os.listdir(self.folder.name))}-{name}")

    def text(self, name: str, value: Any) -> str:
        """A value that is not a list as the program reads it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, int, float)):
            return str(value)
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        if hasattr(value, "__array_interface__") and getattr(value, "ndim", 0) > 0:
            return self.array(name, value)
        if hasattr(value, "__index__"):
            return str(value.__index__())
        if hasattr(value, "__float__"):
            return repr(float(value))
        raise TypeError(f"{self.verb}: {name}: text or a number is expected, not {type(value).__name__}")

    def array(self, name: str, value: Any) -> str:
        import numpy

        path = self.file(f"{name}.npy")
        numpy.save(path, numpy.ascontiguousarray(value), allow_pickle=False)
        return str(path)

    def texts(self, name: str, value: Any) -> list[str]:
        """The same for chips, models and the like (values.py), whose changes become settings."""
        if not hasattr(value, "as_arguments"):
            return [self.text(name, value)]
        what, settings = value.as_arguments(self)
        for path, text in settings:
            self.words += ["--set", f"{path}={text}"]
        return what

    def joined(self, name: str, values: Iterable[Any]) -> str:
        return ",".join(self.text(name, each) for each in values)

    def add(self, name: str, option: Option, value: Any) -> None:
        if value is None or value is False:
            return
        if not option.type:
            if value is not True:
                raise TypeError(f"{self.verb}: {name}: True or False is expected, not {value!r}")
            self.words.append(option.flag)
        elif value is True:
            # Of options that may stand alone; the program says where they may not.
            self.words.append(option.flag)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                listed = isinstance(each, (list, tuple, range))
                text = self.joined(name, each) if listed else self.text(name, each)
                if listed and not option.type.startswith("PATH=VALUES"):
                    text = f"[{text}]"
                self.words += [option.flag, f"{key}={text}"]
        elif isinstance(value, (list, tuple, range, set, frozenset)):
            values = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
            if option.joins(values):
                values = [self.joined(name, values)]
            for each in values:
                inner = isinstance(each, (list, tuple))
                for text in [self.joined(name, each)] if inner else self.texts(name, each):
                    self.words += [option.flag, text]
        else:
            for text in self.texts(name, value):
                self.words += [option.flag, text]


def _unknown(verb: str, name: str, known: Iterable[str]) -> TypeError:
    import difflib

    close = difflib.get_close_matches(name, list(known), 1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return TypeError(f"{verb}() has no argument `{name}`{meant}")


def _known(verb: Sequence[str], positional: Sequence[Any]) -> dict[str, Option]:
    known = options(*verb)
    if list(verb) != ["sweep"]:
        return known
    # What is swept has options of its own.
    words = [word for word in positional[:2] if isinstance(word, str)]
    pairs = (("sparse", "simulate"), ("tune", "select"))
    swept = tuple(words) if tuple(words) in pairs else tuple(words[:1])
    names = [name for name, _ in _orrery.verbs()]
    return {**options(*(swept if swept and swept[0] in names else ("map",))), **known}


def _finish(answer: Any, made: _Words, again: Callable[..., Result]) -> Result:
    if answer.code == 101:
        raise RuntimeError(answer.err.strip())
    refused = answer.out.startswith('{\n  "schema": "orrery.error/')
    if answer.code == 130 and (refused or not answer.out):
        raise KeyboardInterrupt
    if refused:
        raise InputError(answer.out, answer.err)
    if answer.code == 2:
        raise RuntimeError(answer.err.strip())
    return Result(answer, made.words, again)


def _named(
    verb: Sequence[str], positional: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Values take the place of the options that they are for; after a chip stands a model, after that a system."""
    rest: list[Any] = []
    named = dict(keywords)
    for at, each in enumerate(positional):
        option = getattr(each, "option", "") if hasattr(each, "as_arguments") else ""
        if isinstance(each, str) and at > 0 and isinstance(positional[at - 1], (Chip, Model)):
            option = "model" if isinstance(positional[at - 1], Chip) else "system"
        if not option or option not in _known(verb, rest):
            rest.append(each)
        elif option in named:
            raise TypeError(f"{' '.join(verb)}() is given `{option}` twice")
        else:
            named[option] = each
    if isinstance(named.get("vary"), Mapping) and isinstance(named.get("chip"), Chip):
        named["vary"] = {chip_path(path): values for path, values in named["vary"].items()}
    return rest, named


def ask(
    verb: Sequence[str], positional: Sequence[Any], keywords: Mapping[str, Any], *, progress: bool = False
) -> Result:
    """Asks a verb; what its function does."""
    positional, keywords = _named(verb, positional, keywords)
    known = _known(verb, positional)
    made = _Words(verb)
    time_limit = None
    try:
        for each in positional:
            made.words += made.texts("an argument", each)
        for name, value in keywords.items():
            if name in known:
                made.add(name, known[name], value)
            elif name == "time_limit":
                time_limit = None if value is None else float(value)
            else:
                raise _unknown(made.verb, name, [*known, "time_limit", "progress"])
        printed = any(keywords.get(form) for form in ("csv", "latex", "plot", "help"))
        if "json" in known and "--json" not in made.words and not printed:
            made.words.append("--json")
        # Values keep their files as long as the call lasts; answers are asked again with the same values.
        answer = call(made.words, time_limit=time_limit, progress=_Progress(made.verb) if progress else None)
    finally:
        if made.folder is not None:
            made.folder.cleanup()
    return _finish(answer, made, lambda **more: ask(verb, positional, {**keywords, **more}))


class _Progress:
    """Shows the program's line of progress: by tqdm where that is installed, else on standard error."""

    def __init__(self, verb: str):
        self.bar: Any = None
        try:
            from tqdm.auto import tqdm

            self.bar = tqdm(desc=verb, bar_format="{desc}")
        except ImportError:
            pass

    def __call__(self, news: bytes) -> None:
        line = news.decode(errors="replace").split("\r\x1b[K")[-1].strip()
        if self.bar is not None:
            self.bar.set_description_str(line)
        else:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()


def _reference(words: Sequence[str], summary: str) -> str:
    lines = [f"{summary[:1].upper()}{summary[1:]}.", "", "Keyword arguments:"]
    for name, option in options(*words).items():
        lines.append(f"  {name}{': ' + option.type if option.type else ''}\n      {option.text}")
    return "\n".join(lines)


class Verb:
    """A verb as a function; its docstring lists its keyword arguments, read when it is asked for."""

    def __init__(self, words: Sequence[str], summary: str):
        self._verb, self.summary = tuple(words), summary
        self.__name__ = words[-1].replace("-", "_")

    def __call__(self, *arguments: Any, progress: bool = False, **keywords: Any) -> Result:
        return ask(self._verb, arguments, keywords, progress=progress)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return _reference(self._verb, self.summary)

    def __repr__(self) -> str:
        return f"<orrery {' '.join(self._verb)}: {self.summary}>"


# A verb of verbs, such as `tune`: its own are attributes.
class Group(Verb):
    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"{self.summary[:1].upper()}{self.summary[1:]}.\n\nIts verbs: {', '.join(dir(self))}."

    def __call__(self, *arguments: Any, progress: bool = False, **keywords: Any) -> Result:
        raise TypeError(f"{self.__name__} is several verbs: {', '.join(dir(self))}")

    def __getattr__(self, name: str) -> Verb:
        if name.startswith("_") or name not in dir(self):
            raise AttributeError(f"{self.__name__} has no verb `{name}`; it has: {', '.join(dir(self))}")
        return Verb([*self._verb, name.replace("_", "-")], f"{' '.join(self._verb)} {name}")

    def __dir__(self) -> list[str]:
        return [name.replace("-", "_") for name in _orrery.describe(list(self._verb))["subverbs"]]


def functions() -> dict[str, Verb]:
    """Every verb of the program by its name."""
    groups = ("tune", "sparse")
    return {name: (Group if name in groups else Verb)([name], summary) for name, summary in _orrery.verbs()}
