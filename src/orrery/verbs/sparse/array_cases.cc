// Of a model, each text runs with its own dense attention, and what each attention is given is kept: layers before it
// have not been pruned, so that an error is the array's and this attention's alone.
#include "orrery/verbs/sparse/array_cases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/inputs/masks/sparse_folder.h"
#include "orrery/inputs/masks/sparse_limits.h"
#include "orrery/inputs/networks/text_run.h"
#include "orrery/runtime/pruning/recorded_attention.h"

namespace orrery::verbs {
namespace {

using base::Count;
using pruning::Recorded;

void check_values(Count value_size, Count depth, const std::string& file) {
  if (value_size == depth) return;
  base::fail("O1901", fmt::format("values of {} elements beside keys of {}", value_size, depth), {},
             fmt::format("a PE's registers take keys and values of one size: `{}` must have rows of {}", file, depth));
}

void check_arrays(const SparseArrayFiles& files) {
  if (!files.value.empty()) return;
  base::fail(
      "O1900", "there are no values to weigh: the array computes attention, not its mask alone", {},
      "give `--v FILE`; or save the mask (`orrery sparse measure --save-mask FILE`) and simulate that, for cycles "
      "without numbers");
}

accelerator::Prediction prediction_of(const ArrayCasesRequest& request) {
  accelerator::Prediction out;
  out.threshold = request.threshold.value_or(out.threshold);
  out.normalise = request.normalise.value_or(masks::Normalise::kInnerProduct) == masks::Normalise::kInnerProduct;
  out.query_clip = request.query_clip, out.key_clip = request.key_clip;
  return out;
}

ArrayCase case_of(SparseArrays read, const ArrayCasesRequest& request) {
  ArrayCase out;
  out.shape = read.input.shape;
  out.depth = read.input.depth;
  out.scale = static_cast<double>(read.input.scale);
  out.causal = read.input.causal;
  out.valid_rows = std::move(read.input.valid_rows), out.valid_columns = std::move(read.input.valid_columns);
  out.query = std::move(read.query), out.key = std::move(read.key), out.value = std::move(read.value);
  out.prediction = prediction_of(request);
  out.code_bits = request.bits.value_or(out.code_bits);
  return out;
}

masks::Mask read_inside(const ArrayCasesRequest& request, const std::string& path, const MaskFiles& files,
                        const base::Budget& budget, ArrayCases& out) {
  const masks::Mask mask = read_listed_mask(path, request.columns, request.arrays, files, out.inputs, budget);
  masks::Mask inside = masks::inside_valid(mask);
  warn_of_outside(path, mask.kept() - inside.kept(), out.warnings);
  return inside;
}

void read_masks(const ArrayCasesRequest& request, const base::Budget& budget, ArrayCases& out) {
  const MaskFiles files = mask_files(request.mask);
  LimitedSteps steps(budget);
  double held = 0;
  for (const std::string& path : files.masks)
    if (!steps.run(fmt::format("`{}` and what follows it", path), [&] {
          ArrayCase one;
          one.name = path;
          one.mask = read_inside(request, path, files, budget, out);
          one.shape = one.mask->shape();
          one.depth = request.size;
          one.scale = 1 / std::sqrt(static_cast<double>(request.size));
          one.causal = one.mask->causal;
          held += static_cast<double>(one.shape.matrices() * one.shape.rows * one.shape.words()) * sizeof(masks::Word);
          demand_room(budget, held, "these masks together");
          out.cases.push_back(std::move(one));
        }))
      break;
  out.unfinished = steps.unfinished();
}

// A mask beside queries, keys and values: it is given, and the numbers are computed.
void give_mask(const ArrayCasesRequest& request, const base::Budget& budget, ArrayCases& out) {
  const MaskFiles files = mask_files(request.mask);
  if (files.masks.size() > 1)
    base::fail("O1816",
               fmt::format("`{}` has {} masks, and the queries belong to one", request.mask, files.masks.size()), {},
               "name the file of the mask");
  ArrayCase& one = out.cases.front();
  masks::Mask mask = read_inside(request, files.masks.front(), files, budget, out);
  check_same_shape(mask.shape(), one.shape, files.masks.front());
  one.mask = std::move(mask);
}

// Whether an attention is the one that was asked for.
bool asked(const pruning::Place& place, const std::string& layer) {
  return layer.empty() || place.name() == layer ||
         (place.kind != pruning::PlaceKind::kCross && std::to_string(place.layer) == layer);
}

// The attentions of a model on texts.
class ModelCases {
 public:
  ModelCases(const ArrayCasesRequest& request, const TextRequest& texts, ArrayCases& out)
      : request_(request),
        out_(out),
        running_(texts),
        kind_(language_head_of(texts.checkpoint)),
        made_(open_checkpoint(texts.checkpoint, {kind_, {}}, texts.type, texts.seed)) {
    network::Description& d = made_.runnable.description;
    if (kind_ == network::HeadKind::kNone) d.decoder.layers = 0, d.later.reset();  // as embed_texts
    pruned_ = open(texts.pruning);
    if (!pruned_.prunes() || request.threshold || request.bits || request.normalise) {
      PruningRequest own = texts.pruning;
      own.predictor.emplace();
      own.predictor->threshold = request.threshold.value_or(own.predictor->threshold);
      own.predictor->quantiser.bits = static_cast<int>(request.bits.value_or(4));
      own.predictor->quantiser.normalise = request.normalise.value_or(masks::Normalise::kInnerProduct);
      pruned_ = open(own);
    }
  }

  void run(const TextRequest& texts) {
    const TextRows rows = read_text_rows(texts.data);
    const std::size_t most = made_.tokens_of(texts.most_tokens, kUsualTokens);
    const PlainExamples plain = plain_examples(rows, texts.columns, made_, most);
    const auto batch = static_cast<std::size_t>(texts.batch.value_or(1));
    const network::Network::Size size = size_of(plain.examples, batch);
    check_masks(size, made_.runnable.description);
    network::Network network(running_.context, made_.runnable.description, made_.parameters, size, false);
    pruned_.network->attach(network);
    bool whole = calibrate(pruned_, network, plain.examples, batch, made_, running_.budget);
    pruned_.network->detach(network);
    attach(network);
    network::Description bare = made_.runnable.description;
    bare.head.kind = network::HeadKind::kNone;
    for (const auto& chosen : batches(plain.examples, batch)) {
      if (!(whole = whole && !running_.budget.spent())) break;
      network.hidden(network::batch_of(plain.examples, chosen, bare, made_.rules, 0).batch);
      ++batch_;
    }
    if (!whole) out_.unfinished.push_back(fmt::format("texts from batch {} on", batch_ + 1));
    warn_of_cut(plain.cut, most, made_.warnings);
    out_.rule = pruned_.rule;
    out_.inputs = made_.inputs;
    out_.warnings.append(made_.warnings);
  }

 private:
  PrunedModel open(const PruningRequest& pruning) { return open_pruning(pruning, made_, Unclipped::kCalibrate); }

  void attach(network::Network& network) {
    const std::vector<pruning::Place>& places = pruned_.network->places();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < places.size(); ++i) {
      names.push_back(places[i].name());
      if (!asked(places[i], request_.layer)) continue;
      cores_.push_back(std::make_unique<pruning::RecordedAttention>(
          pruned_.network->pruning().scaled_queries,
          [this, i](kernels::Context& context, const kernels::Attention& attention, Recorded recorded) {
            add(i, context, attention, std::move(recorded));
          }));
      pruning::attach(network, places[i], cores_.back().get());
    }
    if (cores_.empty())
      base::fail("O1902", fmt::format("the model has no attention `{}`", request_.layer), {},
                 fmt::format("there are {}", base::joined(names, ", ")));
  }

  void add(std::size_t place, kernels::Context& context, const kernels::Attention& attention, Recorded recorded) {
    check_values(recorded.value_size, recorded.gathered.input.depth, "the model");
    const masks::AttentionInput& input = recorded.gathered.input;
    ArrayCase one;
    one.name = fmt::format("{}{}", pruned_.network->places()[place].name(),
                           batch_ > 0 ? fmt::format(" batch {}", batch_ + 1) : "");
    one.shape = input.shape;
    one.depth = input.depth;
    one.scale = static_cast<double>(input.scale);
    one.causal = input.causal;
    one.valid_rows = input.valid_rows, one.valid_columns = input.valid_columns;
    const masks::Pruning& rule = pruned_.network->pruning();
    pruning::PrunedAttention& core = pruned_.network->core(place);
    if (rule.quantises() && rule.predictor->kind == masks::PredictorKind::kThreshold && rule.pattern == nullptr) {
      one.prediction.threshold = rule.predictor->threshold;
      one.prediction.normalise = rule.predictor->quantiser.normalise == masks::Normalise::kInnerProduct;
      one.code_bits = rule.predictor->quantiser.bits;
      if (core.clips.query.value > 0 && core.clips.key.value > 0) {
        one.prediction.query_clip = static_cast<double>(core.clips.query.value);
        one.prediction.key_clip = static_cast<double>(core.clips.key.value);
      }
    } else {  // another rule's mask is computed outside, and given
      core.predict(context, attention);
      one.mask = masks::inside_valid(core.prediction().mask);
    }
    one.query = std::move(recorded.gathered.query), one.key = std::move(recorded.gathered.key);
    one.value = std::move(recorded.value);
    held_ += static_cast<double>(one.query.size() + one.key.size() + one.value.size()) * sizeof(float);
    demand_room(running_.budget, held_, "queries, keys and values of these attentions");
    out_.cases.push_back(std::move(one));
  }

  const ArrayCasesRequest& request_;
  ArrayCases& out_;
  Running running_;
  network::HeadKind kind_;
  CheckpointModel made_;
  PrunedModel pruned_;
  std::vector<std::unique_ptr<pruning::RecordedAttention>> cores_;
  std::size_t batch_ = 0;
  double held_ = 0;
};

}  // namespace

accelerator::Work ArrayCase::work() const {
  accelerator::Work out;
  out.shape = shape;
  out.depth = depth;
  out.scale = scale;
  if (!query.empty()) out.query = query.data(), out.key = key.data(), out.value = value.data();
  if (mask)
    out.mask = &*mask;
  else
    out.prediction = prediction;
  out.valid_rows = valid_rows, out.valid_columns = valid_columns;
  out.causal = causal;
  return out;
}

masks::AttentionInput ArrayCase::input() const {
  masks::AttentionInput out;
  out.shape = shape;
  out.depth = depth;
  out.query = query.data(), out.key = key.data();
  out.scale = static_cast<float>(scale);
  out.valid_rows = valid_rows, out.valid_columns = valid_columns;
  out.causal = causal;
  return out;
}

ArrayCases read_array_cases(const ArrayCasesRequest& request, const base::Limits& limits) {
  ArrayCases out;
  const base::Budget budget(limits);
  if (!request.texts.checkpoint.empty()) {
    TextRequest texts = request.texts;
    texts.limits = limits;
    texts.interruptible = [&] { return limits.stop; };
    ModelCases(request, texts, out).run(texts);
  } else if (!request.arrays.query.empty()) {
    check_arrays(request.arrays);
    SparseArrays read = read_sparse_arrays(request.arrays, budget);
    check_values(read.value_size, read.input.depth, request.arrays.value);
    out.inputs = read.inputs;
    out.cases.push_back(case_of(std::move(read), request));
    if (!request.mask.empty()) give_mask(request, budget, out);
  } else {
    read_masks(request, budget, out);
  }
  std::sort(out.inputs.begin(), out.inputs.end());
  out.inputs.erase(std::unique(out.inputs.begin(), out.inputs.end()), out.inputs.end());
  return out;
}

}  // namespace orrery::verbs
