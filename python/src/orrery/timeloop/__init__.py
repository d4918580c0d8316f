"""timeloopfe's interface: Timeloop's documents as objects, and calls that Orrery answers.

    import orrery.timeloop as tl
    spec = tl.Specification.from_yaml_files("top.yaml.jinja")
    spec.architecture.find("buffer").attributes["depth"] *= 2
    tl.call_mapper(spec, output_dir="outputs").per_compute("energy")
"""

from orrery.timeloop import arch, components, constraints, mapper, output_parsing, problem, specification, variables
from orrery.timeloop.backend_calls import call_accelergy_verbose, call_mapper, call_model
from orrery.timeloop.doc import get_property_table, get_property_tree
from orrery.timeloop.nodes import DictNode, ListNode, Node
from orrery.timeloop.output_parsing import MultipliableDict, OutputStats, OutputStatsList
from orrery.timeloop.problem import Problem
from orrery.timeloop.processor import Processor, ProcessorError
from orrery.timeloop.specification import Specification

__all__ = [
    "DictNode",
    "ListNode",
    "MultipliableDict",
    "Node",
    "OutputStats",
    "OutputStatsList",
    "Problem",
    "Processor",
    "ProcessorError",
    "Specification",
    "arch",
    "call_accelergy_verbose",
    "call_mapper",
    "call_model",
    "components",
    "constraints",
    "get_property_table",
    "get_property_tree",
    "mapper",
    "output_parsing",
    "problem",
    "specification",
    "variables",
]
