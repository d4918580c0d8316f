"""Operators of a PyTorch module, read by torch.export."""

from __future__ import annotations

import json
import math
import re
import tempfile
from pathlib import Path
from typing import Any, Callable, Sequence

import torch

from orrery._call import call
from orrery.torch.onnx_file import Operator, model

_MOVES = {
    "Reshape": "view reshape _unsafe_view flatten unflatten contiguous clone alias detach to _to_copy dropout "
    "alpha_dropout feature_dropout type_as float lift_fresh_copy view_as squeeze unsqueeze "
    "movedim",
    "Expand": "expand expand_as broadcast_to repeat repeat_interleave copy",
    "Slice": "slice narrow roll flip unfold",
    "Pad": "pad constant_pad_nd",
    "Where": "where masked_fill tril triu",
}
_ELEMENTWISE = {
    "Add": "add __add__",
    "Sub": "sub rsub",
    "Mul": "mul",
    "Div": "div true_divide floor_divide remainder",
    "Neg": "neg",
    "Abs": "abs",
    "Pow": "pow square",
    "Sqrt": "sqrt rsqrt",
    "Reciprocal": "reciprocal",
    "Exp": "exp expm1 exp2",
    "Log": "log log1p log2",
    "Erf": "erf",
    "Sin": "sin",
    "Cos": "cos",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid hardsigmoid",
    "Relu": "relu relu6 leaky_relu elu hardtanh",
    "Gelu": "gelu",
    "Swish": "silu hardswish mish",
    "Softplus": "softplus",
    "Clip": "clamp clamp_min clamp_max clip",
    "Min": "minimum",
    "Max": "maximum",
    "Equal": "eq ne",
    "Less": "lt le",
    "Greater": "gt ge",
    "And": "logical_and bitwise_and __and__",
    "Or": "logical_or bitwise_or __or__",
    "Not": "logical_not bitwise_not",
}
_REDUCING = {
    "Softmax": "softmax _softmax",
    "LogSoftmax": "log_softmax _log_softmax",
    "LayerNormalization": "layer_norm native_layer_norm",
    "RMSNormalization": "rms_norm _fused_rms_norm",
    "GroupNormalization": "group_norm native_group_norm",
    "BatchNormalization": "batch_norm _native_batch_norm_legit_no_training",
    "CumSum": "cumsum diff",
}
_KINDS = {
    name: kind for table in (_MOVES, _ELEMENTWISE, _REDUCING) for kind, names in table.items() for name in names.split()
}
_REDUCED = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "var": "ReduceMean",
    "std": "ReduceMean",
    "amax": "ReduceMax",
    "max": "ReduceMax",
    "amin": "ReduceMin",
    "min": "ReduceMin",
    "argmax": "ArgMax",
    "argmin": "ArgMin",
}
_MADE = set(
    "arange full full_like zeros zeros_like ones ones_like new_ones new_zeros new_full empty empty_like scalar_tensor "
    "linspace eye fill_".split()
)
_PRODUCTS = re.compile(r"conv|lstm|gru|rnn|attention|mm$|mm_|dot$|outer|cdist|addmv|addbmm|addr$")
_NOTHING = set("_assert_tensor_metadata _assert_async _assert_scalar sym_size sym_constrain_range_for_size".split())


class TraceError(ValueError):
    """The module has no graph of operators of fixed sizes, or a product of a kind that is not understood."""


class Trace:
    """A module's operators; `save` and `map` hand them to the program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operators: list[Operator] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.integers: set[str] = set()
        self.weights: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self.operators)} operators)"

    @property
    def uncounted(self) -> list[str]:
        """Operators of PyTorch that are in the graph but that the program does not know."""
        return sorted({one.kind for one in self.operators if one.domain == "aten"})

    def to_onnx(self) -> bytes:
        """An ONNX model without weights."""
        return model(
            self.name,
            self.operators,
            self.shapes,
            weights=self.weights,
            inputs=self.inputs,
            outputs=self.outputs,
            integers=self.integers,
        )

    def save(self, path: str | Path) -> Path:
        """Writes the ONNX model, a `.onnx` file."""
        path = Path(path)
        if path.suffix != ".onnx":
            raise ValueError(f"the file is told by its suffix, so path ends in .onnx; not so {path}")
        path.write_bytes(self.to_onnx())
        return path

    def graph(self) -> dict[str, Any]:
        """What `orrery graph` says of it: operators with shapes, operations and words."""
        return self._ask("graph", [])

    def map(self, chip: str, options: Sequence[str] = (), *, time_limit: float | None = None) -> dict[str, Any]:
        """The best mapping of every product on a chip: `orrery map --chip CHIP`, with further options of it."""
        return self._ask("map", ["--chip", chip, *options], time_limit=time_limit)

    def _ask(self, verb: str, options: Sequence[str], *, time_limit: float | None = None) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            file = self.save(Path(folder) / f"{self.name}.onnx")
            answer = call([verb, str(file), "--json", *options], time_limit=time_limit)
        document = json.loads(answer.out) if answer.out else {}
        if "result" not in document:
            messages = [f"{one['code']}: {one['message']}" for one in document.get("diagnostics", [])]
            raise TraceError("\n".join(messages) or answer.err)
        return document["result"]


def trace(module: torch.nn.Module, example: Any = (), kwargs: dict[str, Any] | None = None) -> Trace:
    """The operators that `module` runs on an example: a tensor, a tuple of arguments, or a dictionary of them.

    Sizes are those of the example. TraceError says what torch.export, or this package, does not understand.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module is a torch.nn.Module, not {type(module).__name__}")
    if isinstance(example, dict):
        example, kwargs = (), {**example, **(kwargs or {})}
    arguments = example if isinstance(example, tuple) else (example,)
    try:
        program = torch.export.export(module, arguments, kwargs or {}, strict=False)
    except Exception as wrong:
        reason = str(wrong).strip() or type(wrong).__name__
        raise TraceError(f"torch.export refuses {type(module).__name__}: {reason}") from wrong
    return _Reader(program, type(module).__name__).read()


class _Reader:
    def __init__(self, program: Any, name: str) -> None:
        self._program = program
        self._out = Trace(name)
        self._special: dict[str, Callable[[Any], None]] = {
            "permute": self._transpose,
            "transpose": self._transpose,
            "t": self._transpose,
            "cat": self._concat,
            "concat": self._concat,
            "split": self._split,
            "split_with_sizes": self._split,
            "chunk": self._split,
            "select": lambda node: self._element(node, node.name, node.args[1]),
            "unbind": self._unbind,
            "index": self._index,
            "stack": self._stack,
            **{name: self._reduce for name in _REDUCED},
            "embedding": lambda node: self._gather(node, "Gather", 0, node.args[1]),
            "index_select": lambda node: self._gather(node, "Gather", node.args[1], node.args[2]),
            "gather": lambda node: self._gather(node, "GatherElements", node.args[1], node.args[2]),
            "linear": self._linear,
            "mm": self._matmul,
            "bmm": self._matmul,
            "matmul": self._matmul,
            "mv": self._matmul,
            "addmm": self._added_matmul,
            "baddbmm": self._added_matmul,
            "einsum": self._einsum,
            "conv1d": self._convolution,
            "conv2d": self._convolution,
            "conv3d": self._convolution,
            "convolution": self._convolution,
            "scaled_dot_product_attention": self._attention,
            "max_pool2d": self._pool,
            "avg_pool2d": self._pool,
            "adaptive_avg_pool2d": self._pool,
        }

    def read(self) -> Trace:
        targets = {spec.arg.name: spec for spec in self._program.graph_signature.input_specs}
        for node in self._program.graph.nodes:
            if node.op == "placeholder":
                if not isinstance(node.meta.get("val"), torch.Tensor):
                    continue
                self._value(node.name, node.meta["val"])
                user = targets[node.name].kind.name == "USER_INPUT"
                (self._out.inputs if user else self._out.weights).append(node.name)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                made = [one.name for one in node.all_input_nodes]
                self._out.outputs = [one for one in dict.fromkeys(made) if one not in self._out.inputs]
        self._out.outputs = [one for one in self._out.outputs if one in self._out.shapes]
        return self._out

    def _value(self, name: str, value: torch.Tensor) -> str:
        sizes = []
        for size in value.shape:
            if not isinstance(size, int):
                raise TraceError(f"`{name}` has a size that depends on data ({size}); operators have fixed sizes")
            sizes.append(size)
        self._out.shapes[name] = tuple(sizes)
        if not value.dtype.is_floating_point:
            self._out.integers.add(name)
        return name

    def _made(self, name: str, shape: Sequence[int]) -> str:
        self._out.shapes[name] = tuple(int(size) for size in shape)
        return name

    def _add(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        domain = attributes.pop("domain", "")
        name = f"{outputs[0]}/{kind}" if outputs else kind
        self._out.operators.append(Operator(kind, inputs, outputs, name, attributes, domain))

    def _call(self, node: Any) -> None:
        if getattr(node.target, "__name__", "") == "getitem":
            self._value(node.name, node.meta["val"])  # a result of an operator of several, which has this name
            return
        name = getattr(node.target, "_schema", None) and node.target._schema.name.split("::")[-1]
        if name is None:
            raise TraceError(f"`{node.target}` is no operator: control flow is not traced")
        if name in _NOTHING or node.meta.get("val") is None:
            return
        outputs = self._outputs(node)
        if not outputs:
            return
        if name in self._special:
            self._special[name](node)
            return
        inputs = [one.name for one in node.all_input_nodes if one.name in self._out.shapes]
        if name in _MADE:
            self._add("Constant", [], outputs)
        elif kind := _KINDS.get(name) or _KINDS.get(name.rstrip("_")):
            self._add(kind, inputs, outputs)
        elif _PRODUCTS.search(name):
            raise TraceError(f"`{node.name}`: the product `{name}` of PyTorch is not understood")
        else:
            self._add(name, inputs, outputs, domain="aten")

    def _outputs(self, node: Any) -> list[str]:
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            return [self._value(node.name, value)]
        if not isinstance(value, (tuple, list)):
            return []
        users = {user.args[1]: user for user in node.users if getattr(user.target, "__name__", "") == "getitem"}
        parts = [(i, one) for i, one in enumerate(value) if isinstance(one, torch.Tensor)]
        return [self._value(users[i].name if i in users else f"{node.name}.{i}", one) for i, one in parts]

    def _shape(self, node: Any) -> tuple[int, ...]:
        return self._out.shapes[node.name]

    def _transpose(self, node: Any) -> None:
        rank = len(self._shape(node))
        order = list(range(rank))
        if len(node.args) == 3:
            a, b = (int(one) % rank for one in node.args[1:])
            order[a], order[b] = order[b], order[a]
        elif len(node.args) == 2:
            order = [int(one) % rank for one in node.args[1]]
        else:
            order.reverse()
        self._add("Transpose", [node.args[0].name], [node.name], perm=order)

    def _axis(self, node: Any, place: int, of: Any) -> int:
        axis = node.args[place] if len(node.args) > place else node.kwargs.get("dim", 0)
        return int(axis) % len(self._shape(of))

    def _concat(self, node: Any) -> None:
        inputs = [one.name for one in node.args[0]]
        self._add("Concat", inputs, [node.name], axis=self._axis(node, 1, node))

    def _split(self, node: Any) -> None:
        self._add("Split", [node.args[0].name], self._outputs(node), axis=self._axis(node, 2, node.args[0]))

    def _gather(self, node: Any, kind: str, axis: int, indices: Any) -> None:
        self._add(kind, [node.args[0].name, indices.name], [node.name], axis=int(axis))

    def _element(self, node: Any, made: str, axis: int) -> None:
        index = self._made(f"{made}.index", ())
        self._out.integers.add(index)
        self._add("Constant", [], [index])
        of = node.args[0]
        self._add("Gather", [of.name, index], [made], axis=int(axis) % len(self._shape(of)))

    def _unbind(self, node: Any) -> None:
        for made in self._outputs(node):
            self._element(node, made, self._axis(node, 1, node.args[0]))

    def _stack(self, node: Any) -> None:
        axis = self._axis(node, 1, node)
        shape = list(self._shape(node))
        shape[axis] = 1
        parts = [self._made(f"{node.name}.{i}", shape) for i in range(len(node.args[0]))]
        for part, one in zip(parts, node.args[0]):
            self._add("Reshape", [one.name], [part])
        self._add("Concat", parts, [node.name], axis=axis)

    def _reduce(self, node: Any) -> None:
        name = node.target._schema.name.split("::")[-1]
        names = [argument.name for argument in node.target._schema.arguments]
        given = {**dict(zip(names, node.args)), **node.kwargs}
        if "other" in given:  # max and min of two tensors
            self._add(name.capitalize(), [one.name for one in node.all_input_nodes], self._outputs(node))
            return
        of = node.args[0]
        axes = given.get("dim")
        every = range(len(self._shape(of)))
        axes = list(every) if axes is None or axes == [] else [axes] if isinstance(axes, int) else list(axes)
        axes = [axis % len(every) for axis in axes]
        kept = int(bool(given.get("keepdim", False)))
        made, kind = self._outputs(node)[0], _REDUCED[name]
        if kind.startswith("Arg") and len(axes) == 1:
            self._add(kind, [of.name], [made], axis=axes[0], keepdims=kept)
        else:
            self._add(kind.replace("Arg", "Reduce"), [of.name], [made], axes=axes, keepdims=kept)

    def _product(self, node: Any, left: str, right: str, bias: Any) -> None:
        made = node.name
        if bias is None:
            self._add("MatMul", [left, right], [made])
            return
        product = self._made(f"{made}.product", self._shape(node))
        self._add("MatMul", [left, right], [product])
        self._add("Add", [product, bias.name], [made])

    def _linear(self, node: Any) -> None:
        inputs, weight = node.args[0], node.args[1]
        bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
        turned = self._made(f"{node.name}.weight", self._shape(weight)[::-1])
        self._add("Transpose", [weight.name], [turned], perm=[1, 0])
        self._product(node, inputs.name, turned, bias)

    def _matmul(self, node: Any) -> None:
        self._product(node, node.args[0].name, node.args[1].name, None)

    def _added_matmul(self, node: Any) -> None:
        self._product(node, node.args[1].name, node.args[2].name, node.args[0])

    def _einsum(self, node: Any) -> None:
        operands = [one.name for one in node.args[1]]
        self._add("Einsum", operands, [node.name], equation=node.args[0].replace(" ", ""))

    def _convolution(self, node: Any) -> None:
        names = [argument.name for argument in node.target._schema.arguments]
        given = {**dict(zip(names, node.args)), **node.kwargs}
        if given.get("transposed"):
            raise TraceError(f"`{node.name}`: a transposed convolution is not understood")
        inputs, weight = given["input"], given["weight"]
        sizes = len(self._shape(weight)) - 2

        def each(name: str, default: int) -> list[int]:
            value = given.get(name, default)
            several = [value] if isinstance(value, int) else list(value)
            return several * sizes if len(several) == 1 else several

        attributes: dict[str, Any] = {
            "kernel_shape": self._shape(weight)[2:],
            "strides": each("stride", 1),
            "dilations": each("dilation", 1),
            "group": int(given.get("groups", 1)),
        }
        if given.get("padding") == "same":
            attributes["auto_pad"] = "SAME_UPPER"
        elif given.get("padding") != "valid":
            attributes["pads"] = each("padding", 0) * 2
        operands = [inputs.name, weight.name] + ([given["bias"].name] if given.get("bias") is not None else [])
        self._add("Conv", operands, [node.name], **attributes)

    def _attention(self, node: Any) -> None:
        query, key, value = (argument for argument in node.args[:3])
        *batch, queries, size = self._shape(query)
        keys, heads = self._shape(key)[-2], self._shape(key)[-3] if batch else 1
        q, out = query.name, node.name
        shape = [*batch, queries]
        if batch and heads != batch[-1]:  # grouped queries: the heads of a group are rows of one product
            shape = [*batch[:-1], heads, batch[-1] // heads * queries]
            q = self._made(f"{out}.queries", [*shape, size])
            self._add("Reshape", [query.name], [q])
        turned = self._made(f"{out}.keys", [*self._shape(key)[:-2], size, keys])
        scores = self._made(f"{out}.scores", [*shape, keys])
        weights = self._made(f"{out}.weights", [*shape, keys])
        order = list(range(len(self._shape(key))))
        self._add("Transpose", [key.name], [turned], perm=[*order[:-2], order[-1], order[-2]])
        self._add("MatMul", [q, turned], [scores])
        self._add("Softmax", [scores], [weights])
        if q == query.name:
            self._add("MatMul", [weights, value.name], [out])
            return
        product = self._made(f"{out}.product", [*shape, self._shape(value)[-1]])
        self._add("MatMul", [weights, value.name], [product])
        self._add("Reshape", [product], [out])

    def _pool(self, node: Any) -> None:
        name = node.target._schema.name
        of, sizes = node.args[0], self._shape(node)[2:]
        given = dict(zip(("kernel_size", "stride", "padding", "dilation"), node.args[1:]))
        whole = self._shape(of)[2:]
        if "adaptive" in name:
            if any(size % part for size, part in zip(whole, sizes)):
                self._add(name.split("::")[-1], [of.name], [node.name], domain="aten")
                return
            given = {"kernel_size": [size // part for size, part in zip(whole, sizes)]}

        def each(key: str, default: Any) -> list[int]:
            value = given.get(key) or default
            several = [value] if isinstance(value, int) else list(value)
            return several * len(sizes) if len(several) == 1 else several

        window = each("kernel_size", 1)
        ceil = node.args[{"max_pool2d": 5}.get(name.split("::")[-1], 4) :][:1] == (True,)
        attributes = {"kernel_shape": window, "strides": each("stride", window), "pads": each("padding", 0) * 2}
        if "max" in name:
            attributes["dilations"] = each("dilation", 1)
        kind = "MaxPool" if "max" in name else "AveragePool"
        self._add(kind, [of.name], [node.name], **attributes, ceil_mode=int(ceil))

    def _index(self, node: Any) -> None:
        of, indices = node.args[0], node.args[1]
        if any(one is None for one in indices):
            self._add("index", [one.name for one in node.all_input_nodes], [node.name], domain="aten")
            return
        rest = self._shape(of)[len(indices) :]
        shape = self._shape(node)
        rows = self._made(f"{node.name}.rows", [math.prod(self._shape(of)[: len(indices)]), *rest])
        row = self._made(f"{node.name}.row", shape[: len(shape) - len(rest)])
        self._out.integers.add(row)
        self._add("Reshape", [of.name], [rows])
        self._add("Constant", [], [row])
        self._add("Gather", [rows, row], [node.name], axis=0)
