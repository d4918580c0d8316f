// Errors are those of `validate train`, and of each kind of run the bound that two thirds of its held-out rows keep:
// what one standard deviation would be, without the assumption of a form. A kind with few rows borrows those of its
// software on other accelerators; the widest of them counts, since nothing says which is nearest. Computed when
// constants change and kept in the catalogue, so that a prediction costs one small file. Cost: linear in the rows.
#include "orrery/scenario/expected_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::scenario {
namespace {

// What two thirds keep.
double two_thirds(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const std::size_t within = (2 * errors.size() + 2) / 3;
  return errors[std::max<std::size_t>(within, 1) - 1];
}

std::string line(const RunKind& kind) {
  return fmt::format("{},{},{},{}", kind.stack, kind.accelerator, kind.bits, kind.experts ? "yes" : "no");
}

std::string in_words(const RunKind& kind, bool whole) {
  std::string out = kind.stack;
  if (whole)
    out +=
        fmt::format(" on {} in {} bits", kind.accelerator, kind.bits < 16 ? std::to_string(kind.bits) : "16 or more");
  return out + (kind.experts ? ", with experts" : "");
}

}  // namespace

std::vector<KindError> error_kinds(const std::vector<ValidatedSet>& sets) {
  std::map<std::string, std::pair<RunKind, std::vector<double>>> by_kind;
  for (const ValidatedSet& set : sets)
    for (const ValidatedPoint& point : set.points) {
      if (point.run.use != Use::kHeldOut) continue;
      auto& [kind, errors] = by_kind[line(point.kind)];
      kind = point.kind;
      errors.push_back(100 * std::abs(point.error));
    }
  std::vector<KindError> out;
  for (const auto& [name, of] : by_kind) out.push_back({of.first, of.second.size(), two_thirds(of.second)});
  return out;
}

std::string error_kinds_text(const std::vector<KindError>& kinds) {
  std::string out =
      "# What two thirds of the held-out runs of a kind are predicted within; a test makes it of `orrery validate "
      "train`.\n"
      "stack,accelerator,bits,experts,runs,percent\n";
  for (const KindError& one : kinds) out += fmt::format("{},{},{:.1f}\n", line(one.kind), one.runs, one.percent);
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
    try {
      out.push_back({{cells.at(0).text, cells.at(1).text, std::stoi(cells.at(2).text), cells.at(3).text == "yes"},
                     std::stoul(cells.at(4).text),
                     std::stod(cells.at(5).text)});
    } catch (const std::exception&) {
      found.error("O1358", "a kind of runs is a row of six cells, runs and per cent among them",
                  document.place(document.rows[i]));
    }
  }
  found.throw_if_errors();
  return out;
}

std::string unmeasured(const std::vector<KindError>& kinds, const RunKind& kind) {
  const std::string alike = in_words(kind, true);
  for (const KindError& one : kinds)
    if (one.kind == kind)
      return fmt::format("{} like this one {} measured, too few to say: {}, {:.1f} % off",
                         one.runs == 1 ? "one run" : fmt::format("{} runs", one.runs), one.runs == 1 ? "was" : "were",
                         alike, one.percent);
  return fmt::format("no runs like this one were measured: {}", alike);
}

std::optional<ExpectedError> expected_error(const std::vector<KindError>& kinds, const RunKind& kind) {
  ExpectedError wide;
  bool as_few_bits = false;
  for (const KindError& one : kinds) {
    if (one.kind == kind && one.runs >= kLeastRuns) return ExpectedError{one.percent, one.runs, in_words(kind, true)};
    if (one.kind.stack != kind.stack || one.kind.experts != kind.experts) continue;
    as_few_bits |= one.kind.bits <= kind.bits;
    wide.percent = std::max(wide.percent, one.percent);
    wide.runs += one.runs;
  }
  // Runs in more bits say nothing of the work that fewer bits bring.
  if (wide.runs < kLeastRuns || !as_few_bits) return std::nullopt;
  wide.of = in_words(kind, false) + " on other accelerators or in other precisions";
  return wide;
}

}  // namespace orrery::scenario
