// From a description to what the physics reads: each kind of layer as its matrices, cores and scans.
//
// Matrices are those of workload::projections and parameters those of workload::parameters, so that nothing is counted
// twice. What is added here is how a matrix is divided over tensor ranks (Megatron-LM's way, arXiv 1909.08053: what
// comes from the residual stream by columns, what goes back to it by rows; narrow latents are on every rank), and what
// of a core is executed:
//
//   flash attention  the share that masks leave: causal 1/2; a window of w of s tokens w/s - (w/s)^2/2, without causal
//                    mask w/s; a chunk of w tokens w/2s, without causal mask w/s
//   materialised     all
//
// A scan reads what is projected and writes its result; its convolution reads and writes its channels. Their FLOP
// (2 taps a channel; of a state's element 5: decay, outer product, readout; 9 with the delta rule) are not counted, as
// workload::forward_flop does not; they are bound by memory. Cost: layers + kinds x matrices.
#include "orrery/engines/cluster/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_operators.h"

namespace orrery::cluster {
namespace {

using base::Count;
using workload::Block;
using workload::Projection;
using workload::Recurrence;
using workload::Transformer;

constexpr double kAttentionOps = 10;  // operators issued by the forward pass, the core apart
constexpr double kFeedForwardOps = 7;
constexpr double kScanOps = 14;   // the convolution and the scan among them
constexpr double kLatentOps = 4;  // more, for the latent's projections and norms
// More, for routing, permuting, exchanging and weighting. Fitted on odd rows of nemo_experts (catalog/validation) whose
// operators the host issues: some sixty are issued, and the host waits for the tokens of each expert to be counted.
constexpr double kExpertOps = 108;

double real(Count count) {
  return static_cast<double>(count);
}

Core core_of(const workload::Attention& a, Count seen, double share) {
  Core core{a.heads, a.kv_heads, a.width, a.value_width, share};
  core.borrowed = a.borrows;
  core.own = real(a.query()) + real(a.output()) + (a.gated ? real(a.query()) + real(a.output()) : 0);
  core.keys = real(a.key()) + real(a.value());
  if (a.latent) {
    core.kv_heads = a.heads;
    core.keys = 2 * real(a.heads) * real(a.width);  // expanded, a value beside every key
  }
  core.seen = seen;
  return core;
}

Matrix plain(const Projection& p, Split split) {
  return {.name = p.name, .in = p.in, .out = p.out, .split = split};
}

// Queries, keys and values side by side: fewer key/value heads than ranks are copied.
Matrix with_keys(const Projection& p, const workload::Attention& a) {
  Matrix m = plain(p, Split::kColumns);
  m.kv_heads = a.kv_heads;
  m.kv_width = a.width + (a.value_is_key ? 0 : a.value_width);
  m.out -= a.kv_heads * m.kv_width;
  m.of_source = p.of_source;
  return m;
}

// What is projected from the stream is divided by columns and what goes back to it by rows; a narrow result that only
// the next matrix reads is on every rank. Mamba's steps are made of what the ranks have apart.
void add_scan(const Recurrence& recurrence, Count width, LayerKind& kind) {
  const std::vector<Projection>& all = recurrence.projections;
  Scan& scan = kind.scan;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    Split split = last ? Split::kRows : Split::kColumns;
    if (!last && i + 2 < all.size() && all[i].in == width && all[i + 1].in == all[i].out && all[i].out < width)
      split = Split::kNone;
    if (recurrence.kind == Recurrence::Kind::kMamba && i == 1) {
      split = Split::kRows;
      scan.reduced += real(all[i].out);
    }
    kind.matrices.push_back(plain(all[i], split));
    (last ? scan.result : scan.projected) += real(last ? all[i].in : all[i].out);
  }
  scan.heads = recurrence.heads > 0 ? recurrence.heads : recurrence.channels;
  scan.channels = real(recurrence.channels);
  scan.state = real(recurrence.heads) * real(recurrence.key_width) * real(recurrence.value_width);
  kind.host_operators += kScanOps;
}

void add_activation(const workload::FeedForward& f, double times, LayerKind& kind) {
  if (f.inner == 0) return;  // no shared experts: nothing is kept of them, gated or not
  const double inner = times * real(f.inner);
  kind.activated[0] += (f.gated ? 6 : 4) * inner;
  kind.activated[1] += (f.gated ? 10 : 6) * inner;
  kind.kept_inner += (f.gated ? 3 : 2) * inner;
  if (f.gated) kind.gates += inner;
  kind.second_operand = f.gated ? 1.0 / 3 : 0.5;
}

double weights(const Projection& p) {
  return real(p.copies) * (real(p.in) * real(p.out) + real(p.biases));
}

void add_matrices(const Block& block, Count source, LayerKind& kind) {
  const auto* attention = std::get_if<workload::Attention>(&block.mixer);
  const auto* recurrence = std::get_if<Recurrence>(&block.mixer);
  if (recurrence != nullptr) add_scan(*recurrence, kind.width, kind);
  std::size_t skipped = recurrence != nullptr ? recurrence->projections.size() : 0;
  for (const Projection& p : workload::projections(block, kind.width)) {
    const Count tokens = p.of_source ? source : kind.seq;
    kind.product_flop += 2.0 * real(tokens) * real(p.in) * real(p.out) * real(p.visited);
    if (skipped > 0) {
      --skipped;
    } else if (p.name == "expert-FF1") {
      kind.mixture.up = p.out;
      kind.expert_params += weights(p);
    } else if (p.name == "expert-FF2") {
      kind.expert_params += weights(p);
    } else if (p.name == "router" || p.name == "shared-gate" || p.name.starts_with("expert-latent")) {
      // Megatron-Core's latents of experts are duplicated as its routers are (moe_latent_size).
      kind.matrices.push_back(plain(p, Split::kNone));
      kind.matrices.back().spread = true;
      kind.whole_params += weights(p);
    } else if (p.name == "KQV") {
      kind.matrices.push_back(with_keys(p, *attention));
    } else if (p.name == "cross-KV") {
      kind.matrices.push_back(with_keys(p, *block.cross));
    } else if (p.name == "Q-down" || p.name == "KV-down") {
      kind.matrices.push_back(plain(p, Split::kNone));
    } else {
      const bool back = p.name == "Out" || p.name == "cross-Out" || p.name.ends_with("FF2") || p.name == "layer-out";
      kind.matrices.push_back(plain(p, back ? Split::kRows : Split::kColumns));
    }
  }
}

// What a layer has besides mixer and network: gates of what attention yields, whose product is written beside it; or a
// part of its own, which a token's row of the layers' table goes through (Gemma).
void add_beside(const Block& block, LayerKind& kind) {
  for (const Projection& p : block.extra) {
    if (p.name == "layer-out") {
      kind.activated[0] += 6 * real(p.in);
      kind.activated[1] += 10 * real(p.in);
      kind.latents += 3 * real(p.in);
      kind.host_operators += kFeedForwardOps;
      ++kind.parts;
    } else if (const auto* a = std::get_if<workload::Attention>(&block.mixer); a != nullptr && p.out == a->output()) {
      kind.cores[0].own += 2 * real(a->output());
    } else if (a != nullptr && p.name == "layer-head-gate") {
      kind.cores[0].own += real(p.out) + real(a->output());
    }
  }
}

LayerKind kind_of(const Block& block, const workload::Stack& stack, Count seq, Count source, const Transformer& model,
                  Attention kernel, Count document) {
  LayerKind kind;
  kind.width = stack.width;
  kind.seq = seq;
  kind.parts = 0;
  bool biases = block.norm.bias;
  if (const auto* a = std::get_if<workload::Attention>(&block.mixer)) {
    kind.cores.push_back(core_of(*a, seq, executed_share(*a, seq, kernel, document)));
    kind.host_operators += kAttentionOps;
    kind.latent = a->latent;
    if (a->latent) {
      kind.latents = real(a->latent->q_rank) + real(a->latent->kv_rank);
      kind.host_operators += kLatentOps;
    }
    kind.core_flop += 2.0 * real(seq) * real(seq) * real(a->heads) * (real(a->width) + real(a->value_width));
    if (block.norm.kind == workload::NormKind::kRms && a->qk_norm != workload::QkNorm::kNone)
      kind.heads_normed = real(a->query()) + real(a->key());
    if (stack.causal && !stack.learned_positions && stack.distance_rows == 0)
      kind.rotated = a->latent ? real(a->heads + 1) * real(a->latent->rope_width) : real(a->query()) + real(a->key());
  }
  if (block.norm.kind == workload::NormKind::kRms) kind.rms_normed = block.norms * real(stack.width);
  if (!std::holds_alternative<std::monostate>(block.mixer)) ++kind.parts;
  if (block.cross) {
    const workload::Attention& a = *block.cross;
    kind.cores.push_back(core_of(a, source, 1));
    kind.cores.back().of_source = true;
    kind.host_operators += kAttentionOps;
    kind.core_flop += 2.0 * real(seq) * real(source) * real(a.heads) * (real(a.width) + real(a.value_width));
    ++kind.parts;
  }
  if (const auto* dense = std::get_if<workload::FeedForward>(&block.feed_forward)) {
    kind.inner = dense->inner;
    add_activation(*dense, 1, kind);
    biases = biases && dense->biases;
  } else if (const auto* experts = std::get_if<workload::Experts>(&block.feed_forward)) {
    kind.mixture = {experts->count,      experts->top_k,         experts->expert.inner,  0,
                    experts->max_groups, experts->weighted_bias, experts->expert.clamped};
    kind.mixture.width = experts->latent > 0 ? experts->latent : stack.width;
    kind.inner = experts->shared_expert.inner;
    add_activation(experts->expert, real(experts->top_k), kind);
    add_activation(experts->shared_expert, 1, kind);
    biases = biases && experts->expert.biases;
    kind.network_operators += kExpertOps;
  }
  if (!std::holds_alternative<std::monostate>(block.feed_forward)) {
    kind.network_operators += kFeedForwardOps;
    kind.host_operators += kind.network_operators;
    ++kind.parts;
  }
  kind.fused_norms = !biases && !model.dropout;
  add_beside(block, kind);
  add_matrices(block, source, kind);
  kind.split_params = real(workload::block_parameters(block, stack.width)) - kind.expert_params - kind.whole_params;
  return kind;
}

void refuse(const Transformer& model, const std::vector<std::string>& reasons) {
  base::Diagnostics found;
  const auto whole = model.places.find("");
  for (const std::string& what : reasons)
    found
        .error("O0915", fmt::format("`{}` has {}, which a training run's model cannot express", model.name, what),
               whole == model.places.end() ? base::Location{} : whole->second)
        .hint("`orrery catalog show` counts its parameters and operations, and `orrery map` its operators on a chip");
  found.throw_if_errors();
}

// The decoder's kinds that the layers of a module which predicts ahead are of: the last layer's, or those like the
// module's; none where one is like none of them.
std::vector<std::size_t> ahead_kinds(const Transformer& model) {
  const workload::Stack& stack = model.decoder();
  if (stack.layers.empty()) return {};
  if (model.ahead.layers.empty()) return {static_cast<std::size_t>(stack.layers.back())};
  std::vector<std::size_t> kinds;
  for (const Block& own : model.ahead.layers)
    for (std::size_t k = 0; k < stack.kinds.size(); ++k)
      if (workload::kind_of(stack.kinds[k]) == workload::kind_of(own) &&
          workload::block_parameters(stack.kinds[k], stack.width) == workload::block_parameters(own, stack.width)) {
        kinds.push_back(k);
        break;
      }
  return kinds.size() == model.ahead.layers.size() ? kinds : std::vector<std::size_t>();
}

// What peculiarities() names and a training run's model has all the same.
std::vector<std::string> priced(const Transformer& model) {
  bool equal = true, beside = true;
  for (const workload::Stack& stack : model.stacks)
    for (const Block& block : stack.kinds) {
      const auto* a = std::get_if<workload::Attention>(&block.mixer);
      equal = equal && (a == nullptr || !a->value_is_key || (a->matrices.empty() && !a->latent && a->compressed == 1));
      for (const Projection& p : block.extra)
        beside = beside &&
                 (p.name == "layer-gate" || p.name == "layer-out" || (a != nullptr && p.name == "layer-head-gate"));
    }
  std::vector<std::string> out = {"experts that work on a latent", "layers that use the keys and values of others"};
  if (equal) out.emplace_back("values made of its keys");
  if (beside) out.emplace_back("matrices of layers that belong to neither attention nor network");
  if (beside) out.emplace_back("a table of tokens for its layers");
  return out;
}

std::vector<std::string> inexpressible(const Transformer& model) {
  std::vector<std::string> out;
  const std::vector<std::string> known = priced(model);
  for (std::string& what : workload::peculiarities(model))
    if (std::find(known.begin(), known.end(), what) == known.end()) out.push_back(std::move(what));
  if (model.stacks.size() > 2) out.emplace_back("more than two stacks of layers");
  if (!model.towers.empty()) out.emplace_back("a tower beside its layers, which makes tokens of images");
  if (model.predicted_ahead > 0 && !model.stacks.empty() && ahead_kinds(model).empty())
    out.emplace_back("modules that predict ahead by layers unlike its own");
  for (const workload::Stack& stack : model.stacks)
    for (const Block& block : stack.kinds)
      if (block.cross && model.stacks.size() < 2)
        return out.emplace_back("attention to an encoder that is not described"), out;
  return out;
}

// Larger numbers are mistakes, and their products would not fit 64 bits.
constexpr Count kLargestSize = Count{1} << 24;

void list_sizes(const Transformer& transformer, Model& model) {
  const auto add = [&](const char* name, Count value) {
    const std::pair<std::string, Count> size{name, value};
    if (std::find(model.sizes.begin(), model.sizes.end(), size) == model.sizes.end()) model.sizes.push_back(size);
    if (value < 1 || value > kLargestSize) model.possible_sizes = false;
  };
  add("layers", model.layers);
  for (const workload::Stack& stack : transformer.stacks) {
    add("hidden", stack.width);
    for (const Block& block : stack.kinds) {
      const auto attention = [&](const workload::Attention& a) {
        add("heads", a.heads);
        if (!a.latent) add("head width", a.width);
      };
      if (const auto* a = std::get_if<workload::Attention>(&block.mixer)) attention(*a);
      if (block.cross) attention(*block.cross);
    }
  }
  for (const workload::Stack& stack : transformer.stacks)
    add("seq", stack.fixed_tokens > 0 ? stack.fixed_tokens : model.seq);
  for (const workload::Stack& stack : transformer.stacks)
    for (const Block& block : stack.kinds)
      if (const auto* f = std::get_if<workload::FeedForward>(&block.feed_forward)) add("ffn", f->inner);
  add("vocab", model.vocab == 0 ? 1 : model.vocab);  // 0: a run without tables
}

void add_stack(const workload::Stack& stack, Count seq, Count source, const Transformer& transformer, Model& model) {
  std::vector<Count> layers(stack.kinds.size()), sets(stack.kinds.size());
  const std::size_t own = stack.weight_sets > 0 ? static_cast<std::size_t>(stack.weight_sets) : stack.layers.size();
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const auto kind = static_cast<std::size_t>(stack.layers[i]);
    ++layers[kind];
    if (i < own) ++sets[kind];
  }
  model.shares_weights = model.shares_weights || own < stack.layers.size();
  std::vector<std::size_t> ahead;
  if (&stack == &transformer.decoder()) ahead = ahead_kinds(transformer);
  for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
    if (layers[k] == 0) continue;
    if (transformer.stacks.size() == 1 && !stack.layers.empty() && static_cast<int>(k) == stack.layers[0] &&
        layers[k] < model.layers && std::all_of(stack.layers.begin(), stack.layers.begin() + layers[k], [&](int l) {
          return l == stack.layers[0];
        }))
      model.front = static_cast<int>(model.kinds.size());
    LayerKind kind = kind_of(stack.kinds[k], stack, seq, source, transformer, model.attention, model.document);
    kind.layers = layers[k];
    kind.weight_sets = real(sets[k]);
    kind.source = source;
    model.ahead_kinds.insert(model.ahead_kinds.end(),
                             static_cast<std::size_t>(std::count(ahead.begin(), ahead.end(), k)), model.kinds.size());
    model.kinds.push_back(std::move(kind));
  }
  for (const Projection& p : stack.into) {
    model.first.push_back(plain(p, Split::kColumns));
    model.first.back().at_tokens = p.rows > 0 ? p.rows : seq;
    model.first_params += weights(p);
  }
  for (const Projection& p : stack.out_of) {
    model.last.push_back(plain(p, Split::kColumns));
    model.last.back().at_tokens = p.rows > 0 ? p.rows : seq;
  }
  // A sequence that is longer than the learned table needs a longer one.
  const double row = real(stack.position_width > 0 ? stack.position_width : stack.width);
  model.positions += row * real(stack.position_rows);
  if (stack.learned_positions && seq > stack.position_rows) {
    model.positions += row * real(seq - stack.position_rows);
    model.parameters += row * real(seq - stack.position_rows);
  }
  model.crossing += real(seq) * real(stack.width);
  if (model.vocab > 0) model.embedded += real(seq) * real(stack.width);
}

void add_ends(const Transformer& transformer, Model& model) {
  const workload::Head& head = transformer.head;
  model.table = real(transformer.tables) * real(transformer.vocab) * real(transformer.embedding_width) +
                real(transformer.layer_rows) * real(transformer.layer_width);
  model.embedded += real(model.seq) * real(transformer.layer_width);
  Count width = transformer.decoder().width;
  for (const Projection& p : head.transform) {
    model.last.push_back(plain(p, Split::kColumns));
    model.last.back().at_tokens = head.at_one_token ? 1 : model.seq;
    width = p.out;
  }
  if (head.width > 0) width = head.width;
  model.logits = {head.outputs, width, head.at_one_token, head.tied};
  const workload::Parameters counted = workload::parameters(transformer);
  model.active_parameters = model.parameters + real(counted.active);
  model.parameters += real(counted.total);
  double known = model.table + model.positions + model.first_params;
  if (!head.tied) known += real(head.outputs) * real(width);
  for (const LayerKind& kind : model.kinds)
    known += kind.weight_sets * (kind.split_params + kind.whole_params + kind.expert_params);
  model.last_params = model.parameters - known;
  model.ahead = transformer.predicted_ahead;
  const double h = real(model.hidden);
  model.ahead_params = 2 * h * h + 3 * h;  // the projection of state and next token, their norms, and the last one
}

void bound(Model& model) {
  for (const LayerKind& kind : model.kinds) {
    double width = 3 * real(kind.width) + real(kind.mixture.count) + 2.0 * real(kind.mixture.inner) +
                   real(model.vocab) + 3 * kind.scan.projected + kind.scan.channels;
    for (const Matrix& m : kind.matrices) width += real(m.in) + real(m.out) + real(m.kv_heads) * real(m.kv_width);
    model.widest = std::max(model.widest, width);
    model.most_visits = std::max(model.most_visits, real(kind.mixture.top_k) + 1);
    for (const Core& core : kind.cores)
      model.most_scores = std::max(model.most_scores, real(kind.seq) * real(core.heads) * real(core.seen));
    model.longest = std::max(model.longest, kind.seq);
  }
}

}  // namespace

double executed_share(const workload::Attention& a, Count seq, Attention kernel, Count document) {
  if (kernel != Attention::kFlash) return 1;
  if (document > 0 && document < seq) return real(document) / real(seq) * executed_share(a, document, kernel, 0);
  const double full = a.causal ? 0.5 : 1;
  if (a.reach == workload::Reach::kAll || a.span >= seq || seq == 0) return full;
  const double seen = real(a.span) / real(seq);
  if (!a.causal) return seen;
  return a.reach == workload::Reach::kChunk ? seen / 2 : seen - seen * seen / 2;
}

bool Model::mixes() const {
  return experts() > 0;
}

Count Model::experts() const {
  for (const LayerKind& kind : kinds)
    if (kind.mixture.count > 0) return kind.mixture.count;
  return 0;
}

Model prepared(const Transformer& transformer, const TrainedAs& as) {
  refuse(transformer, inexpressible(transformer));
  Model model;
  model.name = transformer.name;
  for (const workload::Stack& stack : transformer.stacks) model.layers += static_cast<Count>(stack.layers.size());
  model.hidden = transformer.decoder().width;
  model.seq = transformer.decoder().fixed_tokens > 0 ? transformer.decoder().fixed_tokens : as.seq;
  model.document = as.document;
  model.attention = as.attention;
  model.dropout = transformer.dropout;
  model.vocab = transformer.vocab;
  list_sizes(transformer, model);
  if (!model.possible_sizes) return model;
  try {
    Count source = 0;
    for (const workload::Stack& stack : transformer.stacks) {
      const Count seq = stack.fixed_tokens > 0 ? stack.fixed_tokens : as.seq;
      add_stack(stack, seq, source, transformer, model);
      source = seq;
    }
    add_ends(transformer, model);
    bound(model);
  } catch (const base::OverflowError&) {
    base::fail("O1300", fmt::format("`{}` has more parameters than can be counted", transformer.name), {},
               "sizes up to 16777216 each, and products of them up to 64 bits, are understood");
  }
  return model;
}

}  // namespace orrery::cluster
