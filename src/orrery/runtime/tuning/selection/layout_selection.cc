#include "orrery/runtime/tuning/selection/layout_selection.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

bool timed(const Operator& op) {
  return op.kind == Kind::kContraction || op.kind == Kind::kKernel;
}

std::size_t variable_index(const Graph& graph, std::string_view name) {
  const Variable* found = graph.variable(name);
  ORRERY_CHECK(found != nullptr, "an operator's tensors are variables of its graph");
  return static_cast<std::size_t>(found - graph.variables.data());
}

// Letters of `layout`, which are those of `from`, as `to` has them at the same places.
std::string renamed(const std::string& layout, const std::string& from, const std::string& to) {
  std::string out = layout;
  for (char& c : out) {
    const std::size_t at = from.find(c);
    if (at < to.size()) c = to[at];
  }
  return out;
}

// Classes numbered by their first variable.
std::vector<int> close_equalities(const Graph& graph) {
  std::vector<std::size_t> parent(graph.variables.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t v) {
    while (parent[v] != v) v = parent[v];
    return v;
  };
  for (const auto& [a, b] : graph.equal) {
    const std::size_t x = root(variable_index(graph, a)), y = root(variable_index(graph, b));
    parent[std::max(x, y)] = std::min(x, y);
  }
  std::vector<int> number(parent.size(), -1), out;
  int next = 0;
  for (std::size_t v = 0; v < parent.size(); ++v) {
    int& known = number[root(v)];
    if (known < 0) known = next++;
    out.push_back(known);
  }
  return out;
}

// A use of a variable, as columns of the operator's table; the layouts by the column's numbers.
struct Seen {
  int class_id = 0;
  std::size_t column = 0;
  std::vector<std::string> layouts;
  std::vector<std::uint16_t> numbers;  // in the class
};

std::vector<Seen> uses_of(const Graph& graph, const Operator& op, const Measured& table,
                          const std::vector<int>& class_of) {
  std::vector<Seen> out;
  for (const auto* uses : {&op.inputs, &op.outputs})
    for (const Use& use : *uses) {
      std::string wanted = use.column;
      for (char& c : wanted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      const auto column =
          std::find_if(table.columns.begin(), table.columns.end(), [&](const Named& n) { return n.name == wanted; });
      ORRERY_CHECK(column != table.columns.end(), "a table has the columns that its operators need");
      const std::size_t variable = variable_index(graph, use.variable);
      Seen seen{class_of[variable], static_cast<std::size_t>(column - table.columns.begin()), {}, {}};
      for (const std::string& layout : column->values)
        seen.layouts.push_back(renamed(layout, use.dims, graph.variables[variable].dims));
      out.push_back(std::move(seen));
    }
  return out;
}

struct Keyed {
  std::uint64_t key;  // of the layouts
  base::Count time;
  std::uint32_t row;
};

// Of two rows of one time, by what they say, so that the order of lines says nothing.
bool earlier(const Measured& table, std::uint32_t a, std::uint32_t b) {
  const std::size_t width = table.specials.size();
  for (std::size_t i = 0; i < width; ++i) {
    const std::string& x = table.specials[i].values[table.chosen[a * width + i]];
    const std::string& y = table.specials[i].values[table.chosen[b * width + i]];
    if (x != y) return x < y;
  }
  return a < b;
}

// Of rows with the same layouts the fastest, of equals the one whose other choices come first in the alphabet.
void fill(const Measured& table, const std::vector<Seen>& uses, const std::vector<int>& domains, Factor& factor,
          std::vector<std::uint32_t>& rows) {
  std::vector<std::size_t> first, brought;  // the use that brings each variable; of each use its variable
  for (std::size_t u = 0; u < uses.size(); ++u) {
    const auto at = std::find(factor.variables.begin(), factor.variables.end(), uses[u].class_id);
    brought.push_back(static_cast<std::size_t>(at - factor.variables.begin()));
    if (at != factor.variables.end()) continue;
    factor.variables.push_back(uses[u].class_id);
    first.push_back(u);
  }
  std::vector<std::uint64_t> strides(first.size());
  std::uint64_t all = 1;
  for (std::size_t i = 0; i < first.size(); ++i) {
    strides[i] = all;
    // A variable of tables without rows has no layout.
    const auto size = static_cast<std::uint64_t>(std::max(1, domains[static_cast<std::size_t>(factor.variables[i])]));
    ORRERY_CHECK(all <= (std::uint64_t{1} << 62) / size, "rows of a table are numbered in 64 bits");
    all *= size;
  }
  const std::size_t width = table.columns.size();
  std::vector<Keyed> found;
  std::vector<std::uint32_t> least;  // by key, 1 + the row's place in `found`, where there are few keys
  const bool flat = all <= std::max<std::uint64_t>(1 << 20, 4 * table.rows());
  if (flat) least.resize(all);
  const auto less = [&](const Keyed& a, const Keyed& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.time != b.time ? a.time < b.time : earlier(table, a.row, b.row);
  };
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::uint16_t* const row = table.layouts.data() + r * width;
    Keyed one{0, table.times[r], static_cast<std::uint32_t>(r)};
    bool agrees = true;
    for (std::size_t u = 0; u < uses.size() && agrees; ++u) {
      const std::uint16_t number = uses[u].numbers[row[uses[u].column]];
      if (first[brought[u]] == u)
        one.key += strides[brought[u]] * number;
      else
        agrees = number == uses[first[brought[u]]].numbers[row[uses[first[brought[u]]].column]];
    }
    if (!agrees) continue;
    std::uint32_t* const known = flat ? &least[one.key] : nullptr;
    if (known == nullptr || *known == 0) {
      found.push_back(one);
      if (known != nullptr) *known = static_cast<std::uint32_t>(found.size());
    } else if (less(one, found[*known - 1])) {
      found[*known - 1] = one;
    }
  }
  std::sort(found.begin(), found.end(), less);
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (at > 0 && found[at].key == found[at - 1].key) continue;
    const std::uint32_t r = found[at].row;
    for (const std::size_t u : first)
      factor.values.push_back(uses[u].numbers[table.layouts[r * width + uses[u].column]]);
    factor.costs.push_back(table.times[r]);
    rows.push_back(r);
  }
}

// The stack has the layout q+L, queries L, keys and values L with k for j: rows are these.
void tie_parts(const Graph& graph, const Operator& op, const Problem& problem, Factor& factor) {
  const bool split = op.kind == Kind::kSplit;
  const std::string& stack = (split ? op.inputs : op.outputs).front().variable;
  std::vector<std::string> parts;
  for (const Use& use : split ? op.outputs : op.inputs) parts.push_back(use.variable);
  const std::size_t stacked = variable_index(graph, stack);
  factor.variables.push_back(problem.class_of[stacked]);
  for (const std::string& part : parts) factor.variables.push_back(problem.class_of[variable_index(graph, part)]);
  for (const std::string& layout : problem.layouts[static_cast<std::size_t>(factor.variables[0])]) {
    if (layout.empty() || layout[0] != 'q') continue;
    std::vector<std::uint16_t> row{static_cast<std::uint16_t>(problem.layout_number(factor.variables[0], layout))};
    bool known = true;
    for (const std::string& part : parts) {
      const std::size_t variable = variable_index(graph, part);
      std::string wanted = layout.substr(1);
      if (graph.variables[variable].dims.find('k') != std::string::npos)
        std::replace(wanted.begin(), wanted.end(), 'j', 'k');
      const int number = problem.layout_number(problem.class_of[variable], wanted);
      known = known && number >= 0;
      row.push_back(static_cast<std::uint16_t>(std::max(0, number)));
    }
    if (!known) continue;
    factor.values.insert(factor.values.end(), row.begin(), row.end());
    factor.costs.push_back(0);
  }
}

}  // namespace

int Problem::class_named(std::string_view variable) const {
  const Variable* found = graph->variable(variable);
  return found == nullptr ? -1 : class_of[static_cast<std::size_t>(found - graph->variables.data())];
}

std::string Problem::name(int class_id) const {
  std::string out;
  for (std::size_t v = 0; v < class_of.size(); ++v)
    if (class_of[v] == class_id) out += (out.empty() ? "" : "=") + graph->variables[v].name;
  return out;
}

int Problem::layout_number(int class_id, std::string_view layout) const {
  const std::vector<std::string>& all = layouts[static_cast<std::size_t>(class_id)];
  const auto at = std::lower_bound(all.begin(), all.end(), layout);
  return at != all.end() && *at == layout ? static_cast<int>(at - all.begin()) : -1;
}

std::vector<SpecialChoice> Problem::specials(std::size_t factor, std::size_t row) const {
  const Measured& table = measurements->tables.find(graph->operators[factor].benchmark())->second;
  std::vector<SpecialChoice> out;
  const std::size_t r = measured_row[factor][row], width = table.specials.size();
  for (std::size_t i = 0; i < width; ++i)
    out.emplace_back(graph->operators[factor].specials[i].name, table.specials[i].values[table.chosen[r * width + i]]);
  return out;
}

Problem make_problem(const Graph& graph, const Measurements& measurements) {
  Problem out{&graph, &measurements, close_equalities(graph), {}, {}, {}};
  const auto classes = static_cast<std::size_t>(*std::max_element(out.class_of.begin(), out.class_of.end())) + 1;
  std::vector<std::set<std::string>> met(classes);
  std::vector<std::vector<Seen>> uses(graph.operators.size());
  for (std::size_t f = 0; f < graph.operators.size(); ++f) {
    const Operator& op = graph.operators[f];
    if (!timed(op)) continue;
    uses[f] = uses_of(graph, op, measurements.tables.find(op.benchmark())->second, out.class_of);
    for (const Seen& seen : uses[f])
      met[static_cast<std::size_t>(seen.class_id)].insert(seen.layouts.begin(), seen.layouts.end());
  }
  for (const std::set<std::string>& one : met) {
    out.layouts.emplace_back(one.begin(), one.end());
    out.factors.domains.push_back(static_cast<int>(one.size()));
  }
  out.measured_row.resize(graph.operators.size());
  for (std::size_t f = 0; f < graph.operators.size(); ++f) {
    const Operator& op = graph.operators[f];
    Factor factor{op.name, {}, {}, {}};
    if (timed(op)) {
      for (Seen& seen : uses[f])
        for (const std::string& layout : seen.layouts)
          seen.numbers.push_back(static_cast<std::uint16_t>(out.layout_number(seen.class_id, layout)));
      fill(measurements.tables.find(op.benchmark())->second, uses[f], out.factors.domains, factor, out.measured_row[f]);
    } else {
      tie_parts(graph, op, out, factor);
    }
    out.factors.factors.push_back(std::move(factor));
  }
  return out;
}

std::optional<Selection> evaluate(const Problem& problem, const std::vector<int>& classes, std::vector<int>* missing) {
  const Priced priced = price(problem.factors, classes);
  Selection out{classes, priced.cost, {}};
  for (std::size_t f = 0; f < priced.rows.size(); ++f) {
    const Operator& op = problem.graph->operators[f];
    if (priced.rows[f] < 0) {
      if (missing != nullptr) missing->push_back(static_cast<int>(f));
    } else if (timed(op)) {
      const auto row = static_cast<std::size_t>(priced.rows[f]);
      out.operators.push_back({op.name, op.backward, problem.factors.factors[f].costs[row], problem.specials(f, row)});
    }
  }
  return priced.allowed ? std::optional(std::move(out)) : std::nullopt;
}

base::Count without_layouts(const Problem& problem) {
  base::Count out = 0;
  for (const Factor& factor : problem.factors.factors)
    if (factor.rows() > 0) out += *std::min_element(factor.costs.begin(), factor.costs.end());
  return out;
}

FactorGraph direction(const Problem& problem, bool backward) {
  FactorGraph out{problem.factors.domains, {}};
  for (std::size_t f = 0; f < problem.factors.factors.size(); ++f)
    if (problem.graph->operators[f].backward == backward) out.factors.push_back(problem.factors.factors[f]);
  return out;
}

}  // namespace orrery::tuning
