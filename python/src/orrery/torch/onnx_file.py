"""Operators and shapes as an ONNX model, without weights: what `orrery graph` and `orrery map` read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Sequence

_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_EXTERNAL = 1  # TensorProto.DataLocation: the numbers lie elsewhere, which nobody opens


@dataclass
class Operator:
    """One operator: names of its operands and results, sizes and the attributes that tell how it counts."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    name: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = ""


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: Any) -> bytes:
    out = _bytes(1, name)
    if isinstance(value, str):
        return out + _bytes(4, value) + _number(20, 3)
    if isinstance(value, int):
        return out + _number(3, value) + _number(20, 2)
    return out + b"".join(_number(8, int(one)) for one in value) + _number(20, 7)


def _node(operator: Operator) -> bytes:
    out = b"".join(_bytes(1, name) for name in operator.inputs)
    out += b"".join(_bytes(2, name) for name in operator.outputs)
    out += _bytes(3, operator.name) + _bytes(4, operator.kind)
    out += b"".join(_bytes(5, _attribute(*item)) for item in operator.attributes.items())
    return out + (_bytes(7, operator.domain) if operator.domain else b"")


def _value(name: str, shape: Sequence[int], integer: bool) -> bytes:
    dims = b"".join(_bytes(1, _number(1, size)) for size in shape)
    tensor = _number(1, _INT64 if integer else _FLOAT) + _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


def _weight(name: str, shape: Sequence[int]) -> bytes:
    dims = b"".join(_number(1, size) for size in shape)
    return dims + _number(2, _FLOAT) + _bytes(8, name) + _number(14, _EXTERNAL)


def model(
    name: str,
    operators: Iterable[Operator],
    shapes: dict[str, tuple[int, ...]],
    *,
    weights: Iterable[str],
    inputs: Iterable[str],
    outputs: Iterable[str],
    integers: set[str],
) -> bytes:
    """The bytes of the file. Every value in `shapes` is stated."""
    weights, inputs, outputs = list(weights), list(inputs), list(outputs)
    operators = list(operators)
    graph = b"".join(_bytes(1, _node(operator)) for operator in operators) + _bytes(2, name)
    graph += b"".join(_bytes(5, _weight(one, shapes[one])) for one in weights)
    for number, names in ((11, inputs), (12, outputs)):
        graph += b"".join(_bytes(number, _value(one, shapes[one], one in integers)) for one in names)
    inner = [one for one in shapes if one not in {*weights, *inputs, *outputs}]
    graph += b"".join(_bytes(13, _value(one, shapes[one], one in integers)) for one in inner)
    opsets = [_number(2, 21)]
    opsets += [_bytes(1, domain) + _number(2, 1) for domain in sorted({one.domain for one in operators if one.domain})]
    return _number(1, 10) + _bytes(2, "orrery.torch") + _bytes(7, graph) + b"".join(_bytes(8, one) for one in opsets)
