#include "orrery/verbs/validate/collectives_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/present/text_table.h"
#include "orrery/verbs/validate/error_summary_text.h"

namespace orrery::verbs {
namespace {

// "32 KiB", "8 GiB": sizes of buffers are powers of two, or nearly.
std::string buffer_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

}  // namespace

std::string collectives_summary(const std::vector<ValidatedCollectives>& sets) {
  Table table;
  table.header = {"set",        "held out",   "mean |e| %",
                  "median",     "bias",       "worst",
                  "fitted",     "mean |e| %", "held out, 256 MiB and more",
                  "mean |e| %", "bias"};
  for (const ValidatedCollectives& set : sets) {
    const ErrorSummary &held = set.held_out, &large = set.large;
    table.rows.push_back({set.name, std::to_string(held.points), plain_percent(held.mean_absolute),
                          plain_percent(held.median_absolute), signed_percent(held.bias), plain_percent(held.worst),
                          std::to_string(set.fitted.points),
                          set.fitted.points > 0 ? plain_percent(set.fitted.mean_absolute) : "-",
                          std::to_string(large.points), large.points > 0 ? plain_percent(large.mean_absolute) : "-",
                          large.points > 0 ? signed_percent(large.bias) : "-"});
  }
  return text(table);
}

std::string collectives_points(const ValidatedCollectives& set, std::size_t most) {
  std::vector<const ValidatedCollective*> points;
  for (const ValidatedCollective& point : set.points) points.push_back(&point);
  const bool cut = most > 0 && most < points.size();
  if (cut) {
    std::stable_sort(points.begin(), points.end(),
                     [](const auto* a, const auto* b) { return std::abs(a->error) > std::abs(b->error); });
    points.resize(most);
  }
  Table table;
  table.header = {"error %",   "measured", "predicted", "bytes", "ranks",
                  "operation", "system",   "algorithm", "use",   "note"};
  table.left_columns = {5, 6, 7, 8, 9};
  for (const ValidatedCollective* point : points)
    table.rows.push_back({signed_percent(point->error), shown_seconds(point->measured_s),
                          shown_seconds(point->predicted_s), buffer_text(point->bytes), std::to_string(point->ranks),
                          std::string(verbs::name(point->operation)), point->system, point->algorithm,
                          std::string(verbs::name(point->use)), point->note});
  std::string result = fmt::format("{}\n{}", set.title, text(table));
  if (cut) result += fmt::format("... and {} nearer ones (--all shows them)\n", set.points.size() - most);
  return result;
}

Document<std::vector<ValidatedCollectives>> validate_collectives_document() {
  using P = ValidatedCollective;
  using Set = ValidatedCollectives;
  const Record<P> point = {
      {"system", "Name of the system.", &P::system},
      {"use", "`held-out`: no constant has seen it; `fitted`: one was fitted on it; `unverified`: never counted.",
       [](const P& p) { return verbs::name(p.use); }, OneOf{{"held-out", "fitted", "unverified"}}},
      {"operation", "Collective operation.", [](const P& p) { return verbs::name(p.operation); },
       OneOf{{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "point-to-point"}}},
      {"ranks", "Accelerators of the group.", [](const P& p) { return static_cast<base::Count>(p.ranks); }},
      {"bytes", "Bytes of the buffer; of an all-gather, of the result.", &P::bytes},
      {"measured_s", "Measured time of one operation, in seconds.", &P::measured_s},
      {"predicted_s", "Predicted time of one operation, in seconds.", &P::predicted_s},
      {"error_percent", "Predicted over measured, less 1, in percent.", [](const P& p) { return 100 * p.error; }},
      {"algorithm",
       "Algorithm that the library was told to use or reported; empty: not known, so the fastest is assumed.",
       &P::algorithm, OneOf{{"", "ring", "switch"}}},
      {"note", "Remarks on the row.", &P::note}};
  const Record<Set> set = {{"name", "Name of the table.", &Set::name},
                           {"title", "Title of the table, in one line.", &Set::title},
                           {"source", "Where the measurements come from.", &Set::source},
                           {"licence", "Licence of the measurements.", &Set::licence},
                           {"held_out", "Errors on rows that no constant has seen.", &Set::held_out, error_summary()},
                           {"fitted", "Errors on rows that constants were fitted on.", &Set::fitted, error_summary()},
                           {"large", "Errors on the held-out rows of 256 MiB and more.", &Set::large, error_summary()},
                           {"points", "Rows of the table.", &Set::points, point}};
  return {"validate_collectives", "Predictions and measurements of every row.",
          Record<std::vector<Set>>{{"sets", "Tables, by name.", std::identity(), set}}};
}

}  // namespace orrery::verbs
