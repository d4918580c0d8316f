// Idea: one table says which size belongs to which kind; what is missing, superfluous, on the command line and in the
// answer all follow from it.
#include "orrery/inputs/graphs/generate_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/workload/graphs/dlrm_graph.h"
#include "orrery/describe/workload/graphs/fft_graph.h"
#include "orrery/describe/workload/graphs/hpl_graph.h"
#include "orrery/describe/workload/graphs/hyena_graph.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"
#include "orrery/inputs/graphs/transformer_graph.h"

namespace orrery::verbs {
namespace {

using base::Count;
using workload::KernelGraph;
using Names = std::vector<std::string>;

const Names kTransformers = {"llm", "llm-fwd", "llm-bwd", "decode", "attention"};
const Names kOnSequences = {"llm", "llm-fwd", "llm-bwd", "attention"};
const Names kHyenas = {"hyena", "hyena-vector", "hyena-butterfly"};
const Names kHyenasOfARadix = {"hyena", "hyena-vector"};
const Names kLayered = {"llm", "llm-fwd", "llm-bwd", "decode"};

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

bool among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool knows(const GraphSize& size, const std::string& kind) {
  return among(size.needed, kind) || among(size.taken, kind);
}

void check_kind(const std::string& kind) {
  Names names;
  for (const GraphKind& known : graph_kinds()) names.push_back(known.name);
  if (among(names, kind)) return;
  const std::string list = fmt::format("kinds are {}", base::joined(names, ", "));
  if (kind.empty()) base::fail("O1480", "no kind of graph is named", {}, list);
  base::fail("O1480", fmt::format("Orrery generates no graph of kind `{}`", kind), {},
             base::did_you_mean(kind, names, list));
}

void check_sizes(const GraphRequest& request) {
  base::Diagnostics found;
  const bool transformer = among(kTransformers, request.kind);
  for (const GraphSize& size : graph_sizes()) {
    const bool given = request.sizes.count(size.name) > 0;
    const bool said = given || (transformer && !request.model.empty());
    if (!said && among(size.needed, request.kind))
      found.error("O1481", fmt::format("`orrery graph {}` needs `{} N`", request.kind, size.options.front()))
          .note(size.what)
          .hint(transformer ? "or give a model of the catalogue, or its config.json, with `--model`" : "");
    if (given && !knows(size, request.kind))
      found.error("O1487", fmt::format("a graph of kind `{}` has no `{}`", request.kind, size.options.front()))
          .hint(fmt::format("leave it out; it belongs to {}",
                            base::joined(size.needed.empty() ? size.taken : size.needed, ", ")));
  }
  if (!request.model.empty() && !transformer)
    found
        .error("O1487",
               fmt::format("a graph of kind `{}` is made from no transformer, so it has no `--model`", request.kind))
        .hint(fmt::format("leave it out; it belongs to {}", base::joined(kTransformers, ", ")));
  if (!request.stack.empty() && request.model.empty())
    found.error("O1487", "a graph of sizes alone has no `--stack`")
        .hint("leave it out; it tells the parts of a `--model`");
  if (request.gated && !transformer)
    found.error("O1487", fmt::format("a graph of kind `{}` has no `--gated`", request.kind))
        .hint(fmt::format("leave it out; it belongs to {}", base::joined(kTransformers, ", ")));
  found.throw_if_errors();
}

}  // namespace

const std::vector<GraphKind>& graph_kinds() {
  static const std::vector<GraphKind> kinds = {
      {"llm", "a language model's layer, forward and backward (41 kernels)"},
      {"llm-fwd", "forward (18 kernels)"},
      {"llm-bwd", "backward alone (23 kernels)"},
      {"decode", "one token being generated (20 kernels)"},
      {"attention", "attention beside state-space models (8 kernels)"},
      {"dlrm", "a recommendation model in training (3 kernels per MLP)"},
      {"hpl", "Linpack (one kernel per block)"},
      {"fft", "a long Fourier transform (2 kernels)"},
      {"hyena", "a Hyena layer, its transforms as products"},
      {"hyena-vector", "a Hyena layer, its transforms in chains of vector lanes"},
      {"hyena-butterfly", "a Hyena layer, its transforms in butterflies of two"},
  };
  return kinds;
}

const std::vector<GraphSize>& graph_sizes() {
  static const std::vector<GraphSize> sizes = {
      {"hidden", {"--hidden"}, "Width of the model", with(kTransformers, kHyenas), {}},
      {"num_head",
       {"--heads", "--num-head", "--num_head"},
       "Attention heads; of Hyena's projections, default 1",
       kTransformers,
       kHyenas},
      {"head_dim",
       {"--head-dim", "--head-width", "--head_dim"},
       "Width of a head; default hidden / heads",
       {},
       kTransformers},
      {"kv_heads", {"--kv-heads"}, "Key and value heads (grouped queries); default: all heads", {}, kTransformers},
      {"ffn",
       {"--ffn", "--feed-forward"},
       "Inner width of the feed-forward network; default 4 hidden",
       {},
       with(kTransformers, kHyenas)},
      {"seq", {"--seq", "--sequence"}, "Tokens of a sequence", with(kOnSequences, kHyenas), {}},
      {"context", {"--context"}, "Tokens that the new one attends to, itself among them", {"decode"}, {}},
      {"num_layer_in_graph",
       {"--layers-in-graph", "--num-layer-in-graph", "--num_layer_in_graph"},
       "Layers to chain in the graph; default 1",
       {},
       kLayered},
      {"layer",
       {"--layer"},
       "Which layer, from 1; with --layers-in-graph the first one; default: one of the commonest kind, of several the "
       "first",
       {},
       kTransformers},
      {"source",
       {"--source"},
       "Tokens of the encoder's output, for attention to it; default: those of the sequence",
       {},
       {"llm", "llm-fwd", "llm-bwd", "decode"}},
      {"num_layer",
       {"--layers", "--num-layer", "--num_layer"},
       "Layers of the whole model, for the execution; the graph does not depend on them",
       {},
       kTransformers},
      {"bottom_num_mlp",
       {"--bottom", "--bottom-num-mlp", "--bottom_num_mlp"},
       "MLPs below the embeddings",
       {"dlrm"},
       {}},
      {"top_num_mlp", {"--top", "--top-num-mlp", "--top_num_mlp"}, "MLPs above them", {"dlrm"}, {}},
      {"mlp_dim", {"--dim", "--mlp-dim", "--mlp_dim"}, "Width of the MLPs", {"dlrm"}, {}},
      {"num_table", {"--num-table", "--tables", "--num_table"}, "Embedding tables", {"dlrm"}, {}},
      {"emb_dim", {"--emb-dim", "--emb_dim"}, "Width of an embedding", {"dlrm"}, {}},
      {"pooled_row",
       {"--pooled-rows", "--pooled-row", "--pooled_row"},
       "Rows read of a table for a sample",
       {"dlrm"},
       {}},
      {"row",
       {"--rows", "--row"},
       "Rows of a table, for the execution; the graph does not depend on them",
       {},
       {"dlrm"}},
      {"micro_batch_size",
       {"--micro-batch", "--micro-batch-size", "--micro_batch_size"},
       "Samples that a chip takes at a time (DLRM); of other kinds for the execution",
       {"dlrm"},
       kTransformers},
      {"n", {"--n", "--N"}, "Side of Linpack's matrix", {"hpl"}, {}},
      {"b", {"--block", "--b", "--B"}, "Columns of a block", {"hpl"}, {}},
      {"x", {"--x", "--X"}, "Chips along the matrix's rows; the graph does not depend on them", {}, {"hpl"}},
      {"y", {"--y", "--Y"}, "Chips along its columns; the graph does not depend on them", {}, {"hpl"}},
      {"length", {"--length"}, "Elements of the transform", {"fft"}, {}},
      {"radix", {"--radix"}, "Of the transform; default 2, of hyena 16", {}, with({"fft"}, kHyenasOfARadix)},
      {"num_chip",
       {"--chips", "--num-chip", "--num_chip"},
       "Chips that share weights and cache (decode), experts that no token visits, and Hyena's channels; default 1; "
       "other "
       "graphs do not depend on them",
       {},
       with({"llm", "llm-fwd", "llm-bwd", "decode", "dlrm", "fft"}, kHyenas)},
      {"token_chips",
       {"--token-chips", "--sp"},
       "Chips that share the tokens, each with all weights; keys and values are gathered; default 1",
       {},
       {"llm-fwd"}},
      {"norm_chips",
       {"--norm-chips", "--tp-sp"},
       "Chips that share the weights of products and, between them, the tokens (Megatron's sequence parallelism); "
       "default 1",
       {},
       {"llm-fwd"}},
      {"word",
       {"--word"},
       "Bytes of an element; default 2, of hpl 8, of fft 4",
       {},
       with({"llm", "llm-fwd", "llm-bwd", "decode", "attention", "dlrm", "hpl", "fft"}, kHyenas)},
  };
  return sizes;
}

Count GeneratedGraph::parameter(std::string_view name) const {
  for (const auto& [known, value] : parameters)
    if (known == name) return value;
  return 0;
}

GeneratedGraph generate_graph(const GraphRequest& request) {
  check_kind(request.kind);
  check_sizes(request);
  GeneratedGraph out;
  out.kind = request.kind;
  GraphSizes sizes(request, out);
  // Those that the graph does not depend on are passed on as they are.
  const auto pass_on = [&](std::initializer_list<const char*> names) {
    base::Diagnostics found;
    for (const char* name : names)
      if (sizes.given(name)) workload::demand(fmt::format("`{}`", name).c_str(), sizes(name), found);
    found.throw_if_errors();
  };
  if (among(kTransformers, request.kind)) {
    transformer_graph(request, sizes, out);
  } else if (request.kind == "dlrm") {
    workload::DlrmShape shape;
    shape.bottom = sizes("bottom_num_mlp");
    shape.top = sizes("top_num_mlp");
    shape.width = sizes("mlp_dim");
    shape.tables = sizes("num_table");
    shape.embedding = sizes("emb_dim");
    shape.pooled_rows = sizes("pooled_row");
    shape.micro_batch = sizes("micro_batch_size");
    shape.word_bytes = sizes("word", 2);
    pass_on({"row", "num_chip"});
    out.graph = workload::dlrm_graph(shape);
  } else if (request.kind == "hpl") {
    const Count n = sizes("n"), block = sizes("b"), word = sizes("word", 8);
    pass_on({"x", "y"});
    out.graph = workload::hpl_graph(n, block, word);
  } else if (among(kHyenas, request.kind)) {
    workload::HyenaShape shape;
    shape.step = request.kind == "hyena"          ? workload::FourierStep::kProduct
                 : request.kind == "hyena-vector" ? workload::FourierStep::kVector
                                                  : workload::FourierStep::kButterfly;
    shape.hidden = sizes("hidden");
    shape.heads = sizes("num_head", 1);
    shape.ffn = sizes.given("ffn") ? sizes("ffn") : 0;
    shape.tokens = sizes("seq");
    shape.word_bytes = sizes("word", 2);
    if (among(kHyenasOfARadix, request.kind)) shape.radix = sizes("radix", 16);
    shape.chips = sizes("num_chip", 1);
    if (sizes.given("ffn")) {
      base::Diagnostics found;
      workload::demand("the feed-forward width", shape.ffn, found);
      found.throw_if_errors();
    }
    out.graph = workload::hyena_graph(shape);
  } else {
    const Count length = sizes("length"), radix = sizes("radix", 2), word = sizes("word", 4);
    pass_on({"num_chip"});
    out.graph = workload::fft_graph(length, radix, word);
  }
  return out;
}

double flop(const workload::Kernel& kernel) {
  const double space = static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                       static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
  return kernel.unit == workload::KernelUnit::kSystolic ? 2 * space : space;
}

double flop(const KernelGraph& graph) {
  double sum = 0;
  for (const workload::Kernel& kernel : graph.kernels) sum += flop(kernel);
  return sum;
}

}  // namespace orrery::verbs
