// Idea: one table says which size belongs to which kind; what is missing, superfluous, on the command line and in the
// answer all follow from it.
#include "orrery/scenario/generate_graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/content_hash.h"
#include "orrery/base/edit_distance.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/workload/attention_graph.h"
#include "orrery/workload/decode_graph.h"
#include "orrery/workload/dlrm_graph.h"
#include "orrery/workload/fft_graph.h"
#include "orrery/workload/hpl_graph.h"
#include "orrery/workload/kernel_builder.h"
#include "orrery/workload/language_model_graph.h"
#include "orrery/workload/transformer_facts.h"

namespace orrery::scenario {
namespace {

using base::Count;
using workload::KernelGraph;
using Names = std::vector<std::string>;

constexpr Count kLongest = 2048;  // where a model does not say how long its sequences are

const Names kTransformers = {"llm", "llm-fwd", "llm-bwd", "decode", "attention"};
const Names kOnSequences = {"llm", "llm-fwd", "llm-bwd", "attention"};
const Names kLayered = {"llm", "llm-fwd", "llm-bwd", "decode"};

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
  const std::string list = fmt::format("kinds are {}", fmt::join(names, ", "));
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
                            fmt::join(size.needed.empty() ? size.taken : size.needed, ", ")));
  }
  if (!request.model.empty() && !transformer)
    found
        .error("O1487",
               fmt::format("a graph of kind `{}` is made from no transformer, so it has no `--model`", request.kind))
        .hint(fmt::format("leave it out; it belongs to {}", fmt::join(kTransformers, ", ")));
  if (request.gated && !transformer)
    found.error("O1487", fmt::format("a graph of kind `{}` has no `--gated`", request.kind))
        .hint(fmt::format("leave it out; it belongs to {}", fmt::join(kTransformers, ", ")));
  found.throw_if_errors();
}

// Sizes under their names: those asked for, else the model's, else a default; what was used is remembered.
class Sizes {
 public:
  Sizes(const GraphRequest& request, GeneratedGraph& generated) : request_(request), generated_(generated) {}

  bool given(const std::string& name) const { return request_.sizes.count(name) > 0; }
  Count get(const std::string& name, Count otherwise) const {
    const auto size = request_.sizes.find(name);
    return size == request_.sizes.end() ? otherwise : size->second;
  }
  Count operator()(const std::string& name, Count otherwise = 0) { return note(name, get(name, otherwise)); }
  Count note(const std::string& name, Count value) {
    generated_.parameters.emplace_back(name, value);
    return value;
  }

 private:
  const GraphRequest& request_;
  GeneratedGraph& generated_;
};

struct Drawn {
  workload::TransformerShape shape;
  Count sequence = 0;  // the model's; 0: none
  Count layers = 0;
};

// Kernels are those of one stack of equal blocks.
void refuse_inexpressible(const workload::Transformer& model, const std::string& name) {
  base::Diagnostics found;
  const auto refuse = [&](const char* what, const char* field) {
    const auto place = model.places.find(field);
    found
        .error("O1488", fmt::format("layers of `{}` have {}, for which there are no kernels", name, what),
               place == model.places.end() ? base::Location{} : place->second)
        .note(
            "a graph of kernels has one feed-forward network that every token visits, and heads that are projected "
            "directly")
        .hint("`orrery map` takes such models; a dense stand-in can be given by `--hidden`, `--heads` and `--ffn`");
  };
  bool mixture = false, latent = false, mixer = false, plain = true;
  for (const workload::Stack& stack : model.stacks)
    for (const workload::Block& block : stack.kinds) {
      const auto* attention = std::get_if<workload::Attention>(&block.mixer);
      mixture = mixture || std::holds_alternative<workload::Experts>(block.feed_forward);
      latent = latent || (attention != nullptr && attention->latent);
      mixer = mixer || attention == nullptr || block.cross;
      plain = plain && (attention == nullptr || !attention->gated) &&
              !std::holds_alternative<std::monostate>(block.feed_forward);
    }
  if (mixture) refuse("a mixture of experts", "experts");
  if (latent) refuse("latent attention", "kv_lora_rank");
  if (mixer || model.stacks.size() > 1) refuse("something else than attention to their own tokens", "");
  if (!plain) refuse("gated attention, or no feed-forward network", "");
  found.throw_if_errors();
}

Drawn drawn(const GraphRequest& request, GeneratedGraph& generated) {
  Drawn out;
  if (request.model.empty()) return out;
  const ModelFile model = load_model(catalogue_directory(), request.model,
                                     {request.ignored, formats::huggingface::Outside::kPassed, request.like});
  const workload::Transformer& given_model = model.transformer;
  refuse_inexpressible(given_model, model.entry.name);
  generated.model = model.entry.name;
  generated.inputs.push_back(base::file_input(*model.file));
  generated.inputs.insert(generated.inputs.end(), model.ignored.begin(), model.ignored.end());
  generated.warnings.append(model.diagnostics);
  const workload::Stack& stack = given_model.decoder();
  const workload::Block& block = stack.kinds.front();
  const auto& attention = std::get<workload::Attention>(block.mixer);
  const auto& feed_forward = std::get<workload::FeedForward>(block.feed_forward);
  out.shape.hidden = stack.width;
  out.shape.heads = attention.heads;
  // Defaults stay defaults, so that an override of one size carries the others along.
  const bool usual = attention.heads > 0 && attention.width == stack.width / attention.heads;
  out.shape.head_width = usual ? 0 : attention.width;
  out.shape.kv_heads = attention.kv_heads == attention.heads ? 0 : attention.kv_heads;
  out.shape.feed_forward = feed_forward.inner == 4 * stack.width ? 0 : feed_forward.inner;
  out.shape.gated = feed_forward.gated;
  out.sequence = given_model.training_sequence.value_or(given_model.max_positions.value_or(kLongest));
  out.layers = static_cast<Count>(stack.layers.size());
  base::Diagnostics windows;
  const char* tokens = request.kind == "decode" ? "context" : "seq";
  const auto given = request.sizes.find(tokens);
  workload::refuse_window(given_model, given == request.sizes.end() ? out.sequence : given->second, windows);
  windows.throw_if_errors();
  if (!given_model.dropout)
    generated.notes.emplace_back("the model has no dropout; the kernels DropOut_1 to DropOut_3 stay");
  if (block.norm.kind == workload::NormKind::kRms)
    generated.notes.emplace_back("the model's norm is RMSNorm; it has the kernel of LayerNorm");
  if (feed_forward.gated)
    generated.notes.emplace_back("FFN0 makes gate and up projection side by side; GeLU multiplies them");
  return out;
}

workload::TransformerShape shape_of(const Drawn& given, const GraphRequest& request, Sizes& sizes) {
  workload::TransformerShape shape = given.shape;
  shape.hidden = sizes.get("hidden", shape.hidden);
  shape.heads = sizes.get("num_head", shape.heads);
  shape.head_width = sizes.get("head_dim", shape.head_width);
  shape.kv_heads = sizes.get("kv_heads", shape.kv_heads);
  shape.feed_forward = sizes.get("ffn", shape.feed_forward);
  shape.word_bytes = sizes.get("word", shape.word_bytes);
  shape.gated = shape.gated || request.gated;
  base::Diagnostics found;
  // Zeros that the user wrote stand for no default.
  for (const auto& [name, what] :
       std::initializer_list<std::pair<const char*, const char*>>{{"head_dim", "the width of a head"},
                                                                  {"kv_heads", "the number of key/value heads"},
                                                                  {"ffn", "the feed-forward width"}})
    if (sizes.given(name) && sizes.get(name, 1) == 0)
      found.error("O1482", fmt::format("{} must be at least 1, but is 0", what));
  shape = workload::completed(shape, found);
  // The generator would find these, too, but not beside the others.
  for (const auto& [name, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"seq", "the sequence"},
           {"context", "the context"},
           {"num_layer_in_graph", "the number of layers in the graph"},
           {"num_layer", "the number of layers"},
           {"micro_batch_size", "the microbatch"},
           {"num_chip", "the number of chips"}})
    workload::demand(what, sizes.get(name, 1), found);
  if (!found.has_errors() && sizes.given("head_dim") && shape.head_width != shape.hidden / shape.heads)
    found
        .error("O1483", fmt::format("{} heads of width {} are not {} wide together", shape.heads, shape.head_width,
                                    shape.hidden))
        .note(fmt::format("{} / {} = {}", shape.hidden, shape.heads, shape.hidden / shape.heads))
        .hint("leave `--head-dim` out, or give the model by its config.json");
  found.throw_if_errors();
  sizes.note("hidden", shape.hidden);
  sizes.note("num_head", shape.heads);
  sizes.note("head_dim", shape.head_width);
  sizes.note("kv_heads", shape.kv_heads);
  sizes.note("ffn", shape.feed_forward);
  sizes.note("word", shape.word_bytes);
  return shape;
}

void transformer_graph(const GraphRequest& request, Sizes& sizes, GeneratedGraph& out) {
  const Drawn given = drawn(request, out);
  const workload::TransformerShape shape = shape_of(given, request, sizes);
  if (sizes.given("num_layer") || given.layers > 0) sizes("num_layer", given.layers);
  if (sizes.given("micro_batch_size")) sizes("micro_batch_size");
  if (request.kind == "decode") {
    const Count context = sizes("context", given.sequence);
    const Count chips = sizes("num_chip", 1);
    out.graph = workload::decode_graph(shape, context, chips, sizes("num_layer_in_graph", 1));
    return;
  }
  const Count sequence = sizes("seq", given.sequence);
  if (request.kind == "attention") {
    out.graph = workload::attention_graph(shape, sequence);
    return;
  }
  const workload::Passes passes = request.kind == "llm"       ? workload::Passes::kForwardBackward
                                  : request.kind == "llm-fwd" ? workload::Passes::kForward
                                                              : workload::Passes::kBackward;
  out.graph = workload::language_model_graph(shape, sequence, passes, sizes("num_layer_in_graph", 1));
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
  };
  return kinds;
}

const std::vector<GraphSize>& graph_sizes() {
  static const std::vector<GraphSize> sizes = {
      {"hidden", {"--hidden"}, "Width of the model", kTransformers, {}},
      {"num_head", {"--heads", "--num-head", "--num_head"}, "Attention heads", kTransformers, {}},
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
       kTransformers},
      {"seq", {"--seq", "--sequence"}, "Tokens of a sequence", kOnSequences, {}},
      {"context", {"--context"}, "Tokens that the new one attends to, itself among them", {"decode"}, {}},
      {"num_layer_in_graph",
       {"--layers-in-graph", "--num-layer-in-graph", "--num_layer_in_graph"},
       "Layers to chain in the graph; default 1",
       {},
       kLayered},
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
      {"radix", {"--radix"}, "Of the transform; default 2", {}, {"fft"}},
      {"num_chip",
       {"--chips", "--num-chip", "--num_chip"},
       "Chips that share weights and cache (decode; default 1); other graphs do not depend on them",
       {},
       {"decode", "dlrm", "fft"}},
      {"word",
       {"--word"},
       "Bytes of an element; default 2, of hpl 8, of fft 4",
       {},
       {"llm", "llm-fwd", "llm-bwd", "decode", "attention", "dlrm", "hpl", "fft"}},
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
  Sizes sizes(request, out);
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

}  // namespace orrery::scenario
