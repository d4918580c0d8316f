"""Expressions in documents, such as `DATAWIDTH * 2` or `len(spec.problem.instance)`."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any, Callable, Mapping

_BINARY: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type, Callable] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
_FUNCTIONS: dict[str, Callable] = {
    **{name: getattr(math, name) for name in ("ceil", "floor", "log", "log2", "log10", "sqrt", "exp", "prod")},
    **{one.__name__: one for one in (abs, min, max, round, len, sum, int, float)},
}


class NotAnExpression(Exception):
    pass


class Evaluator:
    """Arithmetic on names; nothing else runs. `names` may hold expressions themselves."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._open: list[str] = []

    def value(self, text: Any) -> Any:
        """What the text says, or the text where it is no expression."""
        if not isinstance(text, str):
            return text
        try:
            return self._of(ast.parse(text.strip(), mode="eval").body)
        except (NotAnExpression, SyntaxError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
            return text

    def _name(self, name: str) -> Any:
        if name in self._open:
            raise NotAnExpression(f"`{name}` is said by itself")
        found = self._names[name]
        if not isinstance(found, str):
            return found
        self._open.append(name)
        try:
            return self.value(found)
        finally:
            self._open.pop()

    def _of(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return _UNARY[type(node.op)](self._of(node.operand))
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._of(node.left), self._of(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._binary(node.ops[0], self._of(node.left), self._of(node.comparators[0]))
        if isinstance(node, ast.IfExp):
            return self._of(node.body if self._of(node.test) else node.orelse)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return _FUNCTIONS[node.func.id](*[self._of(argument) for argument in node.args])
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
            return self._of(node.value)[node.attr]
        if isinstance(node, ast.Subscript):
            return self._of(node.value)[self._of(node.slice)]
        raise NotAnExpression(ast.dump(node))

    def _binary(self, op: ast.AST, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Pow) and abs(right) < 1024:
            return left**right
        if type(op) not in _BINARY or isinstance(left, str) != isinstance(right, str):
            raise NotAnExpression(ast.dump(op))
        return _BINARY[type(op)](left, right)
