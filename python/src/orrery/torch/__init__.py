"""PyTorch: operators of modules for the program, and pruned attention for models."""

from orrery.torch.attention import SparseAttention, patch
from orrery.torch.trace import Trace, TraceError, trace

__all__ = ["SparseAttention", "Trace", "TraceError", "patch", "trace"]
