"""Attention that is pruned as `orrery sparse` prunes it, in PyTorch and in Hugging Face's models."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy
import torch

from orrery._call import call

PREDICTORS = ("threshold", "top-k", "rounds", "blocks", "window")
FAMILIES = ("bert", "gpt2", "bart")


def _program(arguments: list[str]) -> None:
    answer = call([*arguments, "--json"])
    if answer.code != 0:
        found = json.loads(answer.out) if answer.out else {}
        messages = ["\n  ".join([f"{one['code']}: {one['message']}", *one["hints"]]) for one in found["diagnostics"]]
        raise ValueError("\n".join(messages) or answer.err)


def _saved(folder: str, name: str, tensor: torch.Tensor) -> str:
    path = str(Path(folder) / f"{name}.npy")
    plain = tensor.detach().cpu()
    numpy.save(path, (plain.float() if plain.is_floating_point() else plain.to(torch.int64)).numpy())
    return path


class SparseAttention(torch.nn.Module):
    """Attention to the keys that a mask of the program keeps; its softmax is over these alone.

    `kind` is a predictor of `orrery sparse measure` (threshold, top-k, rounds, blocks, window), which looks at each
    batch, or a static kind of `orrery sparse mask` (longformer, bigbird, fixed, ...). `options` are theirs by name:
    `threshold=0.002`, `bits=4`, `keep=0.1`, `query_clip=2.5`, `block=64`. Gradients pass the kept scores.
    """

    def __init__(self, kind: str = "threshold", **options: Any) -> None:
        super().__init__()
        self.kind = kind
        self.options: list[str] = []
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            self.options += [flag] if value is True else [] if value is False else [flag, str(value)]
        self.density: float | None = None
        self._static: dict[tuple[int, int], torch.Tensor] = {}

    def extra_repr(self) -> str:
        return " ".join([self.kind, *self.options])

    def mask(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        *,
        valid: torch.Tensor | None = None,
        causal: bool = False,
        scaled: bool = False,
    ) -> torch.Tensor:
        """Which keys are kept: booleans [batch, heads, queries, keys]. `valid` [batch, keys] has the keys there are."""
        batch, heads, queries, _ = query.shape
        keys = key.shape[2]
        if self.kind in PREDICTORS:
            return self._predicted(query, key, valid, causal, scaled)
        if queries != keys:
            raise ValueError(f"a {self.kind} mask is of as many queries as keys, not {queries} and {keys}")
        if (heads, keys) not in self._static:
            with tempfile.TemporaryDirectory() as folder:
                out = str(Path(folder) / "mask.npy")
                sizes = ["--seq", str(keys), "--heads", str(heads)]
                _program(["sparse", "mask", self.kind, *sizes, "-o", out, *self.options])
                self._static[heads, keys] = torch.from_numpy(numpy.load(out)).bool()
        kept = self._static[heads, keys].to(query.device).expand(batch, -1, -1, -1)
        there = _there(batch, queries, keys, valid, causal, query.device)
        return kept if there is None else kept & there

    def _predicted(self, query: Any, key: Any, valid: Any, causal: bool, scaled: bool) -> torch.Tensor:
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "mask.npy")
            arguments = ["sparse", "measure", "--predictor", self.kind, "--no-packing", "--save-mask", out]
            arguments += ["--q", _saved(folder, "q", query), "--k", _saved(folder, "k", key), *self.options]
            if valid is not None:
                ones = torch.ones(query.shape[0], query.shape[2], dtype=torch.int64)
                arguments += ["--valid", _saved(folder, "valid", valid)]
                arguments += ["--valid-queries", _saved(folder, "queries", ones)]
            arguments += ["--causal"] * causal + ["--scaled"] * scaled
            _program(arguments)
            return torch.from_numpy(numpy.load(out)).bool().to(query.device)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        valid: torch.Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> torch.Tensor:
        """[batch, heads, tokens, size] each; a query that keeps no key comes to 0. `scale` is 1 / sqrt(size)."""
        return self.weighted(query, key, value, valid=valid, causal=causal, scale=scale, dropout=dropout)[0]

    def weighted(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        valid: torch.Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The result and the weights of the keys."""
        scaled = scale is not None and scale != query.shape[-1] ** -0.5
        factor = scale if scale is not None else query.shape[-1] ** -0.5
        if scaled:
            query, factor = query * factor, 1.0
        kept = self.mask(query, key, valid=valid, causal=causal, scaled=scaled)
        there = _there(query.shape[0], query.shape[2], key.shape[2], valid, causal, query.device)
        pairs = kept.numel() if there is None else int(there.sum()) * query.shape[1]
        self.density = int(kept.sum()) / pairs if pairs else 0.0
        scores = (query @ key.transpose(2, 3) * factor).masked_fill(~kept, float("-inf"))
        some = kept.any(-1, keepdim=True)
        weights = torch.softmax(scores.masked_fill(~some, 0.0), dim=-1) * some
        weights = torch.nn.functional.dropout(weights, p=dropout, training=dropout > 0)
        return weights @ value, weights


def _there(batch: int, queries: int, keys: int, valid: Any, causal: bool, device: Any) -> torch.Tensor | None:
    """Pairs that there are, [batch, 1, queries, keys]; nothing: all."""
    pairs = None
    if valid is not None:
        pairs = valid.to(device).bool()[:, None, None, :].expand(batch, 1, queries, keys)
    if causal:
        below = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
        pairs = below.expand(batch, 1, queries, keys) if pairs is None else pairs & below
    return pairs


def _parts(mask: torch.Tensor, queries: int, keys: int) -> tuple[torch.Tensor | None, bool]:
    """A model's mask as keys that are there and whether queries see those up to their own only."""
    allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    if allowed.shape[1] != 1 and not bool((allowed == allowed[:, :1]).all()):
        raise ValueError("orrery.torch: heads have different masks; pruned attention has one for all")
    seen = allowed[:, 0].expand(-1, queries, keys)
    valid = seen.any(1)
    for causal in (False, True):
        if bool((seen == _there(len(seen), queries, keys, valid, causal, seen.device)[:, 0]).all()):
            return (None if bool(valid.all()) else valid), causal
    raise ValueError("orrery.torch: the model's mask is neither of keys alone nor causal (windows, packed sequences?)")


_names = (f"orrery_sparse_{number}" for number in itertools.count())


def patch(model: Any, kind: str = "threshold", **options: Any) -> SparseAttention:
    """Prunes every attention of a Hugging Face model of the BERT, GPT-2 or BART family; returns what prunes.

    `kind` and `options` are SparseAttention's. `model.set_attn_implementation("sdpa")` takes it away again.
    """
    family = getattr(getattr(model, "config", None), "model_type", None)
    if family not in FAMILIES:
        raise ValueError(f"model is of the BERT, GPT-2 or BART family, not {family or type(model).__name__}")
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask

    attention = SparseAttention(kind, **options)

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: Any = None, dropout: float = 0.0,
               **_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        valid, causal = (None, False) if mask is None else _parts(mask, query.shape[2], key.shape[2])
        out, weights = attention.weighted(
            query, key, value, valid=valid, causal=causal, scale=scaling, dropout=dropout if module.training else 0.0
        )
        return out.transpose(1, 2).contiguous(), weights

    def whole_mask(*arguments: Any, **settings: Any) -> Any:
        settings.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False, allow_torch_fix=False)
        return sdpa_mask(*arguments, **settings)

    name = next(_names)
    AttentionInterface.register(name, attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(name, whole_mask)
    model.set_attn_implementation(name)
    return attention
