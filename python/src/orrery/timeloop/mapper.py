"""`mapper`: settings of Timeloop's search. Of these Orrery's takes the objective and the number of threads."""

from orrery.timeloop.nodes import DictNode, ListNode


class Mapper(DictNode):
    KEYS = {
        "version": "0.4",
        "optimization_metrics": ListNode,
        "num_threads": 8,
        "search_size": None,
        "timeout": 1000,
        "victory_condition": None,
    }
