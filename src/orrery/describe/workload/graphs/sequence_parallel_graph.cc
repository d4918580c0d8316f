// Idea: the kernels stay, a chip's part of the tokens is stated (`shard_N`), and where it needs those of all, a kernel
// of its own gathers them. With s tokens on t chips:
//
// Everywhere. All kernels have s / t tokens a chip, weights are whole. A query meets the keys of all
// tokens, so K and V go through K_GATHER and V_GATHER. Nothing else sums over tokens on the way forward:
//
//   all-gathers  2 g d s w bytes a layer                              g key/value heads of width d
//
// Between products (Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022,
// arXiv 2205.05198). Tensor parallelism keeps the residual stream, its norms and dropouts on every chip; here a
// chip keeps those of its tokens. What leads into products is gathered once (LayerNorm_1_GATHER, LayerNorm_2_GATHER),
// and products that lead back, which are sharded along K and hold partial sums, end with a reduce-scatter where they
// had an all-reduce:
//
//   all-gathers  2 h s w, reduce-scatters  2 h s w;  an all-reduce is one of each, so the network moves what it did
//
// Files know no reduce-scatter. It moves what an all-gather of the same tensor moves, the other way, so it is written
// as an ALL_GATHER of the kernel.
//
// A gather is a kernel because what is gathered takes room: an edge's buffer is what its producer has on a chip, and
// the shard alone would count too few bytes. Like every elementwise kernel it counts an operation for an element. Cost:
// linear in the graph.
#include "orrery/describe/workload/graphs/sequence_parallel_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {
namespace {

using base::Count;

// A kernel's name without the number of its layer.
std::string plain_name(const std::string& name) {
  return name.substr(0, name.find("_layer_"));
}

std::string gather_name(const std::string& of) {
  const std::string plain = plain_name(of);
  return plain + "_GATHER" + of.substr(plain.size());
}

bool is_stream(const Kernel& kernel) {
  static const std::set<std::string> kNames = {
      "Add_Prev_Layer", "LayerNorm_1", "LayerNorm_1_post", "DropOut_2",       "Add_1",         "LayerNorm_2",
      "DropOut_3",      "Add_2",       "LayerNorm_2_post", "CROSS_LayerNorm", "CROSS_DropOut", "CROSS_Add"};
  return kNames.count(plain_name(kernel.name)) > 0;
}

// Keys and values, as the products of attention read them.
bool is_met_by_all(const Kernel& kernel) {
  static const std::set<std::string> kNames = {"K",       "K_NORM",       "V",      "K_UP", "K_ROPE", "V_UP",
                                               "CROSS_K", "CROSS_K_NORM", "CROSS_V"};
  return kNames.count(plain_name(kernel.name)) > 0;
}

void check(const GraphLayers& layers, const GraphTokens& tokens, TokenSharing sharing, Count chips,
           base::Diagnostics& found) {
  demand("the number of chips that share the tokens", chips, found);
  if (found.has_errors()) return;
  bool crosses = false, experts = false, recurs = false;
  for (const Block* block : layers.blocks) {
    crosses = crosses || block->cross.has_value();
    experts = experts || std::holds_alternative<Experts>(block->feed_forward);
    recurs = recurs || std::holds_alternative<Recurrence>(block->mixer);
  }
  const auto refuse = [&](const char* what) {
    found.error("O1488", fmt::format("{}, and no graph shares the tokens of such a layer", what))
        .hint("leave it to tensor parallelism, or take a `--layer` with attention and one feed-forward network");
  };
  if (experts) refuse("experts have tokens of all chips");
  if (recurs && sharing == TokenSharing::kEverywhere) refuse("a scan hands its state from token to token");
  const auto divides = [&](const char* what, Count of) {
    if (of % chips == 0) return;
    found.error("O1491", fmt::format("{} chips cannot share {} {} evenly", chips, of, what))
        .note(fmt::format("{} / {} leaves {}", of, chips, of % chips))
        .hint("pad the sequence to a multiple, or take a number of chips that divides it");
  };
  divides("tokens", tokens.tokens);
  if (crosses && sharing == TokenSharing::kEverywhere && tokens.source > 0 && tokens.source != tokens.tokens)
    divides("tokens of the encoder's output", tokens.source);
}

// Copies the graph, kernel by kernel, with gathers put behind the kernels that need one.
class Sharer {
 public:
  Sharer(const KernelGraph& graph, TokenSharing sharing, Count chips)
      : graph_(graph), sharing_(sharing), chips_(chips) {}

  KernelGraph shared() {
    std::vector<char> gathered(graph_.kernels.size(), 0);
    for (const KernelEdge& edge : graph_.edges) gathered[index(edge.from)] |= needs_all(edge) ? 1 : 0;
    std::vector<int> place, gather(graph_.kernels.size(), -1);
    KernelGraph out;
    const auto add = [&](Kernel kernel) {
      out.kernels.push_back(std::move(kernel));
      return static_cast<int>(out.kernels.size()) - 1;
    };
    for (std::size_t i = 0; i < graph_.kernels.size(); ++i) {
      place.push_back(add(pinned(graph_.kernels[i])));
      if (gathered[i] == 0) continue;
      gather[i] = add(gather_of(graph_.kernels[i]));
      out.edges.push_back({.from = place[i],
                           .to = gather[i],
                           .communication = Communication::kAllGather,
                           .communication_bytes = graph_.kernels[i].output_bytes});
    }
    for (KernelEdge edge : graph_.edges) {
      const Kernel &from = graph_.kernels[index(edge.from)], &to = graph_.kernels[index(edge.to)];
      if (sharing_ == TokenSharing::kBetweenProducts && !is_stream(from) && is_stream(to))
        scatter(out.kernels[index(place[index(edge.from)])]);
      edge.from = needs_all(edge) ? gather[index(edge.from)] : place[index(edge.from)];
      edge.to = place[index(edge.to)];
      out.edges.push_back(edge);
    }
    return out;
  }

 private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  // Whether the consumer reads the tokens of all chips where a chip's producer makes its own.
  bool needs_all(const KernelEdge& edge) const {
    const Kernel &from = graph_.kernels[index(edge.from)], &to = graph_.kernels[index(edge.to)];
    if (sharing_ == TokenSharing::kBetweenProducts) return is_stream(from) && !is_stream(to);
    return is_met_by_all(from) && to.operands == Operands::kTwoInputs;
  }

  Kernel pinned(Kernel kernel) const {
    if (sharing_ == TokenSharing::kBetweenProducts && !is_stream(kernel)) return kernel;
    kernel.sharding = KernelDimension::kNone;
    kernel.shard_n = kernel.n / chips_;
    return kernel;
  }

  static Kernel gather_of(const Kernel& kernel) {
    Kernel gather = elementwise(gather_name(kernel.name), {kernel.outer, kernel.m, 1, kernel.n}, kernel.output_bytes,
                                kernel.output_bytes);
    gather.direction = kernel.direction;
    gather.sharding = KernelDimension::kNone;
    return gather;
  }

  static void scatter(Kernel& kernel) {
    kernel.sharding = KernelDimension::kK;
    kernel.communication = Communication::kAllGather;
    kernel.communication_bytes = kernel.output_bytes;
  }

  const KernelGraph& graph_;
  TokenSharing sharing_;
  Count chips_;
};

}  // namespace

KernelGraph share_tokens(const KernelGraph& graph, const GraphLayers& layers, const GraphTokens& tokens,
                         TokenSharing sharing, Count chips) {
  base::Diagnostics found;
  check(layers, tokens, sharing, chips, found);
  found.throw_if_errors();
  return chips == 1 ? graph : Sharer(graph, sharing, chips).shared();
}

}  // namespace orrery::workload
