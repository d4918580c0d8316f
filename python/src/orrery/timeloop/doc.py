"""What entries a class of nodes has, as text."""

from __future__ import annotations

from typing import Any, Iterator

from orrery.timeloop.specification import Specification


def _rows(cls: Any) -> Iterator[tuple[str, Any]]:
    yield from cls.KEYS.items()
    if isinstance(cls.ITEM, type):
        yield "(each)", cls.ITEM


def get_property_table(cls: Any = Specification) -> str:
    """Entries of a class with their class, or their default."""
    lines = [f"{'entry':<28}{'class or default'}"]
    for key, value in _rows(cls):
        lines.append(f"{key:<28}{value.__name__ if isinstance(value, type) else repr(value)}")
    return "\n".join(lines)


def get_property_tree(cls: Any = Specification, _indent: int = 0) -> str:
    """The same with the entries of entries below them."""
    lines = [cls.__name__] if _indent == 0 else []
    for key, value in _rows(cls):
        lines.append(f"{'  ' * (_indent + 1)}{key}")
        if isinstance(value, type):
            lines += filter(None, [get_property_tree(value, _indent + 1)])
    return "\n".join(lines)
