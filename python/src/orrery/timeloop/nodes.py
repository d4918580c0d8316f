"""Documents as nodes: maps and lists whose entries are attributes, too, typed by where they stand and by their tags."""

from __future__ import annotations

from typing import Any, Iterator


class Node:
    """What maps and lists share. `KEYS` has a class for each entry that is a node, else the entry's default."""

    KEYS: dict[str, Any] = {}
    ITEM: Any = None  # class of entries without one of their own
    tag: str | None = None
    implicit = False  # made by reading an attribute that the document does not have

    def children(self) -> Iterator[Any]:
        raise NotImplementedError

    def all_nodes(self) -> Iterator["Node"]:
        yield self
        for child in self.children():
            if isinstance(child, Node):
                yield from child.all_nodes()

    def get_nodes_of_type(self, node_type: type) -> list[Any]:
        """This node and those below it that are of this class."""
        return [node for node in self.all_nodes() if isinstance(node, node_type)]


class DictNode(Node, dict):
    """A map."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def children(self) -> Iterator[Any]:
        return iter(self.values())

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, typed(value, self.KEYS.get(key, self.ITEM)))

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__") or name not in self.KEYS:
            has = ", ".join(map(str, self)) or "none"
            raise AttributeError(f"a {type(self).__name__} has no `{name}`; it has {has}")
        default = self.KEYS[name]
        if not isinstance(default, type):
            return default
        self[name] = default()
        self[name].implicit = True
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("tag", "implicit"):
            super().__setattr__(name, value)
        else:
            self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(name)
        del self[name]

    def __reduce__(self) -> Any:
        return _remade, (type(self), self.tag, self.implicit, dict(self))

    def __str__(self) -> str:
        name = self.get("name")
        return f"{type(self).__name__}({name})" if isinstance(name, str) else f"{type(self).__name__}({dict(self)})"

    def combine(self, other: dict) -> None:
        """Adds the entries of another document: lists grow, maps are combined, other values are replaced."""
        for key, value in other.items():
            mine = self.get(key)
            if isinstance(mine, DictNode) and isinstance(value, dict):
                mine.combine(value)
            elif isinstance(mine, ListNode) and isinstance(value, list):
                mine.extend(value)
            else:
                self[key] = value


class ListNode(Node, list):
    """A list."""

    def __init__(self, values: Any = ()) -> None:
        super().__init__()
        self.extend(values)

    def children(self) -> Iterator[Any]:
        return iter(self)

    def append(self, value: Any) -> None:
        super().append(typed(value, self.ITEM))

    def extend(self, values: Any) -> None:
        for value in values:
            self.append(value)

    def insert(self, index: Any, value: Any) -> None:
        super().insert(index, typed(value, self.ITEM))

    def __setitem__(self, index: Any, value: Any) -> None:
        one = isinstance(index, int)
        super().__setitem__(index, typed(value, self.ITEM) if one else [typed(each, self.ITEM) for each in value])

    def __iadd__(self, values: Any) -> "ListNode":  # type: ignore[misc]
        self.extend(values)
        return self

    def __reduce__(self) -> Any:
        return _remade, (type(self), self.tag, self.implicit, list(self))


def _remade(cls: type, tag: str | None, implicit: bool, values: Any) -> Node:
    node = cls(values)
    node.tag, node.implicit = tag, implicit
    return node


def typed(value: Any, wanted: Any) -> Any:
    """The value as a node: of the class that its place or tag asks for, or a plain one."""
    tag = getattr(value, "tag", None)
    if not isinstance(wanted, type) and callable(wanted):
        wanted = wanted(tag)
    plain = DictNode if isinstance(value, dict) else ListNode if isinstance(value, list) else None
    if plain is None:
        return value
    cls = wanted if isinstance(wanted, type) and issubclass(wanted, plain) else plain
    if type(value) is cls or (isinstance(value, Node) and cls is plain):
        return value
    node = cls(value)
    if tag is not None:
        node.tag = tag
    return node
