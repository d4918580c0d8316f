// Searching is parallel over layers when there are several, and inside the search when there is one. Either way each
// layer's answer is a pure function of its inputs, so the order in which workers take layers does not show.
//
// Nor does the number of workers, when memory is short. How much a search may hold decides in which order it looks,
// so which of two equally good mappings it finds, and whether it proves its answer. So each layer is searched with a
// share of the memory that the number of layers fixes, whoever runs beside it. What does not fit its share is searched
// again, alone, with all of the memory.
//
// Nor are seconds for all layers together spent on the first of them: each is begun with its part of what is left, so
// that what easy layers leave over goes to those behind them. What is open in the end is searched again for longer, as
// long as each of them has at least twice what a layer had before; the better of the answers stays.
#include "orrery/inputs/layers/map_model.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/imperfect/imperfect_search.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/relaxed/sparse_search.h"
#include "orrery/inputs/layers/factor_hints.h"
#include "orrery/inputs/layers/forced_choice.h"
#include "orrery/inputs/layers/gathered_diagnostics.h"
#include "orrery/inputs/layers/map_together.h"

namespace orrery::verbs {
namespace {

// That more memory might have proven the answer.
void warn_of_memory(const MappedLayer& layer, std::size_t memory, base::Diagnostics& found) {
  base::Diagnostic& warning =
      found.warning("O1007", fmt::format("the search for `{}` ran short of memory", layer.name));
  warning.note(fmt::format("it had {} MiB", memory >> 20));
  if (layer.found())
    warning.note(
        fmt::format("the best mapping is at most {:.2f} % better than this one", 100 * layer.optimum.certificate.gap));
  warning.hint("give it more with --memory");
}

// Whether something that was asked about a layer has no proof for want of memory.
bool short_of_memory(const MappedLayer& layer) {
  return layer.optimum.out_of_memory || (layer.forced && layer.forced->optimum.out_of_memory) ||
         (layer.front && layer.front->out_of_memory) || (layer.certified && layer.certified->out_of_memory);
}

// Rounds the dimensions of these names up, where they are smaller.
Padding pad(const std::vector<Pad>& pads, workload::Einsum& einsum) {
  Padding padding;
  padding.sizes = 1;
  for (const Pad& wanted : pads) {
    const int d = einsum.dimension_index(wanted.dimension);
    if (d < 0 || einsum.dimensions[d].bound >= wanted.size) continue;
    padding.rounded.push_back({d, einsum.dimensions[d].bound, wanted.size});
    einsum.dimensions[d].bound = wanted.size;
  }
  return padding;
}

// O1958, of a size that no layer is rounded up to.
void require_padded(const std::vector<LayerQuestion>& questions, const std::vector<Pad>& pads) {
  base::Diagnostics found;
  for (const Pad& pad : pads) {
    base::Count largest = 0;
    bool rounds = false;
    std::vector<std::string> names;
    for (const LayerQuestion& question : questions)
      for (const workload::Dimension& dimension : question.einsum.dimensions) {
        if (std::find(names.begin(), names.end(), dimension.name) == names.end()) names.push_back(dimension.name);
        if (dimension.name != pad.dimension) continue;
        largest = std::max(largest, dimension.bound);
        rounds = rounds || dimension.bound < pad.size;
      }
    if (rounds) continue;
    base::Diagnostic& error =
        found.error("O1958", fmt::format("`--pad {}={}` rounds nothing up", pad.dimension, pad.size));
    if (largest > 0)
      error.note(fmt::format("no layer has less of {} than {}", pad.dimension, pad.size))
          .hint(fmt::format("give a size above {}", largest));
    else
      error.note(fmt::format("no layer has a dimension {}", pad.dimension))
          .hint(fmt::format("dimensions are {}", base::joined(names, ", ")));
  }
  found.throw_if_errors();
}

// All that is asked about one layer, one search after the other. A limit in seconds is shared out over them:
// each takes at most its part of what is left.
void answer(const MapOptions& options, const LayerQuestion& question, const std::optional<nest::Constraint>& forced,
            nest::SearchLimits limits, MappedLayer& layer) {
  const nest::Mapspace& space = question.space;
  const base::Stopwatch clock;
  int searches = 1 + static_cast<int>(!options.pads.empty()) + static_cast<int>(options.front) +
                 static_cast<int>(forced.has_value()) + static_cast<int>(options.certify);
  const double seconds = limits.seconds;
  const auto share = [&] {
    // Not 0, which means no limit.
    if (seconds > 0) limits.seconds = std::max(1e-6, (seconds - clock.seconds()) / searches);
    --searches;
    return limits;
  };
  const nest::Model model(layer.einsum, layer.chip, options.model, layer.reuse);
  layer.sparse.reset();
  if (question.sparse) {
    nest::SparseOptimum found = nest::optimize_sparse(model, *question.sparse, space, layer.objective, limits);
    layer.optimum = std::move(found.optimum);
    if (!found.sparse) return;
    found.sparse->design = question.sparse;
    layer.sparse = std::make_shared<const nest::SparseEvaluation>(std::move(*found.sparse));
    return;
  }
  if (options.factors == nest::Factors::kPadded) {
    nest::PaddedOptimum found = nest::optimize_padded(model, space, layer.objective, share());
    layer.optimum = std::move(found.optimum);
    layer.einsum = std::move(found.einsum);
    layer.padding = Padding{std::move(found.rounded), std::move(found.unrounded), found.sizes};
    return;
  }
  if (options.factors == nest::Factors::kImperfect) {
    nest::ImperfectOptimum found = nest::optimize_imperfect(model, space, layer.objective, share());
    layer.optimum = std::move(found.optimum);
    layer.imperfect = Imperfect{std::move(found.perfect)};
    return;
  }
  if (!options.pads.empty()) {
    const nest::SearchLimits half = share();
    layer.padding = pad(options.pads, layer.einsum);
    if (!layer.padding->rounded.empty()) {
      const nest::Optimum unrounded = nest::optimize(model, space, layer.objective, half);
      if (unrounded.mapping) layer.padding->unrounded = unrounded.evaluation;
      limits.progress = nullptr;
    }
    layer.optimum = nest::optimize(nest::Model(layer.einsum, layer.chip, options.model, layer.reuse), space,
                                   layer.objective, share());
    return;
  }
  layer.optimum = nest::optimize(model, space, layer.objective, share());
  limits.progress = nullptr;  // what follows bounds other values
  layer.certified.reset(), layer.forced.reset(), layer.front.reset();
  if (limits.give_way && layer.optimum.out_of_memory) return;
  if (options.certify) layer.certified = certify(model, space, layer.objective, layer.optimum, share());
  if (!layer.found()) return;
  if (forced) {
    nest::Mapspace narrower = space;
    narrower.constraints.push_back(*forced);
    layer.forced = Forced{options.why, nest::optimize(model, narrower, layer.objective, share())};
  }
  if (options.front) {
    layer.front = nest::pareto_front(model, space, share());
    if (!layer.front->complete) nest::include(layer.optimum, *layer.front);
  }
}

// A second search that a limit ends may have found less than the first: the better mapping and the larger bound stay.
void keep_better(const MappedLayer& first, MappedLayer& layer) {
  const nest::Optimum& before = first.optimum;
  const std::vector<nest::Metric>& objective = layer.objective;
  nest::Optimum& now = layer.optimum;
  if (now.certificate.optimal || now.infeasible || !before.mapping) return;
  const nest::Key old_key = nest::key_of(objective, before.evaluation);
  if (now.mapping && nest::compare(old_key, nest::key_of(objective, now.evaluation), objective.size()) >= 0) return;
  layer.einsum = first.einsum;
  layer.padding = first.padding;
  now.mapping = before.mapping;
  now.evaluation = before.evaluation;
  layer.sparse = first.sparse;
  base::Certificate& proven = now.certificate;
  proven.close(old_key[0], std::max(proven.lower_bound, before.certificate.lower_bound));
}

// Layers that are searched beside each other, at most; bytes below which a search would be slow.
constexpr std::size_t kMostShares = 16, kLeastShare = std::size_t{32} << 20;

// Parts of the memory, one for each search that may run beside others. Not a matter of threads: answers are not.
int shares_of(std::size_t memory, std::size_t layers) {
  std::size_t shares = std::min(layers, kMostShares);
  if (memory > 0) shares = std::min(shares, memory / kLeastShare);
  return static_cast<int>(std::max<std::size_t>(1, shares));
}

// Seconds that are of several searches together.
class Together {
 public:
  Together(double seconds, std::size_t searches)
      : seconds_(seconds), each_(seconds / static_cast<double>(std::max<std::size_t>(1, searches))) {}

  double left() const { return seconds_ - clock_.seconds(); }
  void expect(std::size_t searches, int at_a_time) {
    waiting_ = searches;
    at_a_time_ = static_cast<std::size_t>(std::max(1, at_a_time));
  }
  // The part of the search that begins now. Never 0, which means no limit.
  double part() {
    const std::lock_guard<std::mutex> lock(guard_);
    const std::size_t searches = std::max<std::size_t>(1, waiting_);
    if (waiting_ > 0) --waiting_;
    const double beside = static_cast<double>(std::min(at_a_time_, searches));
    return std::max(1e-6, left() * beside / static_cast<double>(searches));
  }
  // Whether so many searches have enough left to be begun again.
  bool again(std::size_t searches, int at_a_time) {
    if (searches == 0) return false;
    const double each = left() * std::min(at_a_time, static_cast<int>(searches)) / static_cast<double>(searches);
    if (each < 2 * each_) return false;
    each_ = each;
    return true;
  }

 private:
  double seconds_, each_;
  base::Stopwatch clock_;
  std::mutex guard_;
  std::size_t waiting_ = 0, at_a_time_ = 1;
};

// O2039, of what is asked beside the best mapping.
void require_plain(const std::vector<LayerQuestion>& questions, const MapOptions& options) {
  const char* asked = options.factors == nest::Factors::kPadded      ? "--factors padded"
                      : options.factors == nest::Factors::kImperfect ? "--factors imperfect"
                      : !options.pads.empty()                        ? "--pad"
                      : options.front                                ? "--pareto"
                      : !options.why.empty()                         ? "--why"
                      : options.certify                              ? "--certify"
                                                                     : nullptr;
  if (asked == nullptr) return;
  for (const LayerQuestion& question : questions)
    if (question.sparse)
      base::fail("O2039", fmt::format("{} is not answered for sparse tensors, which `{}` has", asked, question.name),
                 {}, "leave it out, or take the dense problem with `--ignore-density`");
}

// O2040, of layers whose best mapping is not proven because their zeros count, or what neighbours hand on.
void warn_of_gaps(const MappedModel& result, const nest::ModelOptions& model, base::Diagnostics& found) {
  for (const MappedLayer& layer : result.layers) {
    const nest::Optimum& optimum = layer.optimum;
    if (!optimum.mapping || optimum.certificate.optimal || optimum.interrupted) continue;
    const bool links =
        model.link_transfers && nest::Model(layer.einsum, layer.chip, model, layer.reuse).may_link() && !layer.sparse;
    if (!layer.sparse && !links) continue;
    found.warning("O2040", fmt::format("the best mapping of `{}` is not proven", layer.name))
        .note(fmt::format("what {} depends on all tiles at once; the best is at most {:.4g} % better than "
                          "the one that was found",
                          links ? "instances take from their neighbours" : "zeros save", 100 * optimum.certificate.gap))
        .hint(links ? "a longer `--time-limit` is spent on better mappings and on a proof, and constraints leave fewer "
                      "mappings to compare"
                    : "constraints that leave few enough mappings have all of them compared: five million, or fewer "
                      "where zeros are random or listed");
  }
}

// All layers of a question, each search with its share of memory and time.
class LayerSearches {
 public:
  LayerSearches(const std::vector<LayerQuestion>& questions, const MapOptions& options, bool one_limit,
                std::size_t needed)
      : questions_(questions),
        options_(options),
        needed_(needed),
        forced_(questions.size()),
        same_as_(questions.size()),
        settled_(questions.size(), 0),
        spent_seconds_(questions.size(), 0) {
    result_.layers.resize(questions.size());
    ask();
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (same_as_[i] == i) work_.push_back(i);
    threads_ = std::max(1, options.limits.threads);
    shares_ = shares_of(options.limits.memory, work_.size());
    workers_ = std::min(threads_, shares_);
    if (one_limit && options.limits.seconds > 0) together_.emplace(options.limits.seconds, work_.size());
  }

  MappedModel run() {
    search_all();
    while (together_ && search_again()) search_all();
    for (const std::size_t i : work_)
      if (result_.layers[i].optimum.out_of_memory)
        warn_of_memory(result_.layers[i], options_.limits.memory, result_.warnings);
    warn_of_gaps(result_, options_.model, result_.warnings);
    if (options_.factors == nest::Factors::kPerfect && options_.pads.empty())
      suggest_factors(questions_, work_, options_, threads_, result_);
    hand_on();
    return std::move(result_);
  }

 private:
  // What each layer is asked, and which of them ask the same.
  void ask() {
    Gathered refused;
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      const LayerQuestion& question = questions_[i];
      same_as_[i] = i;
      for (std::size_t earlier = 0; same_as_[i] == i && earlier < i; ++earlier)
        if (same_as_[earlier] == earlier && same_search(questions_[earlier], question)) same_as_[i] = earlier;
      MappedLayer& layer = result_.layers[i];
      layer.name = question.name;
      layer.instances = question.instances;
      if (same_as_[i] != i) continue;
      layer.einsum = question.einsum;
      layer.chip = *question.chip;
      layer.estimates = question.estimates;
      layer.reuse = question.space.reuse;
      layer.objective = !options_.objective.empty()   ? options_.objective
                        : !question.objective.empty() ? question.objective
                                                      : std::vector<nest::Metric>{nest::Metric::kEdp};
      try {
        if (!options_.why.empty()) forced_[i] = forced_choice(options_.why, layer.einsum, layer.chip);
      } catch (const base::InputError& error) {
        refused.add(error.diagnostics);
      }
    }
    refused.all().throw_if_errors();
  }

  // What no mapping costs less than, without a look at any.
  double least_of(const LayerQuestion& question) const {
    if (question.sparse) return 0;
    double units = 1;
    for (int level = 0; level < static_cast<int>(question.chip->storages.size()); ++level)
      units *=
          static_cast<double>(question.chip->fanout_x(level)) * static_cast<double>(question.chip->fanout_y(level));
    const std::vector<nest::Metric>& objective = options_.objective.empty() ? question.objective : options_.objective;
    return nest::lower_bound_of(question.einsum, *question.chip, units,
                                objective.empty() ? nest::Metric::kEdp : objective[0]);
  }

  bool over() const {
    const std::atomic<bool>* const stop = options_.limits.stop;
    return (stop != nullptr && *stop) || (together_ && together_->left() <= 0);
  }

  void search(std::size_t i, int searches, int threads) {
    if (i >= needed_ && over()) {
      result_.layers[i].optimum.certificate.lower_bound = least_of(questions_[i]);
      settled_[i] = 1;
      return;
    }
    MappedLayer& layer = result_.layers[i];
    const base::Stopwatch clock;
    nest::SearchLimits limits = options_.limits;
    limits.threads = threads;
    limits.searches = searches;
    limits.give_way = searches > 1;
    if (together_)
      limits.seconds = together_->part();
    else if (limits.seconds > 0)
      limits.seconds = std::max(1e-6, limits.seconds - spent_seconds_[i]);
    if (options_.searching)
      limits.progress = [&](double best, double lower_bound) {
        const std::lock_guard<std::mutex> lock(guard_);
        options_.searching(layer.name, best, lower_bound);
      };
    const MappedLayer before = layer;
    layer.optimum = {};
    layer.einsum = questions_[i].einsum;
    try {
      answer(options_, questions_[i], forced_[i], limits, layer);
      keep_better(before, layer);
    } catch (const base::OverflowError&) {
      throw uncountable(layer.name, layer.einsum, layer.chip);
    }
    spent_seconds_[i] += clock.seconds();
    settled_[i] = searches == 1 || !short_of_memory(layer);
    if (!settled_[i]) return;
    const std::lock_guard<std::mutex> lock(guard_);
    ++done_;
    if (options_.progress) options_.progress(done_, work_.size(), layer.name);
  }

  void search_open(int workers, int searches) {
    std::vector<std::size_t> open;
    for (const std::size_t i : work_)
      if (!settled_[i]) open.push_back(i);
    if (together_) together_->expect(open.size(), workers);
    base::parallel_for(open.size(), workers,
                       [&](std::size_t at) { search(open[at], searches, workers == 1 ? threads_ : 1); });
  }

  void search_all() {
    search_open(workers_, shares_);
    // The process may have grown too large for what ran beside a layer, not for the layer.
    if (workers_ > 1) search_open(1, shares_);
    if (shares_ > 1) search_open(1, 1);
  }

  // Reopens the layers without a proof, where the time that is left suffices.
  bool search_again() {
    std::vector<std::size_t> open;
    for (const std::size_t i : work_) {
      const nest::Optimum& found = result_.layers[i].optimum;
      if (!found.certificate.optimal && !found.infeasible && !found.interrupted && !short_of_memory(result_.layers[i]))
        open.push_back(i);
    }
    if (!together_->again(open.size(), workers_)) return false;
    for (const std::size_t i : open) settled_[i] = 0;
    done_ -= open.size();
    return true;
  }

  // Answers of layers that others ask, too.
  void hand_on() {
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      if (same_as_[i] == i) continue;
      MappedLayer layer = result_.layers[same_as_[i]];
      layer.name = result_.layers[i].name;
      layer.instances = result_.layers[i].instances;
      layer.einsum.name = questions_[i].einsum.name;
      result_.layers[i] = std::move(layer);
    }
  }

  const std::vector<LayerQuestion>& questions_;
  const MapOptions& options_;
  const std::size_t needed_;
  MappedModel result_;
  std::vector<std::optional<nest::Constraint>> forced_;
  std::vector<std::size_t> same_as_;  // the layer whose answer this one shares; itself otherwise
  std::vector<std::size_t> work_;     // layers that are searched
  int threads_ = 1, shares_ = 1, workers_ = 1;
  std::optional<Together> together_;
  std::mutex guard_;  // of `done_` and the progress callbacks
  std::size_t done_ = 0;
  std::vector<char> settled_;
  std::vector<double> spent_seconds_;
};

}  // namespace

MappedModel map_layers(const std::vector<LayerQuestion>& questions, const MapOptions& options) {
  require_plain(questions, options);
  require_padded(questions, options.pads);
  return LayerSearches(questions, options, false, questions.size()).run();
}

MappedModel map_layers_together(const std::vector<LayerQuestion>& questions, const MapOptions& options,
                                std::size_t needed) {
  require_plain(questions, options);
  require_padded(questions, options.pads);
  return LayerSearches(questions, options, true, needed).run();
}

}  // namespace orrery::verbs
