// A step is a sum over the kinds of layers on the fullest stage of the pipeline. T new tokens pass every matrix at
// once, prompts' and decoding sequences' alike:
//
//   products       T x in by in x out, cut by tp
//   attention      of decoding sequences, a query each against its cache: heads of a rank x the mean context; of
//   prompts,
//                  the pairs that the causal mask leaves. Layers with a window see no more than it
//   experts        T k visits fall on E (1 - (1 - k/E)^T) experts if tokens choose evenly; the busiest rank has
//                  `imbalance` times the mean
//   communication  an all-reduce after each part of a layer among tensor ranks; where experts are spread beyond them,
//                  T k rows to other ranks and back; a message between stages
//   others         six operators between products in each part, a row of the stream each
//   loading        copies of keys and values from the host's memory: all before the step, or a layer's before the layer
//   host           a step, and each sequence in it; launches of operators where prompts are in the step and graphs
//                  hold none
//
// Decoding sequences of a step are taken to be of their mean length, which is exact but for windows that some of them
// exceed. Cost: some 10 operators for each kind of layer, a microsecond.
#include "orrery/engines/serving/model/step.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;
using collective::Operation;
using machine::MatrixProduct;

constexpr double kStream = 2;  // bytes of an element of the residual stream
constexpr double kPlainOperators =
    3;  // between the products of a part of a layer: norm, rotation or activation, residual

Count whole(double value) {
  return std::max<Count>(1, base::saturated(value + 0.5));
}

}  // namespace

struct StepModel::Sums {
  StepCost cost;
  double operators = 0;  // launched
  double cache_bytes = 0;

  // Of so many layers: operators and caches are a layer's, costs are all of theirs.
  void add(const Sums& of, double layers) {
    operators += layers * of.operators;
    cache_bytes += layers * of.cache_bytes;
    cost.products += of.cost.products;
    cost.attention += of.cost.attention;
    cost.experts += of.cost.experts;
    cost.communication += of.cost.communication;
    cost.others += of.cost.others;
    cost.bytes += of.cost.bytes;
  }
};

void StepWork::add_prompt(Count tokens, Count context, bool ends) {
  const double n = static_cast<double>(tokens), before = static_cast<double>(context);
  prompt_tokens += tokens;
  prompt_pairs += n * before + n * (n + 1) / 2;
  prompt_keys += before + n;
  ++prompts;
  if (ends) ++prompts_ended;
}

StepModel::StepModel(const ServedModel& model, const cluster::System& system, const Deployment& deployment,
                     const machine::OperatorModel& operators)
    : model_(model),
      deployment_(deployment),
      operators_(operators),
      roofline_(system.accelerator),
      fabric_(served_fabric(system.fabric)),
      tensor_(collective::place(fabric_, static_cast<int>(deployment.tp), 1)),
      expert_(collective::place(fabric_, static_cast<int>(deployment.tp * deployment.dp), 1)),
      share_(static_cast<double>(base::ceil_divide(model.layers, deployment.pp)) / static_cast<double>(model.layers)),
      ridge_tokens_(system.accelerator.peak(deployment.precision) / system.accelerator.memory_bytes_per_s *
                    machine::bytes_per_element(deployment.precision) / 2),
      watts_(system.watts_per_gpu * static_cast<double>(deployment.group())) {
  dense_bytes_ = weight_bytes(model, deployment, false);
  // Of its matrices a rank has these parts.
  const Count tp = deployment.tp;
  for (ServedLayers& kind : model_.kinds)
    for (ServedMatrix& m : kind.matrices) {
      m.out = (m.cut == Cut::kColumns ? base::ceil_divide(m.out, tp) : m.out) +
              base::ceil_divide(m.kv_heads, tp) * m.kv_width;
      if (m.cut == Cut::kRows) m.in = base::ceil_divide(m.in, tp);
    }
  if (deployment.pp > 1) {
    const int level = collective::level_between(fabric_, static_cast<int>(deployment.tp * deployment.dp));
    stage_message_fixed_ = collective::message_seconds(fabric_, level, 0);
    stage_message_per_byte_ = collective::message_seconds(fabric_, level, 1) - stage_message_fixed_;
  }
}

// An index scores every key, with one key of all its heads; `share` below 1: of queries that a causal mask holds.
double StepModel::index_seconds(const ServedLayers& kind, Count sequences, Count queries, double keys,
                                double share) const {
  if (kind.index_heads == 0) return 0;
  machine::Operator one = machine::Operator::of(
      MatrixProduct{sequences, queries * kind.index_heads, whole(keys), kind.index_width, deployment_.cache_precision});
  one.kind = machine::OperatorKind::kAttention;
  one.share = share;
  return operators_.cost(one).seconds;
}

// Of decoding sequences.
double StepModel::cached_attention_seconds(const ServedLayers& kind, const StepWork& work, Count queries,
                                           Sums& out) const {
  const Count heads = kind.heads / deployment_.tp;
  const Count kv_heads = kind.latent > 0 ? 1 : std::max<Count>(1, kind.kv_heads / deployment_.tp);
  const Count key = kind.latent > 0 ? kind.latent : kind.key_width;
  const Count value = kind.latent > 0 ? kind.latent_value : kind.value_width;
  const double stored = kind.latent > 0 ? static_cast<double>(key) : static_cast<double>(kv_heads * (key + value));
  const double width = machine::bytes_per_element(deployment_.cache_precision);
  const double decodes = static_cast<double>(work.decodes), all = work.decode_context / decodes;
  // Entries of several tokens, or tokens: those that an index scores.
  const double scored = kind.compressed > 1 ? all / static_cast<double>(kind.compressed) : all;
  double context = kind.keys(all);
  if (kind.picked > 0)
    context = std::min(static_cast<double>(kind.picked), scored) + (kind.compressed > 1 ? kind.near(all) : 0);
  const double bytes = decodes * context * stored * width;
  // One latent is key and value at once: what is read is half of what two caches would be.
  machine::Operator one = machine::Operator::of(MatrixProduct{work.decodes * kv_heads, heads / kv_heads * queries,
                                                              whole(context), key, deployment_.cache_precision});
  one.kind = machine::OperatorKind::kAttention;
  one.value_width = value;
  const double seconds = operators_.cost(one).seconds;
  out.cache_bytes += bytes + decodes * scored * kind.index_bytes();
  ++out.operators;
  return (kind.latent > 0 ? std::max(seconds / 2, operators_.memory_bound_seconds(bytes)) : seconds) +
         index_seconds(kind, work.decodes, queries, scored, 1);
}

double StepModel::attention_seconds(const ServedLayers& kind, const StepWork& work, Count queries, Sums& out) const {
  if (kind.heads == 0) return 0;
  double seconds = work.decodes > 0 ? cached_attention_seconds(kind, work, queries, out) : 0;
  if (work.prompt_tokens == 0) return seconds;
  const double tokens = static_cast<double>(work.prompt_tokens), joined = static_cast<double>(kind.compressed);
  const double before = work.prompt_pairs / tokens, longest = work.prompt_keys / static_cast<double>(work.prompts);
  const double seen = kind.keys(before);
  const double keys = std::max(1.0, std::min(kind.compressed > 1 ? kind.keys(longest) : longest, seen * 2));
  const auto read = [&](double pairs, double of, Count key, Count value) {
    machine::Operator one = machine::Operator::of(
        MatrixProduct{kind.heads / deployment_.tp, work.prompt_tokens, whole(of), key, machine::Precision::kBf16});
    one.kind = machine::OperatorKind::kAttention;
    one.value_width = value;
    one.share = std::min(1 - 1e-9, pairs / of);
    return operators_.cost(one).seconds;
  };
  double least = read(seen, keys, kind.key_width, kind.value_width);
  // Picked keys are read as latents, all of them as keys and values: the shorter is taken.
  const double picked = static_cast<double>(kind.picked) + (kind.compressed > 1 ? kind.near(before) : 0);
  if (kind.picked > 0 && seen > picked) least = std::min(least, read(picked, picked, kind.latent, kind.latent_value));
  seconds +=
      least + (kind.compressed > 1
                   ? index_seconds(kind, 1, work.prompt_tokens, longest / joined, std::min(1 - 1e-9, before / longest))
                   : index_seconds(kind, 1, work.prompt_tokens, keys, std::min(1 - 1e-9, seen / keys)));
  const double width = machine::bytes_per_element(deployment_.cache_precision);
  const double stored = kind.latent > 0 ? kind.entry_bytes(width) / joined
                                        : static_cast<double>(std::max<Count>(1, kind.kv_heads / deployment_.tp) *
                                                              (kind.key_width + kind.value_width)) *
                                              width;
  out.cache_bytes += work.prompt_keys * stored;
  ++out.operators;
  return seconds;
}

double StepModel::attention_seconds(const StepWork& work) const {
  double seconds = 0;
  Sums unused;
  for (const ServedLayers& kind : model_.kinds)
    if (!kind.ahead)
      seconds +=
          static_cast<double>(kind.layers) * share_ * attention_seconds(kind, work, deployment_.queries(), unused);
  return seconds;
}

double StepModel::product_seconds(MatrixProduct product, const Stored& stored) const {
  product.precision = product_precision(stored, deployment_);
  const double bytes = machine::bytes_per_element(product.precision);
  // With scales, a weight may have a little more than its elements.
  return stored.bytes > 0 && stored.bytes < bytes ? roofline_.narrow_weights_seconds(product, stored.bytes)
                                                  : operators_.matrix_product_seconds(product);
}

void StepModel::add_experts(const ServedLayers& kind, Count tokens, double layers, Sums& out) const {
  const Deployment& d = deployment_;
  // All groups of attention send to all ranks.
  const double visits = static_cast<double>(tokens * d.dp * kind.top_k);
  const double count = static_cast<double>(kind.experts);
  const double idle = std::pow(1 - static_cast<double>(kind.top_k) / count, static_cast<double>(tokens * d.dp));
  const double busiest = d.ep > 1 ? d.imbalance : 1;
  const double held = count / static_cast<double>(d.ep);
  const double met = std::max(1.0, std::min(held, held * (1 - idle) * busiest));
  const double here = visits / static_cast<double>(d.ep) * busiest;
  const Count inner = kind.expert_inner / d.expert_tp(), up = kind.expert_up / d.expert_tp();
  const Count experts = whole(met), rows = whole(here / static_cast<double>(experts));
  const Stored& stored = kind.expert_stored;
  out.cost.experts += layers * (product_seconds({experts, rows, up, kind.expert_in}, stored) +
                                product_seconds({experts, rows, kind.expert_in, inner}, stored));
  out.cost.bytes += layers * met * static_cast<double>(kind.expert_in * (up + inner)) * bytes_of_weight(stored, d);
  out.operators += 2;
  if (d.dp > 1) {
    // A rank sends its part of its group's tokens, each to all ranks that have a part of the experts that it visits.
    const double copies =
        std::min(static_cast<double>(kind.top_k), static_cast<double>(d.ep)) * static_cast<double>(d.expert_tp());
    const double sent =
        static_cast<double>(tokens) / static_cast<double>(d.tp) * copies * static_cast<double>(kind.width) * busiest;
    const double width = std::max(1.0, machine::bytes_per_element(product_precision(stored, d)));
    const double each = exchange_seconds() + collective::seconds(Operation::kAllToAll, fabric_, expert_, sent * width);
    const double back =
        exchange_seconds() + collective::seconds(Operation::kAllToAll, fabric_, expert_, sent * kStream);
    out.cost.communication += layers * (each + back);
  }
}

void StepModel::add_layer(const ServedLayers& kind, double layers, const StepWork& work, Count queries,
                          Sums& out) const {
  const Count tokens = work.prompt_tokens + work.decodes * queries, tp = deployment_.tp;
  double products = 0;
  for (const ServedMatrix& m : kind.matrices) {
    products += product_seconds({1, tokens, m.out, m.in}, m.stored);
    ++out.operators;
  }
  out.cost.products += layers * products;
  out.cost.attention += layers * attention_seconds(kind, work, queries, out);
  if (kind.experts > 0) add_experts(kind, tokens, layers, out);
  const double row = static_cast<double>(tokens) * static_cast<double>(kind.width) * kStream;
  out.cost.others += layers * kind.parts * kPlainOperators * operators_.memory_bound_seconds(2 * row);
  if (kind.state > 0)
    out.cost.others += layers * operators_.memory_bound_seconds(2 * kind.state * kStream / static_cast<double>(tp) *
                                                                static_cast<double>(work.decodes + work.prompts));
  out.operators += kind.parts * kPlainOperators;
  out.cost.communication += layers * kind.parts * collective::seconds(Operation::kAllReduce, fabric_, tensor_, row);
}

void StepModel::add_logits(Count rows, Sums& out) const {
  if (model_.outputs == 0 || rows == 0) return;
  const MatrixProduct head{1, rows, base::ceil_divide(model_.outputs, deployment_.tp), model_.width};
  out.cost.products += model_.head_bytes < 2 ? roofline_.narrow_weights_seconds(head, model_.head_bytes)
                                             : operators_.matrix_product_seconds(head);
  out.cost.communication += collective::seconds(Operation::kAllGather, fabric_, tensor_,
                                                static_cast<double>(rows * model_.outputs) * kStream);
}

// Guesses are made one after the other. A module that predicts ahead reads first what the step reads, prompts and
// known tokens, as its caches need them; a guess more than there are modules is one token through one of them again.
// Without modules they are made by a layer like the model's last ones and the logits, an assumption.
void StepModel::add_drafts(const StepWork& work, Sums& out) const {
  const auto run = [&](const ServedLayers& kind, double layers, const StepWork& reads, Count queries) {
    Sums of;
    add_layer(kind, layers, reads, queries, of);
    out.add(of, layers);
  };
  // Of a kind, layers of a module.
  const auto each = [&](const ServedLayers& kind) {
    return static_cast<double>(kind.layers) / static_cast<double>(model_.ahead);
  };
  for (const ServedLayers& kind : model_.kinds)
    if (kind.ahead)
      run(kind, each(kind) * static_cast<double>(std::min(model_.ahead, deployment_.drafted)), work,
          deployment_.queries());
  if (work.decodes == 0) return;
  StepWork one;
  one.decodes = work.decodes, one.decode_context = work.decode_context;
  for (Count i = 0; i < deployment_.drafted; ++i) {
    for (const ServedLayers& kind : model_.kinds)
      if (kind.ahead && i >= model_.ahead) run(kind, each(kind), one, 1);
    if (model_.ahead == 0) run(model_.kinds.back(), 1, one, 1);
    Sums of;
    add_logits(one.decodes, of);
    out.add(of, 1);
  }
}

StepCost StepModel::cost(const StepWork& work) const {
  Sums sums;
  const Count queries = deployment_.queries(), tokens = work.prompt_tokens + work.decodes * queries;
  if (tokens == 0) return {};
  for (const ServedLayers& kind : model_.kinds) {
    if (kind.ahead) continue;
    const double layers = static_cast<double>(kind.layers) * share_;
    Sums of;
    add_layer(kind, layers, work, queries, of);
    sums.add(of, layers);
  }
  add_drafts(work, sums);
  StepCost& out = sums.cost;
  add_logits(work.decodes * queries + work.prompts_ended, sums);
  if (deployment_.pp > 1)
    out.communication += stage_message_fixed_ + stage_message_per_byte_ * static_cast<double>(tokens * model_.width) *
                                                    kStream / static_cast<double>(deployment_.tp);
  const double device = out.products + out.attention + out.experts + out.communication + out.others;
  // With graphs, attention of prompts alone is launched by itself, once a layer.
  const double launches = !deployment_.graphs      ? sums.operators
                          : work.prompt_tokens > 0 ? static_cast<double>(model_.layers) * share_
                                                   : 0;
  const double issued = launches * operators_.issue_seconds();
  out.host = deployment_.host_seconds(work.decodes + work.prompts) + std::max(0.0, issued - device);
  if (work.load_seconds > 0) {
    // Layer by layer, the first layer's copies come before its work, and the last layer's work behind its copies.
    const double layer = std::max(1.0, static_cast<double>(model_.layers) * share_);
    out.loading = rules(deployment_.engine).loads_by_layer
                      ? std::max(work.load_seconds / layer, work.load_seconds + device / layer - device)
                      : work.load_seconds;
  }
  out.seconds = device + out.host + out.loading;
  out.bytes += dense_bytes_ + sums.cache_bytes;
  out.joules = watts_ * out.seconds;
  out.binds = static_cast<double>(tokens) > ridge_tokens_ ? "compute" : "weights";
  double most = out.products + out.experts + out.others;
  const auto longer = [&](double part, std::string_view name) {
    if (part > most) most = part, out.binds = name;
  };
  longer(out.attention, work.decodes > 0 ? "caches" : "compute");
  longer(out.communication, "communication");
  longer(out.host, "host");
  return out;
}

}  // namespace orrery::serving
