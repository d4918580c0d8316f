#include <cmath>

#include "orrery/verbs/prune/mask_figures_json.h"
#include "orrery/verbs/prune/mask_report.h"
#include "orrery/verbs/prune/pack/report.h"

namespace orrery::verbs {
namespace {

using masks::HeadError;
using masks::Measured;
using masks::PruningError;

// Sanger's nan is null.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Record<SparseMeasurement> result() {
  using S = SparseMeasurement;
  Record<S> out = sparse_figures().of<S>([](const S& s) -> const Measured& { return s.mean; });
  const Record<HeadError> head = {
      {"batch", "Sequence.", &HeadError::batch},
      {"head", "Of it.", &HeadError::head},
      {"relative", "|pruned - dense| / |dense| of its output.", &HeadError::relative},
      {"largest", "Largest difference over the largest magnitude.", &HeadError::largest},
      {"kept_mass", "Share of the dense probabilities that is kept.", &HeadError::kept_mass}};
  const Record<PruningError> error = {{"relative", "Mean over heads.", &PruningError::relative},
                                      {"worst", "Largest of any head.", &PruningError::worst},
                                      {"kept_mass", "Mean over heads.", &PruningError::kept_mass},
                                      {"heads", "One by one.", &PruningError::heads, head}};
  Record<MeasuredMask> mask = {{"name", "Of its file; empty: predicted.", &MeasuredMask::name}};
  mask.add(sparse_figures().of<MeasuredMask>(&MeasuredMask::figures));
  const auto clip = [](bool query) {
    return [query](const S& s) {
      return s.clips ? std::optional<double>(query ? s.clips->first : s.clips->second) : std::nullopt;
    };
  };
  out.add(
      {{"emptied_rows", "Rows that lost every key and follow `--empty-rows`; 0 of masks that were read.", &S::emptied},
       {"query_clip", "Clip threshold of the quantiser; null: nothing was quantised.", clip(true)},
       {"key_clip", "The same of keys.", clip(false)},
       {"error", "With `--v`: what pruning costs in attention's output; null without.", &S::error, error},
       {"packing",
        "Schemes by name, on the published array of 64 rows of 16, all masks together; empty with `--no-packing`.",
        [](const S& s) {
          std::vector<std::pair<std::string, masks::PackedScheme>> named;
          for (const masks::PackedScheme& scheme : s.packing) named.emplace_back(scheme.name, scheme);
          return named;
        },
        packed_scheme()},
       {"predict_ms", "With `--repeat`: median, measured; null without.",
        [](const S& s) { return s.predicting ? std::optional(s.predicting->median * 1e3) : std::nullopt; }},
       {"measure_ms", "The same of the figures.",
        [](const S& s) { return s.measuring ? std::optional(s.measuring->median * 1e3) : std::nullopt; }},
       {"unfinished", "What the limits or an interrupt left out.", &S::unfinished},
       {"isa", "Instruction set.", &S::isa},
       {"threads", "That predicted.", &S::threads},
       {"masks", "One by one; the figures above are their means, and sums of counts.", &S::masks, mask}});
  return out;
}

}  // namespace

Record<Measured> sparse_figures() {
  const auto balance = [](std::size_t i) { return [i](const Measured& m) { return finite(m.load_balance[i]); }; };
  const Record<Measured> balances = {
      {"50%-no-skip", "Rows of 32 processing elements; vectors that keep nothing take a slot.", balance(0)},
      {"50%-skip", "The same, such vectors skipped.", balance(1)},
      {"25%-no-skip", "Rows of 16.", balance(2)},
      {"25%-skip", "The same, such vectors skipped.", balance(3)}};
  return {{"density", "Share of the pairs that are there which is kept; null: nan, under --compat.",
           [](const Measured& m) { return finite(m.density); }},
          {"load_balance", "Kept pairs over places in rows of the array, for vectors of 64 keys.", std::identity(),
           balances},
          {"overall_sparsity", "Sanger's name for a density: the mean over sequences.",
           [](const Measured& m) { return finite(m.overall_sparsity); }},
          {"kept", "Pairs.", &Measured::kept},
          {"pairs", "That are there: no padding, nothing beyond a causal diagonal.", &Measured::pairs},
          {"vectors", "Of 64 keys, that have such a pair.", &Measured::vectors},
          {"empty_vectors", "Of them, that keep nothing.", &Measured::empty_vectors}};
}

Document<SparseMeasurement> sparse_measure_document() {
  return {"sparse_measure", "Of the mask, or the mean of several.", result()};
}

Document<SparseMask> sparse_mask_document() {
  Record<SparseMask> result = {{"kind", "As asked for.", &SparseMask::kind},
                               {"tokens", "Queries and keys.", &SparseMask::tokens},
                               {"heads", "Of the mask.", &SparseMask::heads},
                               {"seed", "Of random parts.", &SparseMask::seed}};
  result.add(sparse_figures().of<SparseMask>(&SparseMask::figures));
  return {"sparse_mask", "The mask's figures.", result};
}

}  // namespace orrery::verbs
