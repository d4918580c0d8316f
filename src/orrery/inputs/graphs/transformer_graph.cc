// Idea: whatever describes the transformer, a catalogue model, a config.json or a few sizes, becomes one description,
// of which some layers are drawn. Sizes replace those of a model whose layers are all alike and plain; of others a size
// alone would not say which layers it means.
#include "orrery/inputs/graphs/transformer_graph.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/describe/workload/checked_transformer.h"
#include "orrery/describe/workload/graphs/attention_graph.h"
#include "orrery/describe/workload/graphs/block_kernels.h"
#include "orrery/describe/workload/graphs/decode_graph.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"
#include "orrery/describe/workload/graphs/sequence_parallel_graph.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::Recurrence;
using workload::Stack;
using workload::Transformer;

constexpr std::initializer_list<const char*> kReplaceable = {"hidden", "num_head", "head_dim", "kv_heads", "ffn"};

base::Location place_of(const Transformer& model, const char* field) {
  const auto place = model.places.find(field);
  return place == model.places.end() ? base::Location{} : place->second;
}

Transformer load(const GraphRequest& request, GeneratedGraph& generated) {
  const ModelFile model = load_model(catalogue_directory(), request.model,
                                     {request.ignored, formats::huggingface::Outside::kPassed, request.like});
  generated.model = model.entry.name;
  generated.inputs.push_back(base::file_input(*model.file));
  generated.inputs.insert(generated.inputs.end(), model.ignored.begin(), model.ignored.end());
  generated.warnings.append(model.diagnostics);
  return model.transformer;
}

// A model's sizes where all layers of `stack` are plain and alike.
std::optional<workload::PlainTransformer> plain_sizes(Transformer model, const Stack& stack) {
  if (stack.kinds.size() != 1) return std::nullopt;
  const auto* a = std::get_if<Attention>(&stack.kinds.front().mixer);
  const auto* f = std::get_if<FeedForward>(&stack.kinds.front().feed_forward);
  if (a == nullptr || f == nullptr || a->latent || a->width != a->value_width) return std::nullopt;
  model.stacks = {stack};
  return workload::sizes_of(model);
}

// The sizes with those that were given in place of theirs, checked all at once. Writes them to the only kind of
// `stack`.
void replace_sizes(const GraphRequest& request, const GraphSizes& sizes, workload::PlainTransformer plain,
                   Stack& stack) {
  plain.hidden = sizes.get("hidden", plain.hidden);
  plain.heads = sizes.get("num_head", plain.heads);
  plain.head_width = sizes.get("head_dim", plain.head_width);
  plain.kv_heads = sizes.get("kv_heads", plain.kv_heads);
  plain.ffn = sizes.get("ffn", plain.ffn);
  plain.gated = plain.gated || request.gated;
  base::Diagnostics found;
  // Zeros that the user wrote stand for no default.
  for (const auto& [name, what] :
       std::initializer_list<std::pair<const char*, const char*>>{{"head_dim", "the width of a head"},
                                                                  {"kv_heads", "the number of key/value heads"},
                                                                  {"ffn", "the feed-forward width"}})
    if (sizes.given(name) && sizes.get(name, 1) == 0)
      found.error("O1482", fmt::format("{} must be at least 1, but is 0", what));
  const Transformer made = workload::checked_transformer(plain, found);
  // The generators would find these, too, but not beside the others.
  for (const auto& [name, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"word", "the bytes of an element (`word`)"},
           {"seq", "the sequence"},
           {"context", "the context"},
           {"num_layer_in_graph", "the number of layers in the graph"},
           {"num_layer", "the number of layers"},
           {"micro_batch_size", "the microbatch"},
           {"num_chip", "the number of chips"}})
    workload::demand(what, sizes.get(name, 1), found);
  found.throw_if_errors();
  const auto& heads = std::get<Attention>(made.decoder().kinds.front().mixer);
  if (sizes.given("head_dim") && heads.width != plain.hidden / plain.heads)
    found
        .error("O1483",
               fmt::format("{} heads of width {} are not {} wide together", plain.heads, heads.width, plain.hidden))
        .note(fmt::format("{} / {} = {}", plain.hidden, plain.heads, plain.hidden / plain.heads))
        .hint("leave `--head-dim` out, or give the model by its config.json");
  found.throw_if_errors();
  stack.width = made.decoder().width;
  Block& block = stack.kinds.front();
  auto& attention = std::get<Attention>(block.mixer);
  attention.heads = heads.heads;
  attention.kv_heads = heads.kv_heads;
  attention.width = attention.value_width = heads.width;
  const auto& network = std::get<FeedForward>(made.decoder().kinds.front().feed_forward);
  auto& own = std::get<FeedForward>(block.feed_forward);
  own.inner = network.inner;
  own.gated = network.gated;
}

void refuse_sizes(const GraphRequest& request, const GraphSizes& sizes, const std::string& model) {
  base::Diagnostics found;
  const auto refuse = [&](const std::string& option) {
    found
        .error("O1487",
               fmt::format("`{}` cannot replace a size of `{}`: its layers are not all plain and alike", option, model))
        .hint("leave it out, or change a copy of the model's config.json");
  };
  for (const char* name : kReplaceable)
    if (sizes.given(name))
      for (const GraphSize& size : graph_sizes())
        if (size.name == name) refuse(size.options.front());
  if (request.gated) refuse("--gated");
  found.throw_if_errors();
}

// What the execution of a setup needs to know, and what else the layer is made of.
void note_sizes(const Stack& stack, const Block& block, GraphSizes& sizes) {
  sizes.note("hidden", stack.width);
  if (const auto* a = std::get_if<Attention>(&block.mixer)) {
    sizes.note("num_head", a->heads);
    sizes.note("head_dim", a->width);
    if (a->value_width != a->width) sizes.note("value_dim", a->value_width);
    sizes.note("kv_heads", a->kv_heads);
  }
  if (const auto* f = std::get_if<FeedForward>(&block.feed_forward)) sizes.note("ffn", f->inner);
  if (const auto* e = std::get_if<Experts>(&block.feed_forward)) {
    sizes.note("num_expert", e->count);
    sizes.note("top_k", e->top_k);
    sizes.note("expert_ffn", e->expert.inner);
    if (e->shared_expert.inner > 0) sizes.note("shared_ffn", e->shared_expert.inner);
  }
}

bool has_gate(const Block& block) {
  if (const auto* f = std::get_if<FeedForward>(&block.feed_forward)) return f->gated;
  const auto* e = std::get_if<Experts>(&block.feed_forward);
  return e != nullptr && e->expert.gated;
}

// What of the layers the kernels do not show.
void note_layers(const Transformer& model, const std::vector<const Block*>& blocks, Count tokens, bool decode,
                 GeneratedGraph& out) {
  const auto any = [&](const auto& is) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const Block* block) { return is(*block); });
  };
  const auto attends = [](const auto& is) {
    return [is](const Block& block) {
      const auto* a = std::get_if<Attention>(&block.mixer);
      return a != nullptr && is(*a);
    };
  };
  std::vector<std::string>& notes = out.notes;
  if (!model.dropout) notes.emplace_back("the model has no dropout; the kernels DropOut_1 to DropOut_3 stay");
  if (any([](const Block& block) { return block.norm.kind == workload::NormKind::kRms; }))
    notes.emplace_back("the model's norm is RMSNorm; it has the kernel of LayerNorm");
  if (any([](const Block& block) { return block.post; }))
    notes.emplace_back("the model's norms stand after the additions; the graph has them before the operators");
  if (any(has_gate)) notes.emplace_back("FFN0 makes gate and up projection side by side; GeLU multiplies them");
  if (any(attends([](const Attention& a) { return a.sinks || a.softcap; })))
    notes.emplace_back("sinks and soft caps of scores are part of SOFTMAX");
  if (any([](const Block& block) { return std::holds_alternative<Recurrence>(block.mixer); }))
    notes.emplace_back(
        "SCAN and CONV run on vector lanes, token after token; kernels that work on blocks of tokens would use matrix "
        "units");
  for (const Block* block : blocks) {
    const auto* e = std::get_if<Experts>(&block->feed_forward);
    if (e == nullptr) continue;
    const workload::Visits visits = workload::visits_of(*e, decode ? 1 : tokens);
    notes.push_back(fmt::format("tokens are spread evenly: {} of {} experts have {} token{} each", visits.experts,
                                e->count, visits.tokens, base::plural(visits.tokens)));
    if (visits.experts < e->count)
      notes.emplace_back("experts that no token visits take DRAM (`dram_extra`) of the chips that share them");
    break;
  }
}

// The layer that is drawn where none is named, from 0: the first of the commonest kind.
Count usual_layer(const Stack& stack) {
  std::vector<Count> count(stack.kinds.size(), 0);
  for (const int kind : stack.layers) ++count[static_cast<std::size_t>(kind)];
  const auto commonest = static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
  return std::find(stack.layers.begin(), stack.layers.end(), commonest) - stack.layers.begin();
}

// Which kinds of layers there are, and how to get the others.
void note_kinds(const Stack& stack, Count first, Count count, GeneratedGraph& out) {
  if (stack.kinds.size() < 2 || stack.layers.empty()) return;
  std::string kinds;
  for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
    const auto layers = std::count(stack.layers.begin(), stack.layers.end(), static_cast<int>(k));
    if (layers == 0) continue;
    const auto at = std::find(stack.layers.begin(), stack.layers.end(), static_cast<int>(k)) - stack.layers.begin();
    kinds += fmt::format("{}{} of {} (`--layer {}`)", kinds.empty() ? "" : ", ", layers,
                         workload::kind_of(stack.kinds[k]), at + 1);
  }
  out.notes.push_back(count == 1
                          ? fmt::format("this is layer {}; layers are {}", first + 1, kinds)
                          : fmt::format("these are layers {} to {}; layers are {}", first + 1, first + count, kinds));
  if (count > 1) return;
  out.left_out.push_back(out.notes.back());
  out.notes.emplace_back("num_layer counts the layers of this kind; place the others by themselves");
}

const Stack& chosen_stack(const Transformer& model, const GraphRequest& request) {
  if (model.stacks.size() < 2) {
    const bool encodes = !model.decoder().causal;
    if (!request.stack.empty() && (request.stack == "encoder") != encodes)
      base::fail("O1487", fmt::format("`{}` has no {}", request.model, request.stack), {}, "leave `--stack` out");
    return model.decoder();
  }
  return request.stack == "encoder" ? model.stacks.front() : model.decoder();
}

// Several chips on the tokens, by one of two rules.
void share(const workload::GraphLayers& layers, const workload::GraphTokens& tokens, GraphSizes& sizes,
           GeneratedGraph& out) {
  const bool everywhere = sizes.given("token_chips"), between = sizes.given("norm_chips");
  if (everywhere && between)
    base::fail("O1491", "`--token-chips` and `--norm-chips` are two ways to share the same tokens", {},
               "leave one out");
  if (!everywhere && !between) return;
  const Count chips = sizes(everywhere ? "token_chips" : "norm_chips");
  out.graph = workload::share_tokens(
      out.graph, layers, tokens,
      everywhere ? workload::TokenSharing::kEverywhere : workload::TokenSharing::kBetweenProducts, chips);
  if (chips < 2) return;
  out.notes.push_back(fmt::format("place it with {} chips in the dimension that serves TP", chips));
  if (between) out.notes.emplace_back("the ALL_GATHER of a product is its reduce-scatter, which moves as much");
}

// A model whose sizes follow (replace_sizes).
Transformer of_sizes(const GraphSizes& sizes) {
  Transformer model;
  model.dropout = true;
  Stack stack;
  stack.kinds.resize(1);
  stack.kinds.front().mixer = Attention{};
  stack.kinds.front().feed_forward = FeedForward{};
  stack.kinds.front().norm.kind = workload::NormKind::kLayer;
  constexpr Count kMostListed = 1'000'000;  // layers_of() refuses fewer
  const Count layers = sizes.get("num_layer", sizes.get("num_layer_in_graph", 1));
  stack.layers.assign(static_cast<std::size_t>(std::clamp<Count>(layers, 1, kMostListed)), 0);
  model.stacks = {stack};
  return model;
}

// Parts of the model that the graph does not show.
void note_parts(const Transformer& model, const GraphRequest& request, GeneratedGraph& out) {
  if (model.stacks.size() > 1) {
    const bool encodes = request.stack == "encoder";
    out.notes.push_back(fmt::format("this is the {} alone; the {} is `--stack {}`", encodes ? "encoder" : "decoder",
                                    encodes ? "decoder" : "encoder", encodes ? "decoder" : "encoder"));
    out.left_out.push_back(fmt::format("this is the {} alone", encodes ? "encoder" : "decoder"));
  }
  if (model.predicted_ahead > 0)
    out.notes.push_back(fmt::format("{} module{} that predict{} tokens beyond the next {} no kernels",
                                    model.predicted_ahead, base::plural(model.predicted_ahead),
                                    model.predicted_ahead == 1 ? "s" : "",
                                    base::plural(model.predicted_ahead, "has", "have")));
  if (model.towers.empty()) return;
  out.notes.emplace_back("the model's tower for images or sound has no kernels");
  out.left_out.push_back(out.notes.back());
}

// The first layer of the graph, from 0.
Count first_layer(const GraphRequest& request, const Stack& stack, Count in_graph, const GraphSizes& sizes) {
  if (!sizes.given("layer")) return in_graph > 1 ? 0 : usual_layer(stack);
  base::Diagnostics found;
  workload::demand("the layer", sizes.get("layer", 1), found);
  if (request.model.empty())
    found.error("O1487", "layers of a graph of sizes alone are all alike, so it has no `--layer`")
        .hint("leave it out; it belongs to `--model`");
  found.throw_if_errors();
  return sizes.get("layer", 1) - 1;
}

// How many tokens there are, and their words.
void read_tokens(const Transformer& model, const Stack& stack, const Block& block, bool decode, GraphSizes& sizes,
                 const GeneratedGraph& out, workload::GraphTokens& tokens) {
  const Count longest = model.training_sequence.value_or(workload::default_sequence(model));
  const char* name = decode ? "context" : "seq";
  if (stack.fixed_tokens > 0 && sizes.get(name, stack.fixed_tokens) != stack.fixed_tokens)
    base::fail("O1487", fmt::format("a sequence of `{}` always has {} tokens", out.model, stack.fixed_tokens), {},
               "leave `--seq` out");
  tokens.tokens = sizes(name, stack.fixed_tokens > 0 ? stack.fixed_tokens : longest);
  if (block.cross) {
    const Stack* encoder = model.encoder();
    const Count fixed = encoder != nullptr ? encoder->fixed_tokens : 0;
    tokens.source = sizes("source", fixed > 0 ? fixed : tokens.tokens);
  } else if (sizes.given("source")) {
    base::fail("O1487", "these layers do not attend to an encoder's output, so they have no `--source`", {},
               "leave it out");
  }
  if (decode || sizes.given("num_chip")) tokens.chips = sizes("num_chip", 1);
}

}  // namespace

void transformer_graph(const GraphRequest& request, GraphSizes& sizes, GeneratedGraph& out) {
  const bool described = !request.model.empty(), decode = request.kind == "decode";
  const Transformer model = described ? load(request, out) : of_sizes(sizes);
  Stack stack = chosen_stack(model, request);
  note_parts(model, request, out);
  if (decode && !stack.causal)
    base::fail("O0923", fmt::format("`{}` has no cache: its tokens attend to those after them, too", request.model),
               place_of(model, ""), "an encoder reads all of its tokens at once: `orrery graph llm-fwd`");

  const bool replaced = request.gated || std::any_of(kReplaceable.begin(), kReplaceable.end(),
                                                     [&](const char* name) { return sizes.given(name); });
  const std::optional<workload::PlainTransformer> plain =
      described ? plain_sizes(model, stack) : std::optional<workload::PlainTransformer>(workload::PlainTransformer{});
  if (replaced || !described) {
    if (!plain) refuse_sizes(request, sizes, out.model);
    replace_sizes(request, sizes, *plain, stack);
  }

  const Count in_graph = sizes.get("num_layer_in_graph", 1);
  const Count first = first_layer(request, stack, in_graph, sizes);
  base::Diagnostics found;
  const workload::GraphLayers layers = workload::layers_of(stack, first, in_graph, found);
  found.throw_if_errors();
  const Block& block = *layers.blocks.front();
  out.layer = block;
  for (const std::string& what : workload::peculiarities(model))
    found
        .error("O1488", fmt::format("`{}` has {}, for which there are no kernels", out.model, what),
               place_of(model, ""))
        .hint("`orrery map` has its operators, and `orrery catalog show` its parameters and caches");
  found.throw_if_errors();
  note_sizes(stack, block, sizes);
  workload::GraphTokens tokens;
  tokens.word_bytes = sizes("word", 2);

  const auto kind = static_cast<std::size_t>(&block - stack.kinds.data());
  const Count of_kind = std::count(stack.layers.begin(), stack.layers.end(), static_cast<int>(kind));
  if (sizes.given("num_layer") || described)
    sizes("num_layer", in_graph == 1 ? of_kind : static_cast<Count>(stack.layers.size()));
  if (sizes.given("micro_batch_size")) sizes("micro_batch_size");

  read_tokens(model, stack, block, decode, sizes, out, tokens);
  if (described) note_layers(model, layers.blocks, tokens.tokens, decode, out);
  note_kinds(stack, first, in_graph, out);

  if (request.kind == "attention") {
    out.graph = workload::attention_graph(layers, tokens);
    return;
  }
  sizes("num_layer_in_graph", 1);
  if (decode) {
    out.graph = workload::decode_graph(layers, tokens);
    return;
  }
  const workload::Passes passes = request.kind == "llm"       ? workload::Passes::kForwardBackward
                                  : request.kind == "llm-fwd" ? workload::Passes::kForward
                                                              : workload::Passes::kBackward;
  out.graph = workload::language_model_graph(layers, tokens, passes);
  share(layers, tokens, sizes, out);
}

}  // namespace orrery::verbs
