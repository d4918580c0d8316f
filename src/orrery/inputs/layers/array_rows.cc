#include "orrery/inputs/layers/array_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {
namespace {

using workload::CorePart;
using workload::Operator;

base::Count bound(const Operator& op, const char* dimension) {
  return op.einsum.dimensions[static_cast<std::size_t>(op.einsum.dimension_index(dimension))].bound;
}

// "window-KTQ-2" is "window-attention-2".
std::string row_name(std::string scores) {
  static const std::string kScores = "KTQ";
  const std::size_t at = scores.find(kScores);
  return at == std::string::npos ? scores : scores.replace(at, kScores.size(), "attention");
}

}  // namespace

std::vector<ArrayRow> take_attention(const std::string& model, const AttentionArray& array,
                                     std::vector<Operator>& operators) {
  base::Diagnostics found;
  std::vector<ArrayRow> rows;
  std::vector<Operator> rest;
  for (Operator& op : operators) {
    if (op.part == CorePart::kNone) {
      rest.push_back(std::move(op));
    } else if (op.part == CorePart::kScores) {
      check_heads(array, fmt::format("queries of `{}`", op.name), bound(op, "E"), found);
      ArrayRow row;
      row.name = row_name(op.name);
      row.instances = op.instances;
      row.queries = bound(op, "L"), row.keys = bound(op, "D");
      row.before = rest.size();
      rows.push_back(std::move(row));
    } else if (op.part == CorePart::kValues) {
      check_heads(array, fmt::format("values of `{}`", op.name), bound(op, "D"), found);
    }
  }
  if (rows.empty())
    found.error("O2010", fmt::format("`{}` has no attention that an array could do", model))
        .hint("leave `--attention-array` out");
  found.throw_if_errors();
  operators = std::move(rest);
  return rows;
}

double common_cycle_seconds(const std::vector<LayerQuestion>& questions) {
  const double cycle = questions.front().chip->cycle_seconds;
  for (const LayerQuestion& question : questions)
    if (const double other = question.chip->cycle_seconds; other != cycle)
      base::fail("O2012",
                 fmt::format("a cycle of the chip for `{}` takes {:g} ns, of that for `{}` {:g} ns, so the array's "
                             "seconds are not a number of cycles",
                             questions.front().name, 1e9 * cycle, question.name, 1e9 * other),
                 {}, "give both chips one `global_cycle_seconds`");
  return cycle;
}

void price(ArrayAttention& attention) {
  // A quotient that is a whole number but for rounding stays that number.
  constexpr double kRounding = 1e-12;
  for (ArrayRow& row : attention.rows) {
    const double scores = static_cast<double>(row.queries) * static_cast<double>(row.keys);
    row.seconds = attention.array.seconds_per_score * scores;
    row.energy_pj = 1e12 * attention.array.joules_per_score * scores;
    const double cycles = row.seconds / attention.cycle_seconds;
    const std::optional<base::Count> counted = base::whole_number(std::ceil(cycles * (1 - kRounding)));
    if (!counted)
      base::fail("O1004", fmt::format("the cycles of `{}` cannot be counted in 64 bits", row.name), {},
                 fmt::format("{:g} s of the array in cycles of {:g} s are {:g}; simulate a faster array, or map a "
                             "shorter sequence",
                             row.seconds, attention.cycle_seconds, cycles));
    row.cycles = std::max<base::Count>(1, *counted);
    row.edp_j_cycles = row.energy_pj * static_cast<double>(row.cycles) / 1e12;
  }
}

void warn_of_array(const ArrayAttention& attention, base::Diagnostics& warnings) {
  const AttentionArray& array = attention.array;
  base::Diagnostic& warning = warnings.warning(
      "O2011",
      fmt::format("attention has the figures of the array of `{}`, which are simulated, not proven least", array.name));
  for (const ArrayRow& row : attention.rows)
    note_lengths(array, fmt::format("`{}`", row.name), row.queries, row.keys, warning);
  warning.note(fmt::format(
      "a density of {:.4f} was simulated; the model's is taken to be the same, whether its mask is causal or not",
      array.density));
  warning.note(fmt::format(
      "the array's seconds are counted in cycles of the chip, {:g} ns each; the two work one after the other",
      1e9 * attention.cycle_seconds));
  warning.note(
      "energies add up as they are: the array's of the technology and widths that were simulated, the chip's of its "
      "own");
}

}  // namespace orrery::verbs
