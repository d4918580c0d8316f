#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/present/bar.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/sparse/array_parts.h"
#include "orrery/verbs/sparse/bench/run.h"
#include "orrery/verbs/sparse/simulate/report.h"

namespace orrery::verbs {
namespace {

using base::Count;

std::string cycles(Count count) {
  return base::grouped(static_cast<double>(count));
}

std::string head(const SparseSimulate& a) {
  const accelerator::Instance& x = a.instance;
  std::string out = fmt::format("array {}x{}x{} (PE rows, PEs of a row, column ports), {:g} GHz, ", x.array.rows,
                                x.array.pes, x.array.ports, x.frequency / 1e9);
  out += std::isinf(x.bandwidth) ? std::string("unlimited bandwidth") : fmt::format("{:g} GB/s", x.bandwidth / 1e9);
  out += fmt::format("; units {}\n", x.overlap ? "work beside each other" : "work one after the other");
  if (!a.rule.empty()) out += fmt::format("kept: {}\n", a.rule);
  out += fmt::format("{} of {} pairs kept ({} %), heads: {}{}\n\n", cycles(a.kept), cycles(a.pairs), percent(a.density),
                     a.matrices, a.cases.size() > 1 ? fmt::format(", in {} cases", a.cases.size()) : "");
  return out;
}

std::string phases(const SparseSimulate& a) {
  const accelerator::ArrayPhases& p = a.sum.phases;
  const accelerator::Stalls& s = a.sum.stalls;
  std::vector<ChartRow> rows;
  const auto add = [&](const char* name, Count count) {
    rows.push_back({name, static_cast<double>(count), cycles(count)});
  };
  add("clear", p.clear);
  add("scores", p.scores);
  add("maximum", p.maximum);
  add("exponentials", p.exponentials);
  add("values", p.values);
  add("drain", p.drain);
  add("waits for memory", s.memory);
  add("waits for prediction", s.prediction);
  add("waits for packing", s.packing);
  add("waits for decoding", s.preparing);
  add("waits for merging", s.merging);
  return bar_chart(rows, static_cast<double>(a.sum.cycles), cycles(a.sum.cycles) + " cycles");
}

// Why the array's power and area are not those that are published of it.
std::string beside_silicon(const SparseSimulate& a) {
  double energy = 0, area = 0;
  for (const PricedPart& p : a.price.parts)
    if (p.name == "PEs: delay chains" || p.name == "PEs: ports' registers" || p.name.starts_with("PEs: multiplexers"))
      energy += p.energy_pj + p.leakage_pj, area += p.area_um2;
  const PublishedSilicon silicon = published_silicon();
  return fmt::format(
      "published     Sanger: {:.2f} W, {:.1f} mm2 at {}, {:g} MHz ({})\n"
      "              here, at {:g} MHz, chains, ports and multiplexers of the PEs shift in every cycle: {} % of the\n"
      "              energy, {} % of the area; how the original avoids that, and its memories, are not published\n",
      silicon.power_w, silicon.area_um2 / 1e6, silicon.technology, silicon.frequency_hz / 1e6, silicon.source,
      a.instance.frequency / 1e6, percent(a.price.energy_pj > 0 ? energy / a.price.energy_pj : 0),
      percent(a.price.area_um2 > 0 ? area / a.price.area_um2 : 0));
}

std::string summary(const SparseSimulate& a) {
  std::string out = fmt::format(
      "\ntime          {:.4f} ms; {} blocks of the array in {} tiles\nutilisation   {} % of the PEs' slots hold a kept "
      "pair\n",
      a.seconds * 1e3, cycles(a.sum.blocks), cycles(a.sum.tiles), percent(a.sum.utilization));
  const accelerator::Bytes& b = a.sum.bytes;
  out += fmt::format("DRAM          {} bytes: queries {}, keys {}, values {}, masks {}, blocks {}, outputs {}\n",
                     cycles(b.all()), cycles(b.queries), cycles(b.keys), cycles(b.values), cycles(b.masks),
                     cycles(b.blocks), cycles(b.outputs));
  out += fmt::format("energy        {:.4g} uJ, {:.3g} uJ of it leakage; {:.3g} W\n", a.price.energy_pj / 1e6,
                     a.price.leakage_pj / 1e6, a.seconds > 0 ? a.price.energy_pj * 1e-12 / a.seconds : 0);
  out += fmt::format("area          {:.2f} mm2 at {}\n", a.price.area_um2 / 1e6, a.choice.technology);
  out += beside_silicon(a);
  if (a.sum.max_relative_error)
    out += fmt::format(
        "error         {:.3g} % at most of the largest output, against double precision over the same pairs; {:.3g} % "
        "mean\n"
        "              {:.3g} % of the outputs' norm against dense attention, {:.3g} % of it by pruning\n",
        100 * *a.sum.max_relative_error, 100 * a.sum.mean_relative_error.value_or(0),
        100 * a.relative_error.value_or(0), 100 * a.pruning_error.value_or(0));
  else
    out += "error         none: a mask has no numbers (give --q, --k and --v)\n";
  return out;
}

std::string parts(const SparseSimulate& a) {
  Table table;
  table.header = {"part", "energy (uJ)", "leakage (uJ)", "area (mm2)", "origin"};
  table.left_columns = {4};
  // The largest of either; the rest in one line.
  constexpr double kShown = 0.005;
  PricedPart rest;
  std::vector<PricedPart> sorted = a.price.parts;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
    return x.energy_pj + x.leakage_pj > y.energy_pj + y.leakage_pj;
  });
  const auto row = [&](const PricedPart& p, const std::string& origin) {
    table.rows.push_back({p.name, fmt::format("{:.3f}", p.energy_pj / 1e6), fmt::format("{:.3f}", p.leakage_pj / 1e6),
                          fmt::format("{:.3f}", p.area_um2 / 1e6), origin});
  };
  int others = 0;
  for (const PricedPart& p : sorted) {
    if (p.energy_pj + p.leakage_pj >= kShown * a.price.energy_pj || p.area_um2 >= kShown * a.price.area_um2) {
      row(p, base::joined(p.basis, ", "));
      continue;
    }
    ++others;
    rest.energy_pj += p.energy_pj, rest.leakage_pj += p.leakage_pj, rest.area_um2 += p.area_um2;
  }
  rest.name = fmt::format("{} others", others);
  if (others > 0) row(rest, "see --json");
  std::string out = "\n" + text(table);
  for (const std::string& remark : verbs::array_price_remarks()) out += remark + "\n";
  return out;
}

std::string beside(const SparseSimulate& a) {
  if (a.lines.empty()) return "";
  Table table;
  table.header = {"ms", "Sanger's v1", "Sanger's v2", "simulated", "remark"};
  table.left_columns = {4};
  const auto ms = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  LatencyLine sum{"together", 0.0, 0.0, 0.0, "without projections"};
  for (const LatencyLine& line : a.lines) {
    table.rows.push_back({line.part, ms(line.v1_ms), ms(line.v2_ms), ms(line.simulated_ms), line.remark});
    *sum.v1_ms += line.v1_ms.value_or(0), *sum.v2_ms += line.v2_ms.value_or(0);
    *sum.simulated_ms += line.simulated_ms.value_or(0);
  }
  table.rules_before = {table.rows.size()};
  table.rows.push_back({sum.part, ms(sum.v1_ms), ms(sum.v2_ms), ms(sum.simulated_ms), sum.remark});
  std::string out = "\n" + text(table);
  out += fmt::format("-: left out; density {:.4f}, load balance {:.4f} (vectors of {} keys)\n", a.density,
                     a.shape->load_balance, a.shape->ports);
  if (a.whole)
    out += fmt::format(
        "whole layer   v1 {:.4f} ms, v2 {:.4f} ms: {:.4f} for Q, K and V at peak, {:.4f} for the output projection, "
        "which is\n"
        "              dense and would take {:.4f}; none of these is simulated\n",
        a.whole->v1_ms, a.whole->v2_ms, a.whole->projections_ms, a.whole->output_as_pruned_ms, a.whole->output_ms);
  return out;
}

}  // namespace

std::string sparse_simulate_table(const SparseSimulate& a) {
  std::string out = head(a) + phases(a) + summary(a) + parts(a) + beside(a);
  if (a.cpu)
    out +=
        fmt::format("\nthis machine  measured: dense attention {:.4f} ms, over the mask {:.4f} ms; {} thread{}, {}\n",
                    a.cpu->dense_ms, a.cpu->sparse_ms, a.cpu->threads, a.cpu->threads > 1 ? "s" : "", a.cpu->isa);
  out += "\n";
  for (const PublishedFigure& figure : verbs::published_speedups())
    out += fmt::format("published: {}: {:g} times faster ({})\n", figure.what, figure.value, figure.source);
  if (a.cases.size() > 1) {
    Table table;
    table.header = {"case", "kept (%)", "cycles", "util. (%)", "waits (%)", "error (%)"};
    for (const SimulatedCase& one : a.cases) {
      const accelerator::Simulation& run = one.of.run;
      const double all = static_cast<double>(run.cycles);
      table.rows.push_back(
          {one.name,
           percent(one.of.pairs > 0 ? static_cast<double>(one.of.kept) / static_cast<double>(one.of.pairs) : 0),
           cycles(run.cycles), percent(run.utilization),
           percent(all > 0 ? static_cast<double>(run.phases.waiting) / all : 0),
           run.max_relative_error ? fmt::format("{:.3g}", 100 * *run.max_relative_error) : "-"});
    }
    out += "\n" + text(table);
  }
  return out + "cycles are simulated; energies and areas are modelled, of published figures\n";
}

}  // namespace orrery::verbs
