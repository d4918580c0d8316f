"""PyTorch: operators of modules for the program, pruned attention for models, and a layer on its kernels."""

from orrery.torch.attention import SparseAttention, patch
from orrery.torch.configured import model
from orrery.torch.encoder import EncoderLayer
from orrery.torch.trace import Trace, TraceError, trace

__all__ = ["EncoderLayer", "SparseAttention", "Trace", "TraceError", "model", "patch", "trace"]
