// Each batch of texts is run with dense attention, then with pruned attention that computes the dense one of the same
// queries, keys and values beside it: a layer's error is its own, and what the errors of all layers come to is seen at
// the model's end. Of a language model, the loss of the same words follows, both ways.
#include "orrery/verbs/sparse/run/run.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "orrery/formats/numpy/array.h"
#include "orrery/formats/sanger/load_balance_csv.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/inputs/masks/sparse_folder.h"
#include "orrery/inputs/networks/text_run.h"
#include "orrery/runtime/pruning/compared_attention.h"

namespace orrery::verbs {
namespace {

using base::Count;
using network::HeadKind;
using network::Index;
using Chosen = std::vector<std::size_t>;

// The sums of an attention over batches.
struct Sums {
  std::vector<masks::Measured> masks;
  std::vector<pruning::ComparedHead> heads;
  std::vector<Count> kept;              // of each head
  Count pairs = 0;                      // of one head
  std::map<std::string, double> slots;  // of packings
  double dense = 0, predict = 0, attend = 0;
  Count emptied = 0;
};

// With tokens that are not there up to whole vectors, which Sanger's log demands, and its tasks pad to. No figure
// depends on how many there are.
masks::Measured measure_padded(const masks::Prediction& prediction, const masks::MeasureDefects& defects) {
  const masks::Mask& mask = prediction.mask;
  const auto whole = [](Count n) { return base::ceil_divide(n, masks::kWordBits) * masks::kWordBits; };
  masks::Mask padded({mask.batch(), mask.heads(), whole(mask.rows()), whole(mask.columns())});
  padded.causal = mask.causal;
  for (Count b = 0; b < mask.batch(); ++b) {
    for (Count r = 0; r < padded.rows(); ++r)
      padded.valid_rows.push_back(r < mask.rows() && mask.row_valid(b, r) ? 1 : 0);
    for (Count c = 0; c < padded.columns(); ++c)
      padded.valid_columns.push_back(c < mask.columns() && mask.column_valid(b, c) ? 1 : 0);
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count r = 0; r < mask.rows(); ++r)
        std::copy(mask.row(b, h, r), mask.row(b, h, r) + mask.words(), padded.row(b, h, r));
  }
  std::vector<Count> emptied;
  for (const Count row : prediction.emptied) emptied.push_back(row / mask.rows() * padded.rows() + row % mask.rows());
  return masks::measure(padded, defects, emptied);
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

class Runner {
 public:
  explicit Runner(const SparseRunRequest& request)
      : request_(request),
        running_(request.texts),
        kind_(language_head_of(request.texts.checkpoint)),
        made_(open_checkpoint(request.texts.checkpoint, {kind_, {}}, request.texts.type, request.texts.seed)) {
    network::Description& d = made_.runnable.description;
    if (kind_ == HeadKind::kNone) d.decoder.layers = 0, d.later.reset();  // as embed_texts
    pruned_ = open_pruning(request.texts.pruning, made_, Unclipped::kCalibrate);
    if (!pruned_.prunes()) {
      PruningRequest usual = request.texts.pruning;
      usual.predictor.emplace();
      pruned_ = open_pruning(usual, made_, Unclipped::kCalibrate);
    }
    sums_.resize(pruned_.network->places().size());
  }

  SparseRun run() {
    const TextRows rows = read_text_rows(request_.texts.data);
    const std::size_t most = made_.tokens_of(request_.texts.most_tokens, kUsualTokens);
    const PlainExamples plain = plain_examples(rows, request_.texts.columns, made_, most);
    examples_ = plain.examples;
    const auto batch = static_cast<std::size_t>(request_.texts.batch.value_or(kUsualBatch));
    const network::Network::Size size = size_of(examples_, batch);
    check_masks(size, made_.runnable.description);
    network::Network network(running_.context, made_.runnable.description, made_.parameters, size, false);
    pruned_.network->attach(network);
    out_.ended_early = !calibrate(pruned_, network, examples_, batch, made_, running_.budget);
    make_compared();
    for (const Chosen& chosen : batches(examples_, batch)) {
      if (out_.ended_early || running_.budget.spent()) {
        out_.ended_early = true;
        break;
      }
      batch_texts(network, chosen);
      if (kind_ != HeadKind::kNone) batch_words(network, chosen);
      ++out_.batches;
    }
    finish();
    out_.cut = plain.cut;
    warn_of_cut(out_.cut, most, made_.warnings);
    out_.inputs = made_.inputs;
    out_.warnings = made_.warnings;
    return std::move(out_);
  }

 private:
  void make_compared() {
    for (std::size_t i = 0; i < sums_.size(); ++i)
      compared_.push_back(
          std::make_unique<pruning::ComparedAttention>(pruned_.network->core(i), request_.repeat, running_.budget,
                                                       [this, i](const pruning::Compared& seen) { add(i, seen); }));
  }

  void add(std::size_t place, const pruning::Compared& seen) {
    Sums& sums = sums_[place];
    const masks::Prediction& last = pruned_.network->core(place).prediction();
    sums.masks.push_back(request_.defects.whole_vectors_only
                             ? measure_padded(last, request_.defects)
                             : masks::measure(last.mask, request_.defects, last.emptied));
    out_.log.push_back(sums.masks.back());
    sums.emptied += static_cast<Count>(last.emptied.size());
    sums.dense += seen.dense_seconds, sums.predict += seen.predict_seconds, sums.attend += seen.attend_seconds;
    sums.heads.resize(seen.heads.size());
    for (std::size_t h = 0; h < seen.heads.size(); ++h) {
      sums.heads[h].difference += seen.heads[h].difference;
      sums.heads[h].norm += seen.heads[h].norm;
      sums.heads[h].kept_mass += seen.heads[h].kept_mass;
      sums.heads[h].queries += seen.heads[h].queries;
    }
    const masks::Mask inside = masks::inside_valid(last.mask);
    sums.kept.resize(seen.heads.size());
    sums.pairs += inside.valid_pairs() / inside.heads();
    for (Count b = 0; b < inside.batch(); ++b)
      for (Count h = 0; h < inside.heads(); ++h)
        for (Count r = 0; r < inside.rows(); ++r) sums.kept[static_cast<std::size_t>(h)] += inside.kept_in_row(b, h, r);
    for (const std::string& name : request_.packings) {
      const masks::PackedScheme scheme =
          masks::pack_by(name, inside, {}, running_.budget, {.threads = running_.context.threads()});
      sums.slots[name] += ratio(static_cast<double>(scheme.kept), scheme.utilization);
    }
    if (request_.keep_mask)
      keep(inside, fmt::format("{}.batch{:03}.npy", pruned_.network->places()[place].name(), out_.batches));
  }

  // With the tokens that are there, so that figures of the file are those of the run.
  void keep(const masks::Mask& mask, const std::string& name) {
    request_.keep_mask(name, mask_file(mask, false));
    const auto tokens = [&](const char* folder, Count count, const std::vector<std::uint8_t>& valid) {
      if (!valid.empty())
        request_.keep_mask(fmt::format("{}/{}", folder, name), formats::numpy::file_of({mask.batch(), count}, valid));
    };
    tokens(kValidFolder, mask.columns(), mask.valid_columns);
    tokens(kValidQueriesFolder, mask.rows(), mask.valid_rows);
  }

  std::vector<std::vector<double>> vectors(network::Network& network, const network::Batch& batch) {
    const float* const hidden = network.hidden(batch);
    const network::Tokens& tokens = made_.runnable.description.has_decoder() ? batch.targets : batch.tokens;
    const Index width = made_.runnable.description.width;
    std::vector<std::vector<double>> out;
    for (Index s = 0; s < tokens.sequences; ++s) {
      std::vector<double>& sum = out.emplace_back(static_cast<std::size_t>(width));
      for (Index p = 0; p < tokens.length_of(s); ++p)
        for (Index i = 0; i < width; ++i)
          sum[static_cast<std::size_t>(i)] += hidden[(s * tokens.length + p) * width + i];
    }
    return out;
  }

  void attach_compared(network::Network& network) {
    for (std::size_t i = 0; i < compared_.size(); ++i)
      pruning::attach(network, pruned_.network->places()[i], compared_[i].get());
  }

  void batch_texts(network::Network& network, const Chosen& chosen) {
    network::Description plain = made_.runnable.description;
    plain.head.kind = HeadKind::kNone;  // no word is masked
    const network::LabelledBatch one = network::batch_of(examples_, chosen, plain, made_.rules, 0);
    pruned_.network->detach(network);
    const auto dense = vectors(network, one.batch);
    attach_compared(network);
    const auto pruned = vectors(network, one.batch);
    for (std::size_t t = 0; t < dense.size(); ++t) {
      double product = 0, a = 0, b = 0;
      for (std::size_t i = 0; i < dense[t].size(); ++i)
        product += dense[t][i] * pruned[t][i], a += dense[t][i] * dense[t][i], b += pruned[t][i] * pruned[t][i];
      cosines_.push_back(ratio(product, std::sqrt(a) * std::sqrt(b)));
      out_.tokens += static_cast<Count>(examples_[chosen[t]].words.size());
      ++out_.texts;
    }
  }

  struct Words {
    double sum = 0, count = 0, right = 0;
  };

  void add_words(network::Network& network, const network::LabelledBatch& one, Words& to) {
    const auto count = static_cast<double>(std::count_if(one.labels.words.begin(), one.labels.words.end(),
                                                         [](auto word) { return word != network::kNoLabel; }));
    if (count == 0) return;
    std::vector<float> logits;
    const bool masked = kind_ == HeadKind::kMaskedWords;
    to.sum += network.loss(one.batch, one.labels, masked ? &logits : nullptr) * count;
    to.count += count;
    if (!masked) return;
    const auto outputs = static_cast<std::size_t>(made_.runnable.description.head.outputs);
    const float* row = logits.data();
    for (const std::int32_t word : one.labels.words) {
      if (word == network::kNoLabel) continue;
      to.right += std::max_element(row, row + outputs) - row == word;
      row += outputs;
    }
  }

  void batch_words(network::Network& network, const Chosen& chosen) {
    const network::LabelledBatch one =
        network::batch_of(examples_, chosen, made_.runnable.description, made_.rules,
                          request_.texts.seed + static_cast<std::uint64_t>(out_.batches));
    pruned_.network->detach(network);
    add_words(network, one, dense_words_);
    pruned_.network->attach(network);
    add_words(network, one, pruned_words_);
  }

  std::optional<LanguageQuality> quality_of(const Words& words) const {
    if (words.count == 0) return std::nullopt;
    LanguageQuality out;
    out.loss = words.sum / words.count;
    out.perplexity = std::exp(out.loss);
    if (kind_ == HeadKind::kMaskedWords) out.accuracy = words.right / words.count;
    return out;
  }

  static masks::Measured mean_of(const std::vector<masks::Measured>& masks) {
    masks::Measured mean = masks::mean_of(masks);
    mean.density = ratio(static_cast<double>(mean.kept), static_cast<double>(mean.pairs));
    return mean;
  }

  void finish() {
    out_.model = request_.texts.checkpoint;
    out_.rule = pruned_.rule;
    out_.clips = pruned_.clips;
    out_.compat = request_.compat;
    out_.isa = kernels::name_of(running_.context.table().level);
    out_.threads = running_.context.threads();
    std::vector<masks::Measured> all;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Sums& sums = sums_[i];
      if (sums.masks.empty()) continue;
      SparseRunLayer layer;
      layer.place = pruned_.network->places()[i];
      layer.figures = mean_of(sums.masks);
      all.insert(all.end(), sums.masks.begin(), sums.masks.end());
      layer.emptied = sums.emptied;
      layer.dense_ms = sums.dense * 1e3;
      layer.predict_ms = sums.predict * 1e3;
      layer.sparse_ms = (sums.predict + sums.attend) * 1e3;
      layer.clips = pruned_.network->core(i).prediction().clips;
      for (const std::string& name : request_.packings)
        layer.packing.emplace_back(name, ratio(static_cast<double>(layer.figures.kept), sums.slots.at(name)));
      pruning::ComparedHead total;
      for (std::size_t h = 0; h < sums.heads.size(); ++h) {
        const pruning::ComparedHead& head = sums.heads[h];
        layer.heads.push_back({ratio(static_cast<double>(sums.kept[h]), static_cast<double>(sums.pairs)),
                               std::sqrt(ratio(head.difference, head.norm)),
                               ratio(head.kept_mass, static_cast<double>(head.queries))});
        total.difference += head.difference, total.norm += head.norm;
        total.kept_mass += head.kept_mass, total.queries += head.queries;
      }
      layer.error = std::sqrt(ratio(total.difference, total.norm));
      layer.kept_mass = ratio(total.kept_mass, static_cast<double>(total.queries));
      difference += total.difference, norm += total.norm;
      out_.dense_ms += layer.dense_ms, out_.sparse_ms += layer.sparse_ms;
      out_.layers.push_back(std::move(layer));
    }
    if (!all.empty()) out_.mean = mean_of(all);
    out_.error = std::sqrt(ratio(difference, norm));
    SparseRunQuality& quality = out_.quality;
    if (!cosines_.empty()) {
      double sum = 0;
      for (const double one : cosines_) sum += one / static_cast<double>(cosines_.size());
      quality.cosine = sum;
      quality.least_cosine = *std::min_element(cosines_.begin(), cosines_.end());
    }
    if (kind_ == HeadKind::kNone) return;
    quality.task = name_of(kind_ == HeadKind::kMaskedWords ? Task::kMaskedWords : Task::kNextWord);
    quality.dense = quality_of(dense_words_);
    quality.pruned = quality_of(pruned_words_);
  }

  const SparseRunRequest& request_;
  Running running_;
  HeadKind kind_;
  CheckpointModel made_;
  PrunedModel pruned_;
  std::vector<Sums> sums_;
  std::vector<std::unique_ptr<pruning::ComparedAttention>> compared_;
  std::vector<network::Example> examples_;
  std::vector<double> cosines_;
  Words dense_words_, pruned_words_;
  SparseRun out_;
};

}  // namespace

SparseRun sparse_run(const SparseRunRequest& request) {
  return Runner(request).run();
}

std::string load_balance_csv(const SparseRun& answer) {
  return formats::sanger::load_balance_csv(answer.log);
}

}  // namespace orrery::verbs
