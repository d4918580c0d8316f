#include "orrery/verbs/sparse/design/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/sparse/array_parts.h"

namespace orrery::verbs {

Document<SparseDesign> sparse_design_document() {
  using P = DesignPoint;
  const Record<P> point = {
      {"array", "Array: PE rows x PEs of a row x column ports.", [](const P& p) { return array_text(p.array); }},
      {"bits", "Bits of the codes that predict.", &P::bits},
      {"packing", "Where blocks are packed: in the machine (pack), or before the run (orrery).", &P::packing},
      {"block_slots", "Packed blocks that the machine's queue holds.", &P::block_slots},
      {"frequency_hz", "Frequency of the clock, in Hz.", &P::frequency},
      {"bandwidth_bytes_per_s", "Bandwidth of DRAM, in bytes a second; null: unlimited.",
       [](const P& p) { return std::isinf(p.bandwidth) ? std::nullopt : std::optional(p.bandwidth); }},
      {"cycles", "Cycles of all masks or attentions, one after the other.", &P::cycles},
      {"seconds", "Time of these cycles, in seconds.", &P::seconds},
      {"energy_pj", "Energy with leakage, in pJ.", &P::energy_pj},
      {"area_um2", "Area without DRAM, in um^2.", &P::area_um2},
      {"utilization", "Kept pairs over slots of blocks.", &P::utilization},
      {"waiting", "Share of the cycles in which the array waits.", &P::waiting},
      {"error", "|array - dense| / |dense| of outputs, the worst case's; null of masks alone.", &P::error},
      {"pareto", "On the Pareto front: no other point is as good in seconds, energy, area and error and better in one.",
       &P::pareto},
      {"best", "The best by the objective, of the points whose error is allowed.", &P::best}};
  const Record<SparseDesign> result = {
      {"points", "In the order of arrays, bits, packings, block slots, bandwidths and frequencies.",
       &SparseDesign::points, point},
      {"all", "How many points there are; fewer are listed when it was stopped.", &SparseDesign::all},
      {"resumed", "Points that were taken from an earlier run.", &SparseDesign::resumed},
      {"objective", "What the best point has least of: time, energy, energy-delay or area-delay.",
       &SparseDesign::objective},
      {"most_error", "Largest error that the best point may have; null: any.", &SparseDesign::most_error},
      {"technology", "Process node of energies and areas.", &SparseDesign::technology},
      {"rule", "How a model's checkpoint prunes its attention, in words; empty: no model.", &SparseDesign::rule},
      {"interrupted", "True: an interrupt ended it.", &SparseDesign::interrupted},
      {"out_of_time", "True: its time limit ended it.", &SparseDesign::out_of_time}};
  return {"sparse_design", "Cycles are simulated, energies and areas modelled.", result};
}

std::string sparse_design_table(const SparseDesign& answer) {
  Table table;
  table.header = {"array", "bits",      "packing",   "slots",     "GHz",         "GB/s",       "cycles",
                  "ms",    "util. (%)", "waits (%)", "error (%)", "energy (uJ)", "area (mm2)", ""};
  table.left_columns = {13};
  for (const DesignPoint& p : answer.points)
    table.rows.push_back({array_text(p.array), std::to_string(p.bits), p.packing, std::to_string(p.block_slots),
                          fmt::format("{:g}", p.frequency / 1e9),
                          std::isinf(p.bandwidth) ? "unlimited" : fmt::format("{:g}", p.bandwidth / 1e9),
                          base::grouped(static_cast<double>(p.cycles)), fmt::format("{:.4f}", p.seconds * 1e3),
                          percent(p.utilization), percent(p.waiting),
                          p.error ? fmt::format("{:.3g}", 100 * *p.error) : "-",
                          fmt::format("{:.4g}", p.energy_pj / 1e6), fmt::format("{:.2f}", p.area_um2 / 1e6),
                          fmt::format("{}{}", p.pareto ? "*" : "", p.best ? " best" : "")});
  std::string out = answer.rule.empty() ? "" : fmt::format("kept: {}\n\n", answer.rule);
  out += text(table);
  if (answer.points.size() < answer.all) {
    out += fmt::format("\nstopped: {} of {} points", answer.points.size(), answer.all);
    out += "; `--resume` goes on from the folder of -o\n";
  }
  out += "\n*: Pareto front: no other is as good in time, energy, area and error and better in one\n";
  const auto best = std::find_if(answer.points.begin(), answer.points.end(), [](const auto& p) { return p.best; });
  if (best != answer.points.end())
    out +=
        fmt::format("best by {}{}: {}, {} bits, {}\n", answer.objective,
                    answer.most_error ? fmt::format(" with an error of at most {:g} %", 100 * *answer.most_error) : "",
                    array_text(best->array), best->bits, best->packing);
  else if (!answer.points.empty())
    out += fmt::format("no point has an error of at most {:g} %\n", 100 * answer.most_error.value_or(0));
  for (const std::string& remark : verbs::array_price_remarks()) out += remark + "\n";
  return out + "cycles are simulated; energies and areas are modelled, of published figures\n";
}

}  // namespace orrery::verbs
