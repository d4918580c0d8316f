"""An encoder's layer that runs on this package's kernels, with gradients.

One pass forwards and one backwards through the whole layer: bias, activation, dropout, residual and norm are done on a
product's blocks while they are in the cache, so that each activation is written once (docs/model/layer.md).
"""

from __future__ import annotations

import os
from typing import Any

import torch

from orrery._call import _orrery

_TYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}


class EncoderLayer(torch.nn.TransformerEncoderLayer):
    """`torch.nn.TransformerEncoderLayer` on the CPU by Orrery's kernels: arguments, parameters and results are its.

    `batch_first` is True. Inputs are float32 or bfloat16; parameters are kept as they are and computed with in the
    input's type. Dropout has the same four places, but draws numbers of its own, seeded by torch.manual_seed().
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, **more: Any):
        if more.setdefault("batch_first", True) is not True:
            raise ValueError("EncoderLayer: batch_first: True is expected: arrays are [batch, tokens, width]")
        super().__init__(d_model, nhead, dim_feedforward, dropout, **more)
        self._idle: tuple[Any, list[_Engine]] = (None, [])
        self._name_of_activation()

    @classmethod
    def of(cls, layer: torch.nn.TransformerEncoderLayer) -> EncoderLayer:
        """The same layer; the parameters are shared."""
        width, hidden = layer.linear1.in_features, layer.linear1.out_features
        made = cls(width, layer.self_attn.num_heads, hidden, activation=layer.activation,
                   layer_norm_eps=layer.norm1.eps, norm_first=layer.norm_first, bias=layer.linear1.bias is not None,
                   batch_first=layer.self_attn.batch_first, device="meta")  # fmt: skip
        made._modules.update(layer._modules)
        return made.train(layer.training)

    def _name_of_activation(self) -> str:
        known = {torch.nn.functional.relu: "relu", torch.nn.functional.gelu: "gelu"}
        of = self.activation
        if isinstance(of, torch.nn.ReLU) or isinstance(of, torch.nn.GELU) and of.approximate == "none":
            return type(of).__name__.lower()
        if of not in known:
            raise ValueError(f"EncoderLayer: activation: relu or gelu is expected, not {of!r}")
        return known[of]

    def _parts(self) -> list[torch.Tensor | None]:
        """Parameters in the kernels' order."""
        attention = self.self_attn
        return [attention.in_proj_weight, attention.in_proj_bias] + [
            each
            for module in (attention.out_proj, self.linear1, self.linear2, self.norm1, self.norm2)
            for each in (module.weight, module.bias)
        ]

    def _drops(self) -> list[float]:
        if not self.training:
            return [0.0] * 4
        return [self.self_attn.dropout, self.dropout1.p, self.dropout.p, self.dropout2.p]

    def forward(
        self,
        src: torch.Tensor,
        src_mask: torch.Tensor | None = None,
        src_key_padding_mask: torch.Tensor | None = None,
        is_causal: bool = False,
    ) -> torch.Tensor:
        """[batch, tokens, width] or [tokens, width]; masks are those of torch.nn.TransformerEncoderLayer.

        A query that sees no key has attention 0, where PyTorch has NaN.
        """
        if src.is_nested:
            raise TypeError("EncoderLayer: src: nested tensors are not read; TransformerEncoder makes them unless it is "
                            "given enable_nested_tensor=False")  # fmt: skip
        if src.dtype not in _TYPES:
            raise TypeError(f"EncoderLayer: src: float32 or bfloat16 is expected, not {src.dtype}")
        if src.device.type != "cpu":
            raise TypeError(f"EncoderLayer: src: a tensor on the CPU is expected, not on {src.device}")
        width = self.linear1.in_features
        if src.dim() not in (2, 3) or src.shape[-1] != width:
            raise ValueError(f"EncoderLayer: src: [batch, tokens, {width}] is expected, not {list(src.shape)}")
        x = (src if src.dim() == 3 else src[None]).contiguous()
        mask = _bias(src_mask, src_key_padding_mask, is_causal, len(x), x.shape[1], self.self_attn.num_heads)
        if x.numel() == 0:
            return torch.empty_like(src)
        parts = self._parts()
        graded = torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (x, *parts))
        out = _Pass.apply(self, mask, graded, x, *parts)
        return out if src.dim() == 3 else out[0]

    # Engines hold what one pass forwards leaves to the one backwards, so a layer that runs twice before has two.

    def _engine(self, x: torch.Tensor, training: bool) -> _Engine:
        key = (x.shape, x.dtype, training, self._name_of_activation(), self.norm_first, self.norm1.eps,
               torch.get_num_threads(), os.getpid())  # fmt: skip
        if self._idle[0] != key:
            self._idle = (key, [])
        engine = self._idle[1].pop() if self._idle[1] else _Engine(self, key)
        # Each time: an update by way of `.data` leaves no trace.
        engine.run.set_weights([None if each is None else each.detach().float().contiguous() for each in self._parts()])
        return engine

    def _give_back(self, engine: _Engine) -> None:
        if self._idle[0] == engine.key:
            self._idle[1].append(engine)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_idle": (None, [])}


class _Engine:
    def __init__(self, layer: EncoderLayer, key: tuple[Any, ...]):
        shape, kind, training, activation, pre, epsilon, threads, _ = key
        self.key = key
        self.run = _orrery.Layer(*shape, layer.self_attn.num_heads, layer.linear1.out_features, _TYPES[kind], activation,
                                 pre, layer.linear1.bias is not None, epsilon, training, threads)  # fmt: skip


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layer: EncoderLayer, mask: Any, graded: bool, x: torch.Tensor, *parts: Any) -> torch.Tensor:
        drops = layer._drops()
        engine = layer._engine(x, graded or any(drops))
        y = torch.empty_like(x)
        seed = int(torch.randint(2**62, ())) if any(drops) else 0
        engine.run.forward(x.detach(), y, mask, drops, seed)
        if graded:
            ctx.engine, ctx.layer, ctx.mask = engine, layer, mask
            ctx.kinds = [None if each is None else (each.shape, each.dtype) for each in parts]
            ctx.save_for_backward(x)
        else:
            layer._give_back(engine)
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        if ctx.engine is None:
            raise RuntimeError("EncoderLayer: what a pass keeps is used up by its gradients; run the layer again")
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        grads = [None if each is None else torch.empty(each[0]) for each in ctx.kinds]
        ctx.engine.run.backward(dy.to(x.dtype).contiguous(), dx, grads)
        ctx.layer._give_back(ctx.engine)
        ctx.engine = None
        return (None, None, None, dx,
                *(None if each is None else each.to(kind[1]) for each, kind in zip(grads, ctx.kinds)))  # fmt: skip


def _added(name: str, mask: torch.Tensor, shape: tuple[int, ...], heads: tuple[int, ...]) -> torch.Tensor:
    """A mask as numbers that are added to scores, [1 or batch, 1 or heads, 1 or queries, keys]."""
    if tuple(mask.shape) != shape:
        raise ValueError(f"EncoderLayer: {name}: {list(shape)} is expected, not {list(mask.shape)}")
    if mask.requires_grad:
        raise ValueError(f"EncoderLayer: {name}: masks have no gradients here; give {name}.detach()")
    if mask.dtype == torch.bool:  # True hides
        mask = torch.zeros(shape).masked_fill_(mask, float("-inf"))
    elif not mask.is_floating_point():
        raise TypeError(f"EncoderLayer: {name}: booleans or floating-point numbers are expected, not {mask.dtype}")
    return mask.detach().float().reshape(heads)


def _bias(mask: Any, padding: Any, is_causal: bool, batch: int, tokens: int, heads: int) -> torch.Tensor | None:
    bias = None
    if mask is not None:
        whole = mask.dim() == 3
        bias = _added("src_mask", mask, (batch * heads, tokens, tokens) if whole else (tokens, tokens),
                      (batch, heads, tokens, tokens) if whole else (1, 1, tokens, tokens))  # fmt: skip
    elif is_causal:
        raise ValueError("EncoderLayer: is_causal: it is a hint about src_mask, which is None")
    if padding is not None:
        hidden = _added("src_key_padding_mask", padding, (batch, tokens), (batch, 1, 1, tokens))
        bias = hidden if bias is None else bias + hidden
    return None if bias is None else bias.contiguous()
