#include "orrery/verbs/accelerator/break_even/report.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::string machine_line(const BreakEven& answer) {
  return fmt::format("{} x {} heads of {}, {}, {}, {}{}", answer.batch, answer.heads, answer.size, answer.dtype,
                     answer.isa, answer.threads == 1 ? "1 thread" : fmt::format("{} threads", answer.threads),
                     answer.pytorch_version.empty() ? "" : ", PyTorch " + answer.pytorch_version);
}

}  // namespace

Document<BreakEven> break_even_document() {
  using P = BreakEvenPoint;
  using L = BreakEvenLine;
  const Record<P> point = {
      {"structure", "Of what is kept.", &P::structure},
      {"tokens", "Queries, and keys.", &P::tokens},
      {"wanted_density", "Of the request.", &P::wanted},
      {"density", "Share of the pairs that was kept.", &P::density},
      {"dense_ms", "Orrery's dense attention; a median.", &P::dense_ms},
      {"pytorch_ms", "PyTorch's; a median; null: not measured.", &P::pytorch_ms},
      {"predict_ms", "Of sparse_ms, the prediction; 0: there is none.", &P::predict_ms},
      {"sparse_ms", "Prediction and pruned attention; a median.", &P::sparse_ms},
      {"speedup", "Over Orrery's dense attention: the median of the turns' ratios.", &P::speedup},
      {"pytorch_speedup", "Over PyTorch's: a ratio of medians; null as above.", &P::pytorch_speedup},
      {"pays", "Faster than every dense attention that was measured.", &P::pays}};
  const Record<L> line = {
      {"structure", "As above.", &L::structure},
      {"tokens", "As above.", &L::tokens},
      {"density", "Below which sparse is faster than dense; null: at none that was measured.", &L::density},
      {"beyond", "It is faster at every density that was measured; `density` is the largest.", &L::beyond}};
  const Record<BreakEven> result = {
      {"points", "By length, structure and density.", &BreakEven::points, point},
      {"break_even", "Where sparse begins to pay.", &BreakEven::lines, line},
      {"all", "How many points there would be; fewer are listed when it was stopped.", &BreakEven::all},
      {"batch", "Sequences.", &BreakEven::batch},
      {"heads", "Of each.", &BreakEven::heads},
      {"size", "Elements of a head.", &BreakEven::size},
      {"dtype", "Of queries, keys and values.", &BreakEven::dtype, OneOf{{"fp32", "bf16"}}},
      {"isa", "Instruction set.", &BreakEven::isa},
      {"threads", "That computed.", &BreakEven::threads},
      {"turns", "Of dense and sparse, one after the other.", &BreakEven::turns},
      {"pytorch", "Its version; empty: it was not measured.", &BreakEven::pytorch_version},
      {"interrupted", "It was told to stop.", &BreakEven::interrupted},
      {"out_of_time", "Its time was up.", &BreakEven::out_of_time}};
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
  for (const BreakEvenLine& line : answer.lines)
    lines.rows.push_back({line.structure, std::to_string(line.tokens),
                          !line.density ? "never" : (line.beyond ? "beyond " : "") + percent(*line.density)});
  out += "\n" + text(lines);
  if (answer.points.size() < answer.all)
    out += fmt::format("\nstopped: {} of {} points\n", answer.points.size(), answer.all);
  return out + "\n*: faster than every dense attention that was measured; times are measured, with random numbers\n";
}

}  // namespace orrery::verbs
