// Errors are those of `validate train`, and of each kind of run the bound that two thirds of its held-out rows keep:
// what one standard deviation would be, without the assumption of a form. Rows of one source err alike, and a run that
// is predicted is of none of them; so the bound is at least what two thirds of the sources' rows keep where each source
// counts as much as any other, however many rows it has. One source says nothing of others: what all sources of its
// software keep together counts where that is more. How far a run is from the nearest measured one does not: of rows of
// sources left out, as many keep the bound far from the others' rows as near them (within the limits below).
//
// A kind with few rows borrows those of its
// software on other accelerators, or in other precisions, if any ran on its own; the widest of them counts, since
// nothing says which is nearest. Of a run beyond what
// was measured nothing is said: within a factor of two of the measured ranges errors of the rows do not grow, and
// further out there is no row to tell. Computed when constants change and kept in the catalogue, so that a prediction
// costs one small file. Cost: linear in the rows.
#include "orrery/verbs/validate/expected_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

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

std::string in_words(const RunKind& kind, bool whole) {
  std::string out = kind.stack;
  if (whole) out += fmt::format(" on {} in {} bits", kind.accelerator, kind.bits);
  return out + (kind.experts ? ", with experts" : "");
}

void widen(Span& span, double least, double most) {
  span.least = std::min(span.least, least);
  span.most = std::max(span.most, most);
}

void widen(MeasuredSizes& sizes, const MeasuredSizes& by) {
  widen(sizes.accelerators, by.accelerators.least, by.accelerators.most);
  widen(sizes.sequence, by.sequence.least, by.sequence.most);
  widen(sizes.parameters, by.parameters.least, by.parameters.most);
}

// Nothing yet.
constexpr Span kNone = {std::numeric_limits<double>::infinity(), 0};

bool near(const Span& span, double value) {
  return value >= span.least / kNear && value <= span.most * kNear;
}

// Why a run is not near, or nothing.
std::string far(const MeasuredSizes& sizes, const RunSizes& run) {
  std::string out;
  const auto tell = [&](const Span& span, double value, double unit, const char* what) {
    if (near(span, value)) return;
    const auto plain = [unit](double size) {
      return size / unit < 1000 ? fmt::format("{:.3g}", size / unit) : fmt::format("{:.0f}", size / unit);
    };
    const std::string least = plain(span.least), most = plain(span.most);
    out += fmt::format("{}{} {}, where {}", out.empty() ? "" : "; ", plain(value), what,
                       least == most ? most + " were" : least + " to " + most + " were");
  };
  tell(sizes.accelerators, run.accelerators, 1, "accelerators");
  tell(sizes.sequence, run.sequence, 1, run.sequence == 1 ? "token a sequence" : "tokens a sequence");
  tell(sizes.parameters, run.parameters, 1e9, "B parameters");
  return out;
}

// What was measured of a kind, or of its software where that is too little.
struct Alike {
  KindError error;
  bool same = false;
};

std::optional<Alike> alike(const std::vector<KindError>& kinds, const RunKind& kind) {
  Alike wide;
  wide.error.sizes = {kNone, kNone, kNone};
  bool as_few_bits = false, same_accelerator = false;
  for (const KindError& one : kinds) {
    if (one.kind == kind && one.runs >= kLeastRuns) return Alike{one, true};
    if (one.kind.stack != kind.stack || one.kind.experts != kind.experts) continue;
    as_few_bits |= one.kind.bits <= kind.bits;
    same_accelerator |= one.kind.accelerator == kind.accelerator;
    wide.error.percent = std::max(wide.error.percent, one.stated());
    wide.error.runs += one.runs;
    widen(wide.error.sizes, one.sizes);
  }
  // Runs in more bits say nothing of the work that fewer bits bring, nor those in 16 of products in 32; and of an
  // accelerator on which none of this software ran nobody knows whether its data sheet keeps its promise.
  if (wide.error.runs < kLeastRuns || !as_few_bits || !same_accelerator || kind.bits > 16) return std::nullopt;
  return wide;
}

}  // namespace

std::string source_of(const std::string& table) {
  return table.substr(0, table.find('_'));
}

RunSizes sizes_of(const cluster::Model& model, const cluster::Plan& plan) {
  return {static_cast<double>(plan.gpus), static_cast<double>(model.seq), cluster::parameters(model)};
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
      if (errors.empty()) of = {point.kind, 0, 0, {kNone, kNone, kNone}};
      widen(of.sizes,
            {{run.accelerators, run.accelerators}, {run.sequence, run.sequence}, {run.parameters, run.parameters}});
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
      "parameters_least,parameters_most,sources,percent_of_sources\n";
  for (const KindError& one : kinds)
    out += fmt::format("{},{},{:.1f},{},{},{},{},{:.4g},{:.4g},{},{:.1f}\n", line(one.kind), one.runs, one.percent,
                       one.sizes.accelerators.least, one.sizes.accelerators.most, one.sizes.sequence.least,
                       one.sizes.sequence.most, one.sizes.parameters.least, one.sizes.parameters.most, one.sources,
                       one.of_sources);
  return out;
}

std::vector<KindError> read_error_kinds(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / "validation/expected/kinds.csv").string();
  base::Diagnostics found;
  const formats::csv::Document document =
      formats::csv::parse(formats::yaml::read_file(path), formats::csv::Comments::kHash, found);
  std::vector<KindError> out;
  for (std::size_t i = 1; i < document.rows.size(); ++i) {
    const auto& cells = document.rows[i].cells;
    const auto span = [&](std::size_t at) {
      return Span{std::stod(cells.at(at).text), std::stod(cells.at(at + 1).text)};
    };
    try {
      out.push_back({{cells.at(0).text, cells.at(1).text, std::stoi(cells.at(2).text), cells.at(3).text == "yes"},
                     std::stoul(cells.at(4).text),
                     std::stod(cells.at(5).text),
                     {span(6), span(8), span(10)},
                     std::stoul(cells.at(12).text),
                     std::stod(cells.at(13).text)});
    } catch (const std::exception&) {
      found.error(
          "O1358",
          "a kind of runs is a row of fourteen cells: the kind, runs, per cent, what was measured, sources, and their "
          "per cent",
          document.place(document.rows[i]));
    }
  }
  found.throw_if_errors();
  return out;
}

std::string unmeasured(const std::vector<KindError>& kinds, const RunKind& kind, const RunSizes& run) {
  const std::string like = in_words(kind, true);
  if (const std::optional<Alike> of = alike(kinds, kind))
    return fmt::format("no measured run is near: {} ({})", far(of->error.sizes, run),
                       of->same ? like : in_words(kind, false));
  for (const KindError& one : kinds)
    if (one.kind == kind)
      return fmt::format("{} like this one {} measured, too few to say: {}, {:.1f} % off",
                         one.runs == 1 ? "one run" : fmt::format("{} runs", one.runs),
                         base::plural(one.runs, "was", "were"), like, one.percent);
  return fmt::format("no runs like this one were measured: {}", like);
}

std::optional<ExpectedError> expected_error(const std::vector<KindError>& kinds, const RunKind& kind,
                                            const RunSizes& run) {
  const std::optional<Alike> of = alike(kinds, kind);
  if (!of || !far(of->error.sizes, run).empty()) return std::nullopt;
  return ExpectedError{of->error.stated(), of->error.runs,
                       of->same ? in_words(kind, true) : in_words(kind, false) + ", other accelerators or precisions"};
}

}  // namespace orrery::verbs
