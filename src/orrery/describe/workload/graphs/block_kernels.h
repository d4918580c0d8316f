// One layer of a transformer as kernels: forward, backward, or for one token that is generated.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/layer_writer.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

struct LayerTokens {
  base::Count tokens = 1;   // columns of the layer
  base::Count context = 1;  // that a token generated attends to, itself among them; of whole sequences, `tokens`
  base::Count source = 1;   // of the encoder's output
};

// What the kernels of one layer share.
struct LayerContext {
  LayerWriter& out;
  base::Count width = 0;  // of the residual stream
  LayerTokens tokens;

  // Gradients of weights come last, so they wait here.
  struct Update {
    std::string of;
    base::Count outer = 1, in = 1, out = 1, tokens = 1;
    int gradient = kNoNode, activation = kNoNode;
    KernelUnit unit = KernelUnit::kSystolic;
  };
  std::vector<Update> updates = {};
};

// Tokens that a query sees at most in a sequence of `tokens`: what scores are made for. Causal masks are not exploited.
base::Count seen_tokens(const Attention& attention, base::Count tokens);

// The mixer between LayerNorm_1 (`input`) and DropOut_2; `prefix` tells cross attention. Answers the node of the
// output.
int attention_kernels(LayerContext& layer, const Attention& attention, const std::string& prefix, int input);
int recurrence_kernels(LayerContext& layer, const Recurrence& recurrence, int input);

// The same backward, from the gradient of that output to those of the input, of which there are several to be added.
std::vector<int> attention_gradients(LayerContext& layer, const Attention& attention, const std::string& prefix,
                                     int gradient, int input);
std::vector<int> recurrence_gradients(LayerContext& layer, const Recurrence& recurrence, int gradient, int input);

// Between LayerNorm_2 (`input`) and DropOut_3.
int feed_forward_kernels(LayerContext& layer, const FeedForward& network, int input);
int expert_kernels(LayerContext& layer, const Experts& experts, int input);

// Backward. Answers the nodes that hold gradients of the input. The first of experts' is a sum over experts that may
// lie on different chips: what reads it all-reduces it.
std::vector<int> feed_forward_gradients(LayerContext& layer, const FeedForward& network, int gradient, int input);
std::vector<int> expert_gradients(LayerContext& layer, const Experts& experts, int gradient, int input);

// Of `tokens` tokens: how many experts they visit, and the tokens of each, rounded up.
struct Visits {
  base::Count experts = 1, tokens = 1;
};
Visits visits_of(const Experts& experts, base::Count tokens);

// A layer forward: from the output of the one before (kNoNode: none) to its own.
int forward_kernels(LayerContext& layer, const Block& block, int previous);

// A layer backward, its forward kernels having been added with the same `nodes` of the writer: from the gradients of
// its output to those of its input.
std::vector<int> backward_kernels(LayerContext& layer, const Block& block, const std::vector<int>& gradients);

}  // namespace orrery::workload
