#include <cmath>

#include "orrery/verbs/sparse/mask_figures_json.h"
#include "orrery/verbs/sparse/mask_report.h"
#include "orrery/verbs/sparse/pack/report.h"

namespace orrery::verbs {
namespace {

using masks::HeadError;
using masks::Measured;
using masks::PruningError;

struct NumberedHead {
  base::Count head = 0;
  masks::HeadPairs pairs;
};

std::vector<NumberedHead> numbered(const Measured& figures) {
  std::vector<NumberedHead> out;
  for (const masks::HeadPairs& head : figures.heads) out.push_back({static_cast<base::Count>(out.size()), head});
  return out;
}

Record<NumberedHead> head_record() {
  return {{"head", "Number of the head, from 0.", &NumberedHead::head},
          {"density", "Its kept pairs over its pairs, all sequences and masks together, 0 to 1; null without pairs.",
           [](const NumberedHead& h) {
             return h.pairs.pairs > 0
                        ? std::optional(static_cast<double>(h.pairs.kept) / static_cast<double>(h.pairs.pairs))
                        : std::nullopt;
           }},
          {"kept", "Its pairs that are kept.", [](const NumberedHead& h) { return h.pairs.kept; }},
          {"pairs", "Its pairs of existing tokens.", [](const NumberedHead& h) { return h.pairs.pairs; }}};
}

// Sanger's nan is null.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Record<SparseMeasurement> result() {
  using S = SparseMeasurement;
  Record<S> out = sparse_figures().of<S>([](const S& s) -> const Measured& { return s.mean; });
  const Record<HeadError> head = {
      {"batch", "Number of the sequence, from 0.", &HeadError::batch},
      {"head", "Number of the head, from 0.", &HeadError::head},
      {"relative", "|pruned - dense| / |dense| of its output.", &HeadError::relative},
      {"largest", "Largest difference of outputs, relative to the largest magnitude.", &HeadError::largest},
      {"kept_mass", "Share of the dense probabilities that is kept, 0 to 1.", &HeadError::kept_mass}};
  const Record<PruningError> error = {
      {"relative", "Relative error, mean over heads.", &PruningError::relative},
      {"worst", "Largest relative error of any head.", &PruningError::worst},
      {"kept_mass", "Share of the dense probabilities that is kept, mean over heads, 0 to 1.",
       &PruningError::kept_mass},
      {"heads", "Errors of each head.", &PruningError::heads, head}};
  Record<MeasuredMask> mask = {{"name", "Name of the mask's file; empty: it was predicted.", &MeasuredMask::name}};
  mask.add(sparse_figures().of<MeasuredMask>(&MeasuredMask::figures));
  const auto clip = [](bool query) {
    return [query](const S& s) {
      return s.clips ? std::optional<double>(query ? s.clips->first : s.clips->second) : std::nullopt;
    };
  };
  out.add(
      {{"emptied_rows", "Queries that lost every key and follow `--empty-rows`; 0 for masks that were read.",
        &S::emptied},
       {"query_clip", "Clip threshold of the quantiser of queries; null: nothing was quantised.", clip(true)},
       {"key_clip", "Clip threshold of the quantiser of keys; null: nothing was quantised.", clip(false)},
       {"error", "With `--v`: what pruning costs in attention's output; null without.", &S::error, error},
       {"packing",
        "Utilisation of the published array of 64 rows of 16 PEs, by packing scheme, all masks together; empty with "
        "`--no-packing`.",
        [](const S& s) {
          std::vector<std::pair<std::string, masks::PackedScheme>> named;
          for (const masks::PackedScheme& scheme : s.packing) named.emplace_back(scheme.name, scheme);
          return named;
        },
        packed_scheme()},
       {"predict_ms", "With `--repeat`: median time of the prediction, in milliseconds; null without.",
        [](const S& s) { return s.predicting ? std::optional(s.predicting->median * 1e3) : std::nullopt; }},
       {"measure_ms", "With `--repeat`: median time of counting the figures, in milliseconds; null without.",
        [](const S& s) { return s.measuring ? std::optional(s.measuring->median * 1e3) : std::nullopt; }},
       {"unfinished", "Masks that a limit or an interrupt left out.", &S::unfinished},
       {"isa", "Instruction set that the kernels used.", &S::isa},
       {"threads", "Threads that computed.", &S::threads},
       {"by_head", "Figures of each head, all sequences and masks together.",
        [](const S& s) { return numbered(s.mean); }, head_record()},
       {"masks", "Figures of each mask; the figures above are their means, and the sums of counts.", &S::masks, mask}});
  return out;
}

}  // namespace

Record<Measured> sparse_figures() {
  const auto balance = [](std::size_t i) { return [i](const Measured& m) { return finite(m.load_balance[i]); }; };
  const Record<Measured> balances = {
      {"50%-no-skip", "Load balance of rows of 32 PEs; vectors that keep nothing take a slot.", balance(0)},
      {"50%-skip", "Load balance of rows of 32 PEs; vectors that keep nothing are skipped.", balance(1)},
      {"25%-no-skip", "Load balance of rows of 16 PEs; vectors that keep nothing take a slot.", balance(2)},
      {"25%-skip", "Load balance of rows of 16 PEs; vectors that keep nothing are skipped.", balance(3)}};
  return {{"density", "Kept pairs over pairs of existing tokens, 0 to 1; null where it is nan, as under `--compat`.",
           [](const Measured& m) { return finite(m.density); }},
          {"load_balance", "Kept pairs over slots in rows of the array, for vectors of 64 keys, 0 to 1.",
           std::identity(), balances},
          {"overall_sparsity", "Mean density over sequences, 0 to 1; Sanger calls it sparsity.",
           [](const Measured& m) { return finite(m.overall_sparsity); }},
          {"kept", "Pairs that are kept.", &Measured::kept},
          {"pairs", "Pairs of existing tokens: no padding, nothing beyond a causal diagonal.", &Measured::pairs},
          {"vectors", "Vectors of 64 keys that have such a pair.", &Measured::vectors},
          {"empty_vectors", "Those of `vectors` that keep nothing.", &Measured::empty_vectors}};
}

Document<SparseMeasurement> sparse_measure_document() {
  return {"sparse_measure", "Figures of the mask, or means over several masks.", result()};
}

Document<SparseMask> sparse_mask_document() {
  Record<SparseMask> result = {{"kind", "Kind of mask, as asked for.", &SparseMask::kind},
                               {"tokens", "Queries of a head, and as many keys.", &SparseMask::tokens},
                               {"heads", "Heads of the mask.", &SparseMask::heads},
                               {"seed", "Seed of the random parts.", &SparseMask::seed}};
  result.add(sparse_figures().of<SparseMask>(&SparseMask::figures));
  // `heads` is their number.
  result.add(
      {{"by_head", "Figures of each head.", [](const SparseMask& m) { return numbered(m.figures); }, head_record()}});
  return {"sparse_mask", "Figures of the mask.", result};
}

}  // namespace orrery::verbs
