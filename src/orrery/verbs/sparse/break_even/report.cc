#include "orrery/verbs/sparse/break_even/report.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::string machine_line(const BreakEven& answer) {
  return fmt::format("{} x {} heads of {}, {}, {}, {}{}", answer.batch, answer.heads, answer.size, answer.dtype,
                     answer.isa, base::counted(answer.threads, "thread"),
                     answer.pytorch_version.empty() ? "" : ", PyTorch " + answer.pytorch_version);
}

}  // namespace

Document<BreakEven> break_even_document() {
  using P = BreakEvenPoint;
  using L = BreakEvenLine;
  const Record<P> point = {
      {"structure", "Structure of the mask: where the kept pairs lie.", &P::structure},
      {"tokens", "Queries of a head, and as many keys.", &P::tokens},
      {"wanted_density", "Share of the pairs that was asked for, 0 to 1.", &P::wanted},
      {"density", "Share of the pairs that was kept, 0 to 1.", &P::density},
      {"dense_ms", "Orrery's dense attention, median in milliseconds.", &P::dense_ms},
      {"pytorch_ms", "PyTorch's dense attention, median in milliseconds; null where it was not measured.",
       &P::pytorch_ms},
      {"predict_ms", "Part of `sparse_ms` that the prediction took, in milliseconds; 0 where nothing is predicted.",
       &P::predict_ms},
      {"sparse_ms", "Prediction and pruned attention, median in milliseconds.", &P::sparse_ms},
      {"speedup", "Pruned over Orrery's dense attention: the median of the ratios of paired runs.", &P::speedup},
      {"pytorch_speedup",
       "Pruned over PyTorch's dense attention: a ratio of medians; null where PyTorch was not measured.",
       &P::pytorch_speedup},
      {"pays", "Whether it is faster than every dense attention that was measured.", &P::pays}};
  const Record<L> line = {
      {"structure", "Structure of the mask: where the kept pairs lie.", &L::structure},
      {"tokens", "Queries of a head, and as many keys.", &L::tokens},
      {"density",
       "Density below which pruned attention is faster than dense; null where it is at none that was measured.",
       &L::density},
      {"beyond", "Whether it is faster at the largest density that was measured, which is then `density`.", &L::beyond},
      {"except", "Densities below `density` at which it was measured to be slower.", &L::except}};
  const Record<BreakEven> result = {
      {"points", "Measured points, by length, structure and density.", &BreakEven::points, point},
      {"break_even", "Density from which on pruned attention pays, by structure and length.", &BreakEven::lines, line},
      {"all", "Points that were asked for; fewer are listed where the run was stopped.", &BreakEven::all},
      {"batch", "Sequences of a batch.", &BreakEven::batch},
      {"heads", "Heads of each sequence.", &BreakEven::heads},
      {"size", "Elements of a head.", &BreakEven::size},
      {"dtype", "Number format of queries, keys and values.", &BreakEven::dtype, OneOf{{"fp32", "bf16"}}},
      {"isa", "Instruction set that the kernels used.", &BreakEven::isa},
      {"threads", "Threads that computed.", &BreakEven::threads},
      {"turns", "Paired runs of dense and pruned attention, one after the other.", &BreakEven::turns},
      {"pytorch", "Version of PyTorch; empty where it was not measured.", &BreakEven::pytorch_version},
      {"interrupted", "Whether an interrupt ended the run early.", &BreakEven::interrupted},
      {"out_of_time", "Whether the time limit ended the run early.", &BreakEven::out_of_time}};
  return {"sparse_break_even", "Times are measured on this machine, with random numbers.", result};
}

std::string break_even_table(const BreakEven& answer) {
  const bool pytorch = !answer.pytorch_version.empty();
  Table table;
  table.header = {"structure", "tokens", "density (%)", "dense (ms)", "sparse (ms)", "of it predicted", "speedup"};
  if (pytorch) table.header.insert(table.header.end(), {"PyTorch (ms)", "speedup"});
  table.header.emplace_back("pays");
  table.left_columns = {table.header.size() - 1};
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const BreakEvenPoint& p = answer.points[i];
    if (i > 0 && answer.points[i - 1].tokens != p.tokens) table.rules_before.push_back(i);
    table.rows.push_back({p.structure, std::to_string(p.tokens), percent(p.density), fmt::format("{:.3f}", p.dense_ms),
                          fmt::format("{:.3f}", p.sparse_ms), fmt::format("{:.3f}", p.predict_ms),
                          fmt::format("{:.2f}", p.speedup)});
    if (pytorch) {
      table.rows.back().push_back(p.pytorch_ms ? fmt::format("{:.3f}", *p.pytorch_ms) : "-");
      table.rows.back().push_back(p.pytorch_speedup ? fmt::format("{:.2f}", *p.pytorch_speedup) : "-");
    }
    table.rows.back().emplace_back(p.pays() ? "*" : "");
  }
  std::string out = machine_line(answer) + "\n\n" + text(table);
  Table lines;
  lines.header = {"structure", "tokens", "pays below density (%)"};
  for (const BreakEvenLine& line : answer.lines) {
    std::string below = !line.density ? "at none measured" : (line.beyond ? "beyond " : "") + percent(*line.density);
    for (const double density : line.except) below += ", not at " + percent(density);
    lines.rows.push_back({line.structure, std::to_string(line.tokens), std::move(below)});
  }
  out += "\n" + text(lines);
  if (answer.points.size() < answer.all)
    out += fmt::format("\nstopped: {} of {} points\n", answer.points.size(), answer.all);
  return out + "\n*: faster than every dense attention that was measured; times are measured, with random numbers\n";
}

}  // namespace orrery::verbs
