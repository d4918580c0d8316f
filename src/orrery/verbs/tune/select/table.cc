#include "orrery/verbs/tune/select/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using tuning::ChosenOperator;

std::string ms(base::Count femtoseconds) {
  return fmt::format("{:.10g} ms", tuning::ms(femtoseconds));
}

std::string loss(const TunedSelection& answer, base::Count time) {
  if (!answer.selection) return {};
  const base::Count more = time - answer.selection->time;
  return more == 0 ? "the optimum"
                   : fmt::format("{:+.2f} %",
                                 100.0 * static_cast<double>(more) / static_cast<double>(answer.selection->time));
}

std::string operators_table(const TunedSelection& answer) {
  Table table;
  table.header = {"operator", "pass", answer.modelled ? "modelled ms" : "ms", "layouts", "fastest with"};
  table.left_columns = {1, 3, 4};
  bool backward = false;
  for (const ChosenOperator& one : answer.selection->operators) {
    if (one.backward != backward) table.rules_before.push_back(table.rows.size());
    backward = one.backward;
    const tuning::Operator& op = *answer.graph->find(one.name);
    std::vector<std::string> in, out, with;
    for (const tuning::Use& use : op.inputs)
      if (use.dims.size() > 1 && !use.overwritten)
        in.push_back(fmt::format("{} {}", use.variable, answer.layout(*answer.selection, use.variable)));
    for (const tuning::Use& use : op.outputs)
      if (use.dims.size() > 1)
        out.push_back(fmt::format("{} {}", use.variable, answer.layout(*answer.selection, use.variable)));
    for (const auto& [name, value] : one.specials)
      with.push_back(name == "Implementation" ? value : name + " " + value);
    table.rows.push_back({one.name, one.backward ? "backward" : "forward", fmt::format("{:.6f}", tuning::ms(one.time)),
                          fmt::format("{} -> {}", base::joined(in, ", "), base::joined(out, ", ")),
                          base::joined(with, ", ")});
  }
  return text(table);
}

std::string alternative_lines(const TunedSelection& answer, const Alternative& one) {
  if (!one.selection) {
    if (!one.proven) return fmt::format("{}: a limit ended the search\n", one.asked);
    return fmt::format("{}: impossible; {}: {}\n", one.asked,
                       one.missing.empty() ? "some operator has no row" : "no row, or none that agrees",
                       base::joined(one.missing, ", "));
  }
  std::string out = fmt::format("{}: {} ({}){}\n", one.asked, ms(one.selection->time),
                                loss(answer, one.selection->time), one.proven ? "" : ", not proven to be the best");
  for (std::size_t i = 0; answer.selection && i < one.selection->operators.size(); ++i)
    if (const base::Count more = one.selection->operators[i].time - answer.selection->operators[i].time; more != 0)
      out += fmt::format("  {:<12} {:+.6f} ms\n", one.selection->operators[i].name, tuning::ms(more));
  return out;
}

std::string relayout_lines(const TunedSelection& answer, const Conversions& with) {
  const std::string rate = fmt::format("with re-layouts at {:.5g} GB/s", with.bytes_per_s / 1e9);
  if (!with.selection)
    return fmt::format("{}: {}\n", rate, with.proven ? "nothing is allowed either" : "a limit ended the search");
  const std::string than = answer.selection ? fmt::format(" ({})", loss(answer, with.selection->time)) : "";
  std::string out = fmt::format("{}: {}{}{}, {} modelled transpositions\n", rate, ms(with.selection->time), than,
                                with.proven ? "" : ", not proven to be the best", with.selection->conversions.size());
  for (const tuning::LayoutConversion& one : with.selection->conversions)
    out += fmt::format("  {} for {}: {} -> {}, {}\n", one.variable, one.reader, one.from, one.to, ms(one.time));
  return out;
}

std::string modelled_line(const TunedSelection& answer) {
  const tuning::Sizes& s = answer.measurements->sizes;
  std::size_t rows = 0;
  for (const auto& [name, table] : answer.measurements->tables) rows += table.rows();
  return fmt::format(
      "all times are modelled: {} in {} by its roofline, layouts by assumed penalties; {} rows\n"
      "batch {}, sequence {}, width {}, {} heads of {}, network of {}\n",
      answer.modelled->machine, machine::name(answer.modelled->precision), rows, s['b'], s['j'], s['i'], s['h'], s['p'],
      s['u']);
}

std::string plan_lines(const LayerPlan& plan) {
  const double most = std::max(plan.built_in_ms, plan.layouts_ms);
  return fmt::format("fastest               {:.10g} ms: {}, {:.10g} ms ({:.1f} %) less than {}\n{}\n",
                     plan.predicted_ms(), plan.built_in() ? "the built-in layer" : "the layouts below",
                     most - plan.predicted_ms(), 100 * (most - plan.predicted_ms()) / most,
                     plan.built_in() ? "the best choice of layouts, below" : "the built-in layer",
                     plan.file.empty()
                         ? std::string()
                         : fmt::format("`tune run` trains by it from now on: written to {}\n", plan.file));
}

}  // namespace

std::string select_table(const TunedSelection& answer) {
  std::string out = answer.plan ? plan_lines(*answer.plan) : "";
  if (answer.selection) {
    out += operators_table(answer) + "\n";
    out += fmt::format("whole layer           {}, {}\n", ms(answer.selection->time),
                       answer.certificate.optimal
                           ? "proven to be the least of all layouts"
                           : fmt::format("at most {:.2f} % above the least", 100 * answer.certificate.gap));
  }
  out += fmt::format("without layouts       {}: every operator at its fastest\n", ms(answer.without_layouts));
  if (answer.arc_consistent > 0) out += fmt::format("with usable rows only {}\n", ms(answer.arc_consistent));
  for (const SelectMode& one : answer.modes)
    out += one.outcome.selection ? fmt::format("{:<21} {} ({})\n", one.name, ms(one.outcome.selection->time),
                                               loss(answer, one.outcome.selection->time))
                                 : fmt::format("{:<21} none: {}\n", one.name, one.outcome.reason);
  for (const Alternative& one : answer.why) out += "\n" + alternative_lines(answer, one);
  if (answer.evaluated) out += "\n" + alternative_lines(answer, *answer.evaluated);
  if (answer.conversions) out += "\n" + relayout_lines(answer, *answer.conversions);
  const tuning::Measurements& read = *answer.measurements;
  if (answer.modelled) return out + "\n" + modelled_line(answer);
  std::size_t lines = 0, failed = 0;
  for (const auto& [name, table] : read.tables) {
    lines += table.lines;
    failed += table.failed;
  }
  out += fmt::format("\n{} lines of {} files read{}; times are those that were measured\n", lines, read.inputs.size(),
                     failed > 0 ? fmt::format(", {} failed their verification and do not count", failed) : "");
  return out;
}

}  // namespace orrery::verbs
