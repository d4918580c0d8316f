"""Hugging Face's modules as models of the program, by the configuration that they carry."""

from __future__ import annotations

from typing import Any

from orrery.values import Model


def model(module: Any) -> Model:
    """The module as `train`, `place`, `serve` and `map` read it: `o.train(ot.model(module), system, gpus=64)`.

    Of a module of Hugging Face's transformers, or its configuration, with every size as it is, defaults included. An
    InputError says which of its parts are not modelled. Other modules are traced (`trace`).
    """
    config = getattr(module, "config", module)
    if not hasattr(config, "to_json_string") or not getattr(config, "model_type", ""):
        raise TypeError(
            f"model: module: a model of Hugging Face's transformers is expected, not {type(module).__name__}; `trace` "
            "reads any module's operators"
        )
    return Model.from_text(config.to_json_string(use_diff=False))
