"""reference.py: prints the reference of the package, docs/python_reference.md, from its docstrings."""

import inspect
import re
import textwrap

import orrery as o
from orrery import verbs

HEAD = """# Reference of the Python package

Made from the docstrings by `python/reference.py`; a test compares. [docs/python.md](python.md) tells how they are used,
[docs/python_shims.md](python_shims.md) what `amped`, `orrery.timeloop`, `orrery.torch` and `orrery.mcp` have.
"""


def told(thing) -> str:
    return inspect.getdoc(thing) or ""


def signature(name: str, thing) -> str:
    text = re.sub(r"'|\borrery\.\w+\.", "", str(inspect.signature(thing)))
    for own in ("(self, ", "(cls, "):
        text = text.replace(own, "(")
    return f"`{name}{text.replace('(self)', '()').replace('(cls)', '()')}`"


def members(kind: type) -> list[str]:
    """Public methods and properties that say what they are."""
    lines: list[str] = []
    for name, plain in inspect.getmembers_static(kind):
        if name.startswith("_"):
            continue
        thing = plain.__func__ if isinstance(plain, (classmethod, staticmethod)) else plain
        made = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
        if not str(getattr(made, "__module__", "")).startswith("orrery"):
            continue  # inherited from Python's own
        if inspect.isfunction(thing):
            about = " ".join(told(thing).split())
            lines.append(f"- {signature(name, thing)}: {about}")
        elif told(plain):
            lines.append(f"- `{name}`: {' '.join(told(plain).split())}")
    return [textwrap.fill(line, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            for line in lines]  # fmt: skip


def page() -> str:
    functions = verbs.functions()
    parts = [HEAD]
    kinds = [name for name in o.__all__ if inspect.isclass(getattr(o, name))]
    parts.append("## Values and answers\n")
    for name in kinds:
        kind = getattr(o, name)
        parts += [f"### {name}\n", told(kind) + "\n", *(["\n".join(members(kind)) + "\n"] if members(kind) else [])]
    parts.append("## Functions\n")
    for name in o.__all__:
        if name not in kinds and name not in functions:
            thing = getattr(o, name)
            parts.append(f"### {name}\n\n{signature(name, thing)}\n\n{told(thing)}\n")
    parts.append("## Verbs\n\nArguments are the options; `help(orrery.VERB)` lists them, as `orrery VERB --help` does.\n")
    for name, verb in functions.items():
        inner = f": {', '.join(dir(verb))}" if isinstance(verb, verbs.Group) else ""
        parts.append(f"- `{name}`: {verb.summary}{inner}")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
