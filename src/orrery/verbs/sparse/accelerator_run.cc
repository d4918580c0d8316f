#include "orrery/verbs/sparse/accelerator_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/unfinished.h"
#include "orrery/runtime/kernels/attention.h"
#include "orrery/verbs/sparse/array_parts.h"

namespace orrery::verbs {
namespace {

using base::Count;

bool packs_before(const std::string& packing) {
  return packing == "orrery";
}

accelerator::Sizes sizes_of(const ArrayCase& one, const std::string& packing) {
  accelerator::Sizes out = accelerator::sizes_of(one.work());
  if (packs_before(packing)) out.predicts = false, out.packed = true;
  return out;
}

// Kept pairs of vectors of `ports` keys, split over PE rows.
double load_balance(const masks::Mask& mask, const masks::PackArray& array) {
  const double kept = static_cast<double>(mask.kept());
  Count rows = 0;
  std::vector<Count> vectors(static_cast<std::size_t>(base::ceil_divide(mask.columns(), array.ports)));
  for (Count b = 0; b < mask.batch(); ++b)
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count r = 0; r < mask.rows(); ++r) {
        std::fill(vectors.begin(), vectors.end(), 0);
        mask.for_each_kept(b, h, r, [&](Count c) { ++vectors[static_cast<std::size_t>(c / array.ports)]; });
        for (const Count n : vectors) rows += base::ceil_divide(n, array.pes);
      }
  return rows > 0 ? kept / static_cast<double>(rows * array.pes) : 0;
}

// Attention over the pairs that are there, in fp32, which is exact beside 16 bits; with `kept`, over these.
std::vector<float> attention(const ArrayCase& one, const masks::Mask* kept, int threads) {
  const masks::MaskShape& shape = one.shape;
  const Count rows = shape.rows * one.depth, columns = shape.columns * one.depth;
  std::vector<float> out(static_cast<std::size_t>(shape.matrices() * rows));
  kernels::Context context(threads);
  kernels::Attention attend;
  attend.batch = shape.batch, attend.heads = attend.key_heads = shape.heads;
  attend.queries = shape.rows, attend.keys = shape.columns;
  attend.size = attend.value_size = one.depth;
  attend.scale = one.scale;
  attend.query = {const_cast<float*>(one.query.data()), shape.heads * rows, rows, one.depth};
  attend.key = {const_cast<float*>(one.key.data()), shape.heads * columns, columns, one.depth};
  attend.value = {const_cast<float*>(one.value.data()), shape.heads * columns, columns, one.depth};
  attend.out = {out.data(), shape.heads * rows, rows, one.depth};
  if (one.causal) attend.reach_ahead = 0, attend.query_offset = shape.columns - shape.rows;
  std::vector<float> bias;
  if (!one.valid_columns.empty()) {
    for (const std::uint8_t there : one.valid_columns) bias.push_back(there != 0 ? 0 : -HUGE_VALF);
    attend.bias = bias.data(), attend.bias_batch = shape.columns;
  }
  kernels::KeptPairs pairs;
  if (kept != nullptr) {
    pairs.bits = kept->row(0, 0, 0);
    pairs.row = shape.words(), pairs.head = shape.rows * pairs.row, pairs.batch = shape.heads * pairs.head;
    attend.kept = &pairs;
  }
  kernels::attend(context, attend);
  return out;
}

// |is - should| / |should| over queries that are there.
double relative(const ArrayCase& one, const std::vector<double>& is, const std::vector<float>& should) {
  double difference = 0, norm = 0;
  const masks::MaskShape& shape = one.shape;
  for (Count b = 0; b < shape.batch; ++b)
    for (Count h = 0; h < shape.heads; ++h)
      for (Count r = 0; r < shape.rows; ++r) {
        if (!one.valid_rows.empty() && one.valid_rows[static_cast<std::size_t>(b * shape.rows + r)] == 0) continue;
        const auto at = static_cast<std::size_t>(((b * shape.heads + h) * shape.rows + r) * one.depth);
        for (std::size_t i = at; i < at + static_cast<std::size_t>(one.depth); ++i) {
          const double exact = static_cast<double>(should[i]);
          difference += (is[i] - exact) * (is[i] - exact);
          norm += exact * exact;
        }
      }
  return norm > 0 ? std::sqrt(difference / norm) : 0;
}

// The mask that the array would predict, by the same rule in floating point.
masks::Mask predicted(const ArrayCase& one, int threads, const base::Budget& budget) {
  kernels::Context context(threads);
  masks::PredictorOptions options;
  options.threshold = one.prediction.threshold;
  options.quantiser.bits = static_cast<int>(one.code_bits);
  options.quantiser.normalise = one.prediction.normalise ? masks::Normalise::kInnerProduct : masks::Normalise::kNone;
  if (one.prediction.query_clip) options.quantiser.query_clip = static_cast<float>(*one.prediction.query_clip);
  if (one.prediction.key_clip) options.quantiser.key_clip = static_cast<float>(*one.prediction.key_clip);
  masks::Prediction prediction;
  masks::make_predictor(options)->predict(context, one.input(), budget, prediction);
  return masks::inside_valid(prediction.mask);
}

// Of plain data that are all counts.
template <class Counts>
void add_counts(Counts& sum, const Counts& other) {
  using Array = std::array<Count, sizeof(Counts) / sizeof(Count)>;
  auto to = std::bit_cast<Array>(sum);
  const auto from = std::bit_cast<Array>(other);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  sum = std::bit_cast<Counts>(to);
}

// Fields of an instance as the command line calls them.
std::string in_options(std::string text) {
  constexpr std::pair<const char*, const char*> kOptions[] = {{"rows", "array"},
                                                              {"pes", "array"},
                                                              {"ports", "array"},
                                                              {"code_bits", "bits"},
                                                              {"bandwidth", "bandwidth"},
                                                              {"frequency", "frequency"},
                                                              {"latency", "latency"},
                                                              {"prediction_width", "prediction-width"},
                                                              {"quantiser_lanes", "quantiser-lanes"},
                                                              {"merge_lanes", "merge-lanes"},
                                                              {"block_slots", "block-slots"},
                                                              {"query_rows", "query-rows"},
                                                              {"key_tokens", "key-tokens"},
                                                              {"score_keys", "score-keys"},
                                                              {"sum", "sums"},
                                                              {"query", "format"},
                                                              {"key", "format"},
                                                              {"value", "format"},
                                                              {"output", "format"},
                                                              {"depth", "head-size"},
                                                              {"query_clip", "query-clip"},
                                                              {"key_clip", "key-clip"}};
  for (const auto& [field, option] : kOptions) {
    const std::string from = fmt::format("`{}`", field), to = fmt::format("`--{}`", option);
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  // Several fields are one option.
  for (const std::string twice : {"`--format` or `--format`", "`--format` and `--format`"})
    if (const std::size_t at = text.find(twice); at != std::string::npos) text.replace(at, twice.size(), "`--format`");
  return text;
}

std::vector<base::Diagnostic> in_options(std::vector<base::Diagnostic> found) {
  for (base::Diagnostic& fault : found) {
    fault.message = in_options(fault.message);
    for (std::string& note : fault.notes) note = in_options(note);
    for (std::string& hint : fault.hints) hint = in_options(hint);
  }
  return found;
}

}  // namespace

accelerator::Instance instance_for(const ArrayChoice& choice, const std::vector<ArrayCase>& cases) {
  accelerator::Instance instance = choice.instance;
  instance.overlap = !choice.one_after_another;
  const auto set = [](Count& to, const std::optional<Count>& given) { to = given.value_or(to); };
  set(instance.prediction_width, choice.prediction_width);
  set(instance.quantiser_lanes, choice.quantiser_lanes);
  set(instance.merge_lanes, choice.merge_lanes);
  set(instance.latency, choice.latency);
  for (const ArrayCase& one : cases) instance = accelerator::fitted(instance, sizes_of(one, choice.packing));
  set(instance.query_rows, choice.query_rows);
  set(instance.key_tokens, choice.key_tokens);
  set(instance.score_keys, choice.score_keys);
  set(instance.block_slots, choice.block_slots);
  for (const ArrayCase& one : cases) {
    const std::vector<base::Diagnostic> found =
        in_options(accelerator::faults(instance, sizes_of(one, choice.packing)).all());
    if (!found.empty()) throw base::InputError(found);
  }
  return instance;
}

CaseRun run_case(const ArrayCase& one, const accelerator::Instance& instance, const std::string& packing,
                 const ArrayRunOptions& options, const base::Budget& budget) {
  accelerator::Work work = one.work();
  masks::Mask mask;
  masks::Packing packed;
  if (packs_before(packing)) {
    mask = one.mask ? *one.mask : predicted(one, options.threads, budget);
    masks::PackEffort effort = options.effort;
    effort.threads = options.threads;
    masks::pack_by(packing, mask, instance.array, budget, effort, &packed);
    work.prediction.reset();
    work.mask = &mask, work.packing = &packed;
  }
  accelerator::SimulateOptions how;
  how.threads = options.threads;
  how.trace = options.trace;
  CaseRun out;
  try {
    out.run = accelerator::simulate(instance, work, how, budget);
  } catch (const base::InputError& error) {
    throw base::InputError(in_options(error.diagnostics));
  }
  const masks::Mask& kept = out.run.predicted ? *out.run.predicted : *work.mask;
  out.kept = kept.kept();
  out.pairs = kept.valid_pairs();
  out.load_balance = load_balance(kept, instance.array);
  if (work.calculates()) {
    masks::demand(budget);
    const std::vector<float> dense = attention(one, nullptr, options.threads);
    out.relative_error = relative(one, accelerator::real_outputs(instance, out.run), dense);
    const std::vector<float> pruned = attention(one, &kept, options.threads);
    out.pruning_error = relative(one, std::vector<double>(pruned.begin(), pruned.end()), dense);
  }
  if (options.keep_mask) out.mask = kept;
  out.run.outputs = {};
  out.run.predicted.reset();
  return out;
}

void add(accelerator::Simulation& sum, const accelerator::Simulation& x) {
  const auto slots = [](const accelerator::Simulation& s) {
    return s.utilization > 0 ? static_cast<double>(s.kept) / s.utilization : 0;
  };
  const double all = slots(sum) + slots(x);
  sum.cycles += x.cycles;
  add_counts(sum.phases, x.phases);
  add_counts(sum.stalls, x.stalls);
  add_counts(sum.busy, x.busy);
  add_counts(sum.bytes, x.bytes);
  add_counts(sum.operations, x.operations);
  add_counts(sum.saturated, x.saturated);
  sum.tiles += x.tiles, sum.blocks += x.blocks, sum.kept += x.kept;
  sum.utilization = all > 0 ? static_cast<double>(sum.kept) / all : 1;
  for (std::size_t i = 0; i < x.memories.size(); ++i) {
    accelerator::MemoryUse use = x.memories[i];  // the same instance
    use.reads += sum.memories[i].reads, use.writes += sum.memories[i].writes;
    sum.memories[i] = use;
  }
  const auto worse = [](std::optional<double>& to, const std::optional<double>& from) {
    if (from) to = std::max(to.value_or(0), *from);
  };
  worse(sum.max_relative_error, x.max_relative_error);
  worse(sum.mean_relative_error, x.mean_relative_error);
}

void check_price(const accelerator::Instance& instance, const ArrayChoice& choice, Estimators& estimators) {
  accelerator::Simulation idle;
  idle.memories = accelerator::memories(instance);
  price_of(instance, idle, choice, estimators);
}

ArrayPrice price_of(const accelerator::Instance& instance, const accelerator::Simulation& run,
                    const ArrayChoice& choice, Estimators& estimators) {
  return price_parts(array_parts(instance, run, choice.dram), choice.technology, instance.frequency,
                     static_cast<double>(run.cycles), estimators);
}

}  // namespace orrery::verbs
