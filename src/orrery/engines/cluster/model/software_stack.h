// The software of a training run: what of its cost is neither the model's, nor the plan's, nor the machine's. Plain
// data; the stacks that have a name stand in catalog/stacks, each figure with its source.
#pragma once

#include <cstddef>
#include <cstdint>

#include "orrery/describe/machine/operator.h"

namespace orrery::cluster {

enum class StackName {
  kMegatron2021,  // Megatron-LM of 2021 and 2022, Megatron-DeepSpeed
  kMegatronCore,  // Megatron-Core and NeMo, 2023 and later
  kPytorchFsdp,   // PyTorch's FSDP, 2023 and later
  kXla,           // JAX and XLA
  // Kin of these, which differ from them in figures and in what they can run.
  kAutomodel,
  kDeepspeed,
  kInternevo,
  kLitgpt,
  kLlamaFactory,
  kNeuronx,
  kPrimus,
  kTorchtitan,
  kTorchtune,
  kXtuner,
};
inline constexpr std::size_t kStacks = 14;

// That of the first four whose ways of its own the engine knows: the turns of interleaved stages, experts one by one.
constexpr StackName kin(StackName name) {
  if (name <= StackName::kXla) return name;
  if (name == StackName::kPrimus) return StackName::kMegatronCore;
  if (name == StackName::kNeuronx) return StackName::kXla;
  return name == StackName::kInternevo ? StackName::kMegatron2021 : StackName::kPytorchFsdp;
}

// Share of the communication of each class that goes beside work where there is work to go beside: 0 none, 1 all. tp:
// beside the layer's own operators, the first of its steps apart; pp: beside the steady state's stages; dp: beside the
// passes, layer by layer, the first gather and the last scatter apart; ep: beside the layer's operators; cp: beside the
// attention core.
struct Overlap {
  double tp = 0, pp = 0, dp = 0, ep = 0, cp = 0;
};

// The defaults are those of Megatron-LM of 2021, on whose kernels the bytes of layer.h were counted.
struct Stack {
  StackName name = StackName::kMegatron2021;
  Overlap overlap;  // what it overlaps; a plan says what it does
  // Times.
  machine::AttentionKernel kernel = machine::AttentionKernel::kFlash1;  // where attention keeps its scores on chip
  double traffic = 1;     // of norms, activations, layouts: bytes, in units of those that layer.h counts
  bool eager = false;     // RMSNorms and rotations are chains of operators, one after the other through memory
  double loss_bytes = 0;  // of the loss's traffic for each 16-bit logit; 0: what the system's calibration says
  double host = 1;        // host time of an operator, in units of the system's; 0: compiled programs, CUDA graphs
  bool whole_parameters = false;    // ZeRO 1 gives whole parameters to ranks, who broadcast them in turn after the step
  double contention = 0;            // seconds that computation loses for each second of communication beside it
  double stragglers = 0;            // share of an iteration's work that replicas wait, for each doubling of the nodes
  double grouped_rate = 1;          // share of the products' rate that experts' products in one kernel reach
  double grouped_fill = 0;          // tokens with which those of an expert issued by itself reach half; 0: one kernel
  double imbalance = 1;             // tokens of the fullest rank of experts over the mean
  bool pads_experts = true;         // experts of a capacity compute as many rows; else only what exceeds it is dropped
  bool node_copies = false;         // all-to-all sends a token once to a node, however many of its experts lie there
  bool quantised_dispatch = false;  // it sends tokens in the products' precision
  double exchange_units = 0;        // units that sending tokens to experts takes from work beside; 0: as contention
  bool fused_experts = false;       // a rank's experts are one operator, which applies the activation and quantises
  bool whole_experts = false;       // tensor parallelism does not cut experts where there are ranks to spread them over
  bool keeps_core = false;  // selective recomputation keeps attention and every other product, and does the rest again
  // Memory.
  double logit_bytes = 6;       // for each logit of a microbatch at the peak: logits, their copies and gradients
  double kept = 1;              // bytes of activations that stay, in units of those that memory.cc counts
  double loss_chunks = 1;       // logits are made and lost in so many parts, one after the other
  bool late_gradients = false;  // gradients get their memory when they are made, so not beside all activations
  bool ends_apart = false;      // ZeRO 3 gathers the table and the logits' matrix each for as long as it is used
  bool frozen_inputs = false;   // quantised products of frozen weights keep what they read (bitsandbytes)
  bool offloads_all = false;    // offloading the optimiser's state takes weights and gradients along
  double state_bytes = 0;       // weights' masters and moments for each parameter; 0: as the precision has it
  double reserve = 0;           // share that the allocator keeps beyond what is in use
  double context_bytes = 0;     // of libraries and communicators
  double memory_error = 0.1;    // share by which what is in use may be off
  // What it cannot do of what a plan may ask of it: a set of features (supported_features.h).
  std::uint64_t lacks = 0;
};

}  // namespace orrery::cluster
