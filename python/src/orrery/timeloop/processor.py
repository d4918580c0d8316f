"""Processors: users' code that changes a specification before it is asked about."""

from __future__ import annotations

import logging
from typing import Any


class ProcessorError(Exception):
    """A processor left an attribute that it is responsible for, or could not run."""


class Processor:
    """Override `process`, and `declare_attrs` for attributes that the processor takes away again."""

    def __init__(self, spec: Any = None) -> None:
        self.spec = spec
        self.logger = logging.getLogger(type(self).__name__)
        self.declared: list[tuple[type, str, Any]] = []

    def declare_attrs(self) -> None:
        """Calls `add_attr`."""

    def add_attr(self, target: type, key: str, required_type: Any = None, default: Any = None) -> None:
        """Nodes of class `target` have `key`, `default` where it is not given, until this processor has run."""
        self.declared.append((target, key, default))

    def process(self, spec: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does")

    def check_done(self, spec: Any) -> None:
        for target, key, _ in self.declared:
            for node in spec.get_nodes_of_type(target):
                if key in node:
                    who = type(self).__name__
                    raise ProcessorError(f"{who} has run, but {node} still has `{key}`: delete it there")
