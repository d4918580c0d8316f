// Errors are those of `validate train`, and of each kind of run the bound that two thirds of its held-out rows keep:
// what one standard deviation would be, without the assumption of a form. Rows of one source err alike, and a run that
// is predicted is of none of them; so the bound is at least what two thirds of the sources' rows keep where each source
// counts as much as any other, however many rows it has. One source says nothing of others: what all sources of its
// software keep together counts where that is more. How far a run is from the nearest measured one does not: of rows of
// sources left out, as many keep the bound far from the others' rows as near them (within the
// limits of expected_error.h).
#include "orrery/verbs/validate/error_kinds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

// What two thirds keep.
double two_thirds(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const std::size_t within = (2 * errors.size() + 2) / 3;
  return errors[std::max<std::size_t>(within, 1) - 1];
}

struct SourceError {
  std::string source;
  double percent = 0;
};

// What two thirds keep, every source counting as much as any other.
double two_thirds(std::vector<SourceError> errors) {
  std::map<std::string, double> rows;
  for (const SourceError& each : errors) ++rows[each.source];
  std::sort(errors.begin(), errors.end(),
            [](const SourceError& a, const SourceError& b) { return a.percent < b.percent; });
  constexpr double kRounding = 1e-9;
  const double wanted = 2.0 / 3 * static_cast<double>(rows.size()) - kRounding;
  double within = 0;
  for (const SourceError& each : errors) {
    within += 1 / rows[each.source];
    if (within >= wanted) return each.percent;
  }
  return errors.back().percent;
}

std::string line(const RunKind& kind) {
  return fmt::format("{},{},{},{}", kind.stack, kind.accelerator, kind.bits, kind.experts ? "yes" : "no");
}

}  // namespace

std::string source_of(const std::string& table) {
  return table.substr(0, table.find('_'));
}

std::vector<KindError> error_kinds(const std::vector<ValidatedSet>& sets) {
  std::map<std::string, std::pair<KindError, std::vector<double>>> by_kind;
  std::map<std::string, std::vector<SourceError>> with_source;  // by kind,
  std::map<std::pair<std::string, bool>, std::vector<SourceError>> by_software;
  for (const ValidatedSet& set : sets)
    for (const ValidatedPoint& point : set.points) {
      if (point.run.use != Use::kHeldOut) continue;
      auto& [of, errors] = by_kind[line(point.kind)];
      const RunSizes run = sizes_of(point.run.model, point.run.plan);
      if (errors.empty()) of = {point.kind, 0, 0, MeasuredSizes::none()};
      of.sizes.widen({{run.accelerators, run.accelerators},
                      {run.sequence, run.sequence},
                      {run.parameters, run.parameters},
                      {run.batch, run.batch},
                      {run.micro_batch, run.micro_batch},
                      {run.offloaded, run.offloaded}});
      errors.push_back(100 * std::abs(point.error));
      const SourceError one = {source_of(set.name), errors.back()};
      with_source[line(point.kind)].push_back(one);
      by_software[{point.kind.stack, point.kind.experts}].push_back(one);
    }
  std::vector<KindError> out;
  for (const auto& [name, of] : by_kind) {
    const RunKind& kind = of.first.kind;
    const std::vector<SourceError>& errors = with_source[name];
    std::set<std::string> sources;
    for (const SourceError& each : errors) sources.insert(each.source);
    double of_sources = two_thirds(errors);
    if (sources.size() == 1) of_sources = std::max(of_sources, two_thirds(by_software[{kind.stack, kind.experts}]));
    out.push_back({kind, of.second.size(), two_thirds(of.second), of.first.sizes, sources.size(), of_sources});
  }
  return out;
}

std::string error_kinds_text(const std::vector<KindError>& kinds) {
  std::string out =
      "# What two thirds of the held-out runs of a kind are predicted within, and two thirds where every source counts "
      "alike; a test makes it of `orrery validate train`.\n"
      "stack,accelerator,bits,experts,runs,percent,accelerators_least,accelerators_most,sequence_least,sequence_most,"
      "parameters_least,parameters_most,batch_least,batch_most,micro_batch_least,micro_batch_most,offloaded_least,"
      "offloaded_most,sources,percent_of_sources\n";
  for (const KindError& one : kinds)
    out += fmt::format("{},{},{:.1f},{},{},{},{},{:.4g},{:.4g},{},{},{},{},{},{},{},{:.1f}\n", line(one.kind), one.runs,
                       one.percent, one.sizes.accelerators.least, one.sizes.accelerators.most, one.sizes.sequence.least,
                       one.sizes.sequence.most, one.sizes.parameters.least, one.sizes.parameters.most,
                       one.sizes.batch.least, one.sizes.batch.most, one.sizes.micro_batch.least,
                       one.sizes.micro_batch.most, one.sizes.offloaded.least, one.sizes.offloaded.most, one.sources,
                       one.of_sources);
  return out;
}

}  // namespace orrery::verbs
