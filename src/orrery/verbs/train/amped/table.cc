#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/bar.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/train/amped/report.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kShownSplits = 10;

std::string chart(const amped::Quantities& q, const amped::Times& times) {
  const AmpedIteration i = amped_iteration(q, times);
  std::vector<ChartRow> rows = {{"forward", i.forward, ""},       {"backward", i.backward, ""},
                                {"tensor parallelism", i.tp, ""}, {"pipeline parallelism", i.pp, ""},
                                {"data parallelism", i.dp, ""},   {"experts", i.ep, ""},
                                {"bubble", i.bubble, ""}};
  for (ChartRow& row : rows) row.shown = shown_seconds(row.size);
  return "time of an iteration\n" + bar_chart(rows, times.iteration_s, shown_seconds(times.iteration_s));
}

std::string memory(const AmpedRun& run) {
  const amped::Quantities& q = run.resolved.quantities;
  std::string out = fmt::format("memory        {:.2f} GB of weights and optimizer state, {:.2f} GB of activations",
                                q.weights_gb, q.activations_gb);
  if (run.capacity_gb() > 0) out += fmt::format("; an accelerator has {:.2f} GB", run.capacity_gb());
  return out + "\n";
}

std::string search_table(const AmpedRun& run) {
  const amped::Search& search = run.search;
  std::string out = fmt::format("{} of {} permutations of batch size and degrees are valid\n", search.valid.size(),
                                search.considered);
  const auto reason = [&](std::int64_t count, const char* why) {
    if (count > 0) out += fmt::format("  {:>8}  {}\n", count, why);
  };
  reason(search.more_stages_than_layers, "stages do not share the layers equally");
  reason(search.heads_not_shared, "tensor parallelism does not divide the heads");
  reason(search.batch_not_shared, "replicas and microbatches do not divide the batch");
  reason(search.too_large, "too large for the memory");
  if (run.capacity_gb() == 0) out += "memory was not checked: `memory_capacity` is not given\n";
  if (!search.recalculated.empty())
    out += fmt::format("given, but calculated for each of them: {}\n", base::joined(search.recalculated, ", "));
  if (search.valid.empty()) return out;
  Table table;
  table.header = {"batch",        "DP in x out", "TP in x out", "PP in x out",
                  "microbatches", "memory (GB)", "iteration",   "training"};
  for (const amped::Candidate& c : amped::best_candidates(search, kShownSplits))
    table.rows.push_back({std::to_string(c.batch), fmt::format("{} x {}", c.dp_intra, c.dp_inter),
                          fmt::format("{} x {}", c.tp_intra, c.tp_inter),
                          fmt::format("{} x {}", c.pp_intra, c.pp_inter), fmt::format("{}", c.microbatches),
                          fmt::format("{:.2f}", c.memory_gb), shown_seconds(c.iteration_s), shown_seconds(c.total_s)});
  return out + "\nthe best batch size of each of the best splits\n" + text(table);
}

}  // namespace

std::string amped_table(const AmpedRun& run) {
  const amped::Quantities& q = run.resolved.quantities;
  const amped::Times& t = run.times;
  std::string out = fmt::format("{} on {} x {}: batch {}, context {}\n", run.resolved.transformer,
                                q.accelerators_required, run.resolved.accelerator, q.batch_size, q.context);
  out += fmt::format("DP {} x {}, TP {} x {}, PP {} x {} (within x across nodes); {} microbatches\n", q.dp_intra,
                     q.dp_inter, q.tp_intra, q.tp_inter, q.pp_intra, q.pp_inter, q.microbatches);
  out += "\n" + chart(q, t) + "\n";
  out += fmt::format("training      {} ({:.0f} iterations)\n", shown_seconds(t.total_s), q.batches);
  const double tera = amped::total_macs(q) * q.ops_per_mac / 1e12;
  out += fmt::format("TFLOP/s       {:.1f} an accelerator of {:.1f}\n", tera / t.total_s / q.accelerators_required,
                     q.peak_ops / 1e12);
  out += memory(run);
  if (run.space) out += "\n" + search_table(run);
  return out + "figures are modelled by AMPeD's equations\n";
}

}  // namespace orrery::verbs
