"""`constraints`, and `mapping`, which is a list of them: what the mapping may be."""

from orrery.timeloop.nodes import DictNode, ListNode


class Constraint(DictNode):
    KEYS = {"type": "", "target": ""}


class Iteration(Constraint):
    KEYS = {**Constraint.KEYS, "factors": ListNode, "permutation": ListNode}


class Spatial(Iteration):
    KEYS = {**Iteration.KEYS, "no_reuse": ListNode, "no_link_transfer": ListNode, "split": None}


class Temporal(Iteration):
    KEYS = {**Iteration.KEYS, "no_reuse": ListNode, "rmw_first_update": ListNode}


class Dataspace(Constraint):
    KEYS = {**Constraint.KEYS, "bypass": ListNode, "keep": ListNode, "no_coalesce": ListNode}


class ConstraintGroup(DictNode):
    """The constraints of one component."""

    KEYS = {"spatial": Spatial, "temporal": Temporal, "dataspace": Dataspace, "max_overbooked_proportion": Constraint}


class ConstraintsList(ListNode):
    ITEM = Constraint


class Constraints(DictNode):
    KEYS = {"version": "0.4", "targets": ConstraintsList}
