#include "orrery/runtime/tuning/selection/layout_conversion.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::tuning {
namespace {

bool is_timed(const Operator& op) {
  return op.kind == Kind::kContraction || op.kind == Kind::kKernel;
}

bool is_made(const Graph& graph, const std::string& variable) {
  for (const Operator& op : graph.operators)
    for (const Use& use : op.outputs)
      if (use.variable == variable) return true;
  return false;
}

// What `op` reads and may read in another layout: its only use of a class.
std::vector<std::string> movable(const Problem& problem, const Operator& op) {
  std::vector<std::string> out;
  if (!is_timed(op)) return out;
  for (const Use& use : op.inputs) {
    const int class_id = problem.class_named(use.variable);
    std::size_t uses = 0;
    for (const auto* all : {&op.inputs, &op.outputs})
      for (const Use& other : *all) uses += problem.class_named(other.variable) == class_id ? 1 : 0;
    if (uses == 1 && !use.overwritten && is_made(*problem.graph, use.variable)) out.push_back(use.variable);
  }
  return out;
}

const std::string& dims_of(const Problem& problem, const std::string& variable) {
  return problem.graph->variable(variable)->dims;
}

// Positions of keys are those of queries, and the stack has three parts, whatever the files tell.
base::Count size_of(const Problem& problem, char letter) {
  const Sizes& told = problem.measurements->sizes;
  if (letter == 'q') return 3;
  if (letter == 'k' && told['k'] == 0) return told['j'];
  return told[letter];
}

base::Count transposition(const Problem& problem, const std::string& variable, double bytes_per_s,
                          double bytes_per_word) {
  double bytes = 2 * bytes_per_word;
  for (const char letter : dims_of(problem, variable)) bytes *= static_cast<double>(size_of(problem, letter));
  return std::min(kMostCost, base::saturated(std::ceil(bytes / bytes_per_s * kPerSecond)));
}

}  // namespace

std::string sizes_untold(const Problem& problem) {
  std::string out;
  for (const Operator& op : problem.graph->operators)
    for (const std::string& variable : movable(problem, op))
      for (const char letter : dims_of(problem, variable))
        if (size_of(problem, letter) <= 0 && out.find(letter) == std::string::npos) out += letter;
  return out;
}

ConversionProblem with_conversions(const Problem& problem, double bytes_per_s, double bytes_per_word) {
  ConversionProblem out{problem.factors, {}};
  for (std::size_t f = 0; f < problem.graph->operators.size(); ++f) {
    for (const std::string& variable : movable(problem, problem.graph->operators[f])) {
      const int class_id = problem.class_named(variable);
      const int layouts = out.factors.domains[static_cast<std::size_t>(class_id)];
      if (layouts < 2) continue;
      const int own = static_cast<int>(out.factors.domains.size());
      out.factors.domains.push_back(layouts);
      std::vector<int>& columns = out.factors.factors[f].variables;
      *std::find(columns.begin(), columns.end(), class_id) = own;
      const base::Count cost = transposition(problem, variable, bytes_per_s, bytes_per_word);
      Factor tie{"re-layout of " + variable, {class_id, own}, {}, {}};
      for (int from = 0; from < layouts; ++from)
        for (int to = 0; to < layouts; ++to) {
          tie.values.push_back(static_cast<std::uint16_t>(from));
          tie.values.push_back(static_cast<std::uint16_t>(to));
          tie.costs.push_back(from == to ? 0 : cost);
        }
      out.factors.factors.push_back(std::move(tie));
      out.edges.push_back({static_cast<int>(f), class_id, own, variable, cost});
    }
  }
  return out;
}

std::optional<ConversionSelection> evaluate(const Problem& problem, const ConversionProblem& with,
                                            const std::vector<int>& values) {
  const Priced priced = price(with.factors, values);
  if (!priced.allowed) return std::nullopt;
  const auto& operators = problem.graph->operators;
  ConversionSelection out{
      {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(problem.layouts.size())}, priced.cost, {}, {}};
  for (std::size_t f = 0; f < operators.size(); ++f)
    if (is_timed(operators[f])) {
      const auto row = static_cast<std::size_t>(priced.rows[f]);
      out.operators.push_back(
          {operators[f].name, operators[f].backward, with.factors.factors[f].costs[row], problem.specials(f, row)});
    }
  for (const ConversionEdge& edge : with.edges) {
    const std::vector<std::string>& layouts = problem.layouts[static_cast<std::size_t>(edge.class_id)];
    const auto from = static_cast<std::size_t>(values[static_cast<std::size_t>(edge.class_id)]);
    const auto to = static_cast<std::size_t>(values[static_cast<std::size_t>(edge.own)]);
    if (from != to)
      out.conversions.push_back({operators[static_cast<std::size_t>(edge.factor)].name, edge.variable, layouts[from],
                                 layouts[to], edge.cost});
  }
  return out;
}

}  // namespace orrery::tuning
