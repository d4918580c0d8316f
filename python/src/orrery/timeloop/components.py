"""`components`: classes of components that are made of others."""

from orrery.timeloop.nodes import DictNode, ListNode


class SubcomponentList(ListNode):
    ITEM = DictNode


class ActionsList(ListNode):
    ITEM = DictNode


class CompoundComponent(DictNode):
    KEYS = {"name": "", "attributes": DictNode, "subcomponents": SubcomponentList, "actions": ActionsList}


class ComponentsList(ListNode):
    ITEM = CompoundComponent


class Components(DictNode):
    KEYS = {"version": "0.4", "classes": ComponentsList}
