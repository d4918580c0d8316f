"""`problem`: the einsum to map."""

from orrery.timeloop.nodes import DictNode, ListNode


class Density(DictNode):
    pass


class DensityList(DictNode):
    ITEM = Density


class Instance(DictNode):
    """Sizes of dimensions and values of coefficients."""

    KEYS = {"densities": DensityList}


class DataSpace(DictNode):
    KEYS = {"read_write": False}


class DataSpaceList(ListNode):
    ITEM = DataSpace


class Shape(DictNode):
    KEYS = {"name": "", "dimensions": ListNode, "data_spaces": DataSpaceList, "coefficients": ListNode}


class Problem(DictNode):
    KEYS = {"version": "0.4", "instance": Instance, "shape": Shape}
