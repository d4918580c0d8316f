"""`architecture`: containers, components and how they nest."""

from __future__ import annotations

from typing import Any

from orrery.timeloop.constraints import ConstraintGroup
from orrery.timeloop.nodes import DictNode, ListNode, Node


class Attributes(DictNode):
    pass


class Spatial(DictNode):
    """Instances side by side."""

    KEYS = {"meshX": 1, "meshY": 1}


class _Findable(Node):
    def name2leaf(self, name: str) -> "Leaf":
        """The container or component of this name; ValueError where there is none."""
        leaves = self.get_nodes_of_type(Leaf)
        for leaf in leaves:
            if leaf.get("name") == name:
                return leaf
        raise ValueError(f"no leaf `{name}`; there are {', '.join(str(leaf.get('name')) for leaf in leaves)}")

    find = name2leaf

    def name2constraints(self, name: str) -> ConstraintGroup:
        return self.name2leaf(name).constraints


class Leaf(_Findable, DictNode):
    KEYS = {
        "attributes": Attributes,
        "spatial": Spatial,
        "constraints": ConstraintGroup,
        "sparse_optimizations": DictNode,
        "enabled": True,
    }


class Component(Leaf):
    KEYS = {**Leaf.KEYS, "subclass": None, "required_actions": ListNode, "area_scale": None, "energy_scale": None}


class Container(Leaf):
    KEYS = {**Leaf.KEYS, "networks": ListNode}


class Nothing(Component):
    pass


def _of_tag(tag: str | None) -> Any:
    return {
        "!Component": Component,
        "!Container": Container,
        "!Nothing": Nothing,
        "!Hierarchical": Hierarchical,
        "!Parallel": Parallel,
        "!Pipelined": Pipelined,
    }.get(tag or "", DictNode)


class ArchNodes(_Findable, ListNode):
    ITEM = staticmethod(_of_tag)


class Branch(_Findable, DictNode):
    KEYS = {"nodes": ArchNodes}


class Hierarchical(Branch):
    pass


class Parallel(Branch):
    pass


class Pipelined(Branch):
    pass


class Architecture(Hierarchical):
    KEYS = {**Branch.KEYS, "version": "0.4"}
