"""Attention on NumPy's arrays, in place, by the kernels that `orrery tune` and `orrery sparse` measure."""

from __future__ import annotations

from typing import Any

from orrery._call import _orrery

_MOST = 512  # elements of a head


def _heads(name: str, array: Any, shape: tuple[int | None, ...]) -> Any:
    """The array as it is; an error that names it where the kernels cannot read it as it lies."""
    kind, dtype = type(array).__name__, str(getattr(array, "dtype", ""))
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"attention: {name}: a NumPy array is expected, not {kind}")
    if dtype != "float32":
        raise TypeError(f"attention: {name}: float32 is expected, not {dtype}; give {name}.astype('float32')")
    if array.ndim != 4 or any(each not in (None, is_) for each, is_ in zip(shape, array.shape)):
        said = ", ".join("any" if each is None else str(each) for each in shape)
        raise ValueError(f"attention: {name}: [{said}] is expected, not {list(array.shape)}")
    if array.size and (array.strides[3] != 4 or any(each % 4 or each < 0 for each in array.strides)):
        raise ValueError(
            f"attention: {name}: the elements of a head lie together, one every 4 bytes; strides here are "
            f"{array.strides}. Give numpy.ascontiguousarray({name})"
        )
    return array


def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    out: Any = None,
    threads: int = 0,
) -> Any:
    """softmax(scale Q K^T, where kept) V without a matrix of scores; [batch, heads, tokens, size] each, float32.

    Arrays are read and written where they lie, in any layout whose last dimension lies together (a transposed
    [batch, tokens, heads, size], say). Heads of queries can share those of keys. `mask`, booleans
    [1 or batch, 1 or heads, queries, keys], says which keys are kept, in C's order; a query that keeps none comes to 0.
    `causal`: query i sees keys up to i + keys - queries. `scale` is 1 / sqrt(size). `threads`: 0 for all cores.
    """
    import numpy

    batch, heads, queries, size = _heads("query", query, (None, None, None, None)).shape
    _, shared, keys, _ = _heads("key", key, (batch, None, None, size)).shape
    wide = _heads("value", value, (batch, shared, keys, None)).shape[3]
    if not shared or heads % shared:
        raise ValueError(f"attention: key: its {shared} heads do not divide the {heads} of query")
    if not 0 < size <= _MOST or not 0 < wide <= _MOST:
        raise ValueError(f"attention: heads of 1 to {_MOST} elements are expected, not {size} and {wide}")
    if out is None:
        out = numpy.empty((batch, heads, queries, wide), numpy.float32)
    elif _heads("out", out, (batch, heads, queries, wide)) is not None and not out.flags.writeable:
        raise ValueError("attention: out: it is read-only")
    if any(numpy.may_share_memory(out, each) for each in (query, key, value)):
        raise ValueError("attention: out: it lies where query, key or value lie")
    kept = None
    if mask is not None:
        if str(getattr(mask, "dtype", type(mask).__name__)) != "bool":
            raise TypeError(f"attention: mask: booleans are expected, not {getattr(mask, 'dtype', type(mask).__name__)}")
        if mask.ndim != 4 or any(of not in (1, most) for of, most in zip(mask.shape, (batch, heads))) or mask.shape[
            2:
        ] != (queries, keys):
            raise ValueError(
                f"attention: mask: [1 or {batch}, 1 or {heads}, {queries}, {keys}] is expected, not {list(mask.shape)}"
            )
        if not mask.flags.c_contiguous:
            raise ValueError("attention: mask: it is not in C's order; give numpy.ascontiguousarray(mask)")
        kept = mask.view("uint8")
    if out.size and not keys:
        out[...] = 0
    elif out.size:
        factor = size**-0.5 if scale is None else float(scale)
        _orrery.attention(query, key, value, out, kept, factor, bool(causal), threads)
    return out
