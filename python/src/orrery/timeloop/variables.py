"""`variables`: names for the expressions of the other documents."""

from orrery.timeloop.nodes import DictNode


class Variables(DictNode):
    pass
