// What is served are the decoder's layers and the logits. Matrices are those of `workload::projections`, told apart by
// name: queries, keys and values, the first products of networks and what reads a latent are divided by columns, those
// that lead back to the stream by rows, routers and what makes latents are whole on every rank. Of latent attention,
// keys and values are never expanded for decoding sequences: queries are multiplied into the latent's space, which
// costs as much as the product `KV-up` of the new tokens, and that is how it is counted in every phase. Indexes are
// whole on every rank, as are the projections to experts' latents. DeepSeek-V4's key is the value too, one for all
// heads, and so a latent that nothing expands; what makes it, and entries of several tokens, is whole on every rank,
// and so is what mixes its residual streams, of which memory's traffic is taken to be one stream's.
#include "orrery/engines/serving/model/served_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/describe/workload/transformer_facts.h"

namespace orrery::serving {
namespace {

using base::Count;

Part part_of(const std::string& name) {
  if (name == "router" || name == "shared-gate") return Part::kRouter;
  return name.find("FF") != std::string::npos ? Part::kNetwork : Part::kMixer;
}

Cut cut_of(const std::string& name) {
  if (name.starts_with("index-") || name.starts_with("expert-latent")) return Cut::kNone;
  if (name == "router" || name == "shared-gate" || name == "Q-down" || name == "KV-down") return Cut::kNone;
  if (name == "KV" || name == "KV-joined" || name == "layer-streams") return Cut::kNone;
  if (name == "Out" || name.ends_with("FF2")) return Cut::kRows;
  return Cut::kColumns;
}

// DeepSeek-V4's.
bool shares_one_key(const workload::Attention& a) {
  return a.value_is_key && a.kv_heads == 1 && !a.matrices.empty();
}

void add_attention(const workload::Attention& a, ServedLayers& out) {
  out.heads = a.heads;
  out.kv_heads = a.kv_heads;
  out.key_width = a.width;
  out.value_width = a.value_width;
  if (a.reach != workload::Reach::kAll) out.span = a.span;
  if (a.latent) {
    out.latent = a.latent->kv_rank + a.latent->rope_width;
    out.latent_value = a.latent->kv_rank;
  }
  if (shares_one_key(a)) {
    out.latent = out.latent_value = a.width;
    out.compressed = a.compressed;
    if (a.compressed > 1) out.span = a.span;
  }
  if (a.index) {
    out.picked = a.index->top_k;
    if (a.index->own) out.index_heads = a.index->heads, out.index_width = a.index->width;
  }
}

ServedLayers layers_of(const workload::Block& block, Count width) {
  ServedLayers out;
  out.width = width;
  out.ahead = block.ahead;
  const auto* attention = std::get_if<workload::Attention>(&block.mixer);
  const auto* recurrence = std::get_if<workload::Recurrence>(&block.mixer);
  const auto* experts = std::get_if<workload::Experts>(&block.feed_forward);
  if (attention != nullptr) add_attention(*attention, out);
  if (recurrence != nullptr)
    out.state = static_cast<double>(recurrence->state()) +
                static_cast<double>(recurrence->channels * std::max<Count>(0, recurrence->taps - 1));
  if (experts != nullptr) {
    out.experts = experts->count;
    out.top_k = experts->top_k;
    out.expert_in = experts->latent > 0 ? experts->latent : width;
    out.expert_up = (experts->expert.gated ? 2 : 1) * experts->expert.inner;
    out.expert_inner = experts->expert.inner;
  }
  out.parts = (attention != nullptr || recurrence != nullptr ? 1 : 0) +
              (std::holds_alternative<std::monostate>(block.feed_forward) ? 0 : 1);
  out.small = static_cast<double>(workload::small_parameters(block, width));
  std::size_t place = 0;
  const std::vector<workload::Projection> all = workload::projections(block, width);
  for (const workload::Projection& p : all) {
    ++place;
    if (p.name.starts_with("expert-FF")) continue;
    ServedMatrix matrix{p.in, p.out, 0, 0, cut_of(p.name), part_of(p.name)};
    if (attention != nullptr && p.name == "KQV") {
      matrix.kv_heads = attention->kv_heads;
      matrix.kv_width = attention->width + (attention->value_is_key ? 0 : attention->value_width);
      matrix.out -= matrix.kv_heads * matrix.kv_width;
    }
    if (recurrence != nullptr && place == recurrence->projections.size()) matrix.cut = Cut::kRows;
    out.activations = std::max(out.activations, static_cast<double>(p.in + p.out));
    out.matrices.push_back(matrix);
  }
  return out;
}

double bytes_of(const ServedMatrix& m, const Deployment& d) {
  const Count kv = base::ceil_divide(m.kv_heads, d.tp) * m.kv_width;
  const double columns =
      m.cut == Cut::kColumns ? static_cast<double>(m.out) / static_cast<double>(d.tp) : static_cast<double>(m.out);
  const double rows =
      m.cut == Cut::kRows ? static_cast<double>(m.in) / static_cast<double>(d.tp) : static_cast<double>(m.in);
  return rows * (columns + static_cast<double>(kv)) * bytes_of_weight(m.stored, d);
}

// What peculiarities() names of a model and this engine prices all the same.
std::vector<std::string> priced(const workload::Transformer& t) {
  bool indexed = true, equal = true, gates = true, own = true;
  for (const workload::Block& block : t.decoder().kinds) {
    if (const auto* a = std::get_if<workload::Attention>(&block.mixer)) {
      const bool one = shares_one_key(*a);
      indexed = indexed && (!a->index || one || (a->latent && a->reach == workload::Reach::kAll && a->compressed == 1));
      equal = equal && (!a->value_is_key || one || (a->matrices.empty() && a->compressed == 1));
      own = own && (a->matrices.empty() || one);
    }
    for (const workload::Projection& extra : block.extra)
      gates =
          gates && (extra.name == "layer-head-gate" || extra.name == "layer-ahead" || extra.name == "layer-streams");
  }
  std::vector<std::string> out = {"experts that work on a latent", "layers that predict tokens beyond the next"};
  if (indexed) out.emplace_back("attention to keys that an index picks");
  if (equal) out.emplace_back("values made of its keys");
  if (own) out.emplace_back("attention with matrices of its own kind");
  if (gates) out.emplace_back("matrices of layers that belong to neither attention nor network");
  return out;
}

constexpr double kSmallBytes = 2;  // of an element of norms, routers, tables and logits: they stay in 16 bits

}  // namespace

double ServedLayers::cached(double tokens, Count tp, double element) const {
  if (heads == 0) return 0;
  if (compressed > 1)
    return std::floor(tokens / static_cast<double>(compressed)) * entry_bytes(element) +
           near(tokens) * static_cast<double>(latent) * element;
  if (latent > 0) return near(tokens) * entry_bytes(element);
  return near(tokens) * static_cast<double>(base::ceil_divide(kv_heads, tp) * (key_width + value_width)) * element;
}

double ServedLayers::keys(double tokens) const {
  return near(tokens) + (compressed > 1 ? tokens / static_cast<double>(compressed) : 0);
}

bool ServedModel::mixes() const {
  return std::any_of(kinds.begin(), kinds.end(), [](const ServedLayers& kind) { return kind.experts > 0; });
}

ServedModel served(const workload::Transformer& t) {
  base::Diagnostics found;
  if (t.stacks.size() != 1 || !t.decoder().causal)
    found.error("O2071",
                fmt::format("`{}` does not generate texts token by token: serving needs one causal decoder", t.name));
  const std::vector<std::string> known = t.stacks.size() == 1 ? priced(t) : std::vector<std::string>();
  for (const std::string& what : workload::peculiarities(t))
    if (std::find(known.begin(), known.end(), what) == known.end())
      found.error("O2071", fmt::format("`{}` has {}, which `serve` does not know", t.name, what));
  found.throw_if_errors();
  ServedModel out;
  out.name = t.name;
  const workload::Stack& stack = t.decoder();
  for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
    const Count layers = std::count(stack.layers.begin(), stack.layers.end(), static_cast<int>(k));
    if (layers == 0) continue;
    out.kinds.push_back(layers_of(stack.kinds[k], stack.width));
    out.kinds.back().layers = layers;
    out.kinds.back().kind = k;
  }
  out.layers = 0;
  for (const ServedLayers& kind : out.kinds) out.layers += kind.ahead ? 0 : kind.layers;
  out.ahead = t.counted_ahead;
  out.width = stack.width;
  out.outputs = t.head.outputs;
  const workload::Parameters counted = workload::parameters(t);
  out.parameters = static_cast<double>(counted.total);
  out.table = static_cast<double>(counted.embedding);
  out.head = static_cast<double>(counted.head);
  for (const workload::Stack& tower : t.towers)
    for (const workload::Part& part : counted.parts)
      if (part.name == tower.name) out.tower += static_cast<double>(part.parameters);
  out.longest = t.max_positions.value_or(0);
  return out;
}

void check(const ServedModel& model, const Deployment& d, base::Diagnostics& found) {
  check(d, found);
  if (found.has_errors()) return;
  for (const ServedLayers& kind : model.kinds) {
    if (kind.heads % d.tp != 0)
      return static_cast<void>(found.error(
          "O2072", fmt::format("tp = {} does not divide the {} heads of `{}`", d.tp, kind.heads, model.name)));
    if (kind.kv_heads > d.tp ? kind.kv_heads % d.tp != 0 : d.tp % std::max<Count>(1, kind.kv_heads) != 0)
      if (kind.latent == 0 && kind.heads > 0)
        return static_cast<void>(
            found.error("O2072", fmt::format("tp = {} and the {} key-value heads of `{}`: neither divides the other",
                                             d.tp, kind.kv_heads, model.name)));
    if (kind.experts > 0 && (kind.experts % d.ep != 0 || kind.expert_inner % d.expert_tp() != 0))
      return static_cast<void>(
          found.error("O2072", fmt::format("{} experts of width {} cannot be spread {} ways and cut {} ways",
                                           kind.experts, kind.expert_inner, d.ep, d.expert_tp())));
  }
  if (d.pp > model.layers)
    found.error("O2072", fmt::format("{} stages are more than the {} layers of `{}`", d.pp, model.layers, model.name));
  if (!model.mixes() && (d.dp > 1 || d.ep > 1))
    found
        .error("O2072",
               fmt::format("`{}` has no experts: dp = {} and ep = {} say how those are spread", model.name, d.dp, d.ep))
        .hint(fmt::format("copies of a whole model are replicas: `--replicas {}`", d.dp));
}

machine::Precision product_precision(const Stored& stored, const Deployment& d) {
  return machine::bytes_per_element(stored.products) > machine::bytes_per_element(d.precision) ? stored.products
                                                                                               : d.precision;
}

double bytes_of_weight(const Stored& stored, const Deployment& d) {
  return stored.bytes > 0 ? stored.bytes : machine::bytes_per_element(d.precision);
}

double weight_bytes(const ServedModel& model, const Deployment& d, bool experts) {
  // Of a kind, the fullest stage's.
  const double share = static_cast<double>(base::ceil_divide(model.layers, d.pp)) / static_cast<double>(model.layers);
  double sum = 0;
  for (const ServedLayers& kind : model.kinds) {
    double layer = kind.small * kSmallBytes;
    for (const ServedMatrix& m : kind.matrices) layer += bytes_of(m, d);
    const double expert = static_cast<double>(kind.expert_in * kind.expert_up + kind.expert_inner * kind.expert_in);
    if (experts)
      layer += static_cast<double>(kind.experts) / static_cast<double>(d.tp * d.dp) * expert *
               bytes_of_weight(kind.expert_stored, d);
    sum += layer * static_cast<double>(kind.layers) * (kind.ahead ? 1 : share);  // those ahead stand on the last
  }
  // Tables and towers stand on the first stage, logits on the last.
  const double table = (model.table + model.tower) * kSmallBytes, head = model.head * model.head_bytes;
  const double ends = d.pp > 1 ? std::max(table, head) : table + head;
  return sum + ends / static_cast<double>(d.tp);
}

}  // namespace orrery::serving
