// A kind with few rows borrows those of its software on other accelerators, or in other precisions, if any ran on its
// own; the widest of them counts, since nothing says which is nearest. Within a factor of two of the measured ranges
// errors of the rows do not grow; what is further out is widened by a rule that was set on runs of sources that made no
// bound (docs/model/cluster.md). The kinds are computed when constants change (verbs/validate/error_kinds.h) and kept
// in the catalogue, so that a prediction costs one small file.
#include "orrery/inputs/systems/expected_error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {
namespace {

int bits_of(machine::Precision precision) {
  const double bytes = machine::bytes_per_element(precision);
  return bytes < 1 ? 4 : bytes < 2 ? 8 : bytes < 4 ? 16 : 32;
}

std::string in_words(const RunKind& kind, bool whole) {
  std::string out = kind.stack;
  if (whole) out += fmt::format(" on {} in {} bits", kind.accelerator, kind.bits);
  return out + (kind.experts ? ", with experts" : "");
}

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
  tell(sizes.batch, run.batch, 1, run.batch == 1 ? "sequence an iteration" : "sequences an iteration");
  tell(sizes.micro_batch, run.micro_batch, 1,
       run.micro_batch == 1 ? "sequence a microbatch" : "sequences a microbatch");
  tell(sizes.offloaded, run.offloaded, 0.01, "% offloaded");
  return out;
}

// How many times the farthest of a run's sizes is beyond what is near; 1: none is. Shares of what is offloaded have no
// ratio: another one is twice as far.
double beyond(const MeasuredSizes& sizes, const RunSizes& run) {
  double most = near(sizes.offloaded, run.offloaded) ? 1 : 2;
  const auto widen = [&](const Span& span, double value) {
    most = std::max({most, span.least / kNear / value, value / (span.most * kNear)});
  };
  widen(sizes.accelerators, run.accelerators);
  widen(sizes.sequence, run.sequence);
  widen(sizes.parameters, run.parameters);
  widen(sizes.batch, run.batch);
  widen(sizes.micro_batch, run.micro_batch);
  return most;
}

// What was measured of a kind, or of its software where that is too little.
struct Alike {
  KindError error;
  bool same = false;
};

std::optional<Alike> alike(const std::vector<KindError>& kinds, const RunKind& kind) {
  Alike wide;
  wide.error.sizes = MeasuredSizes::none();
  bool as_few_bits = false, same_accelerator = false;
  for (const KindError& one : kinds) {
    if (one.kind == kind && one.runs >= kLeastRuns) return Alike{one, true};
    if (one.kind.stack != kind.stack || one.kind.experts != kind.experts) continue;
    as_few_bits |= one.kind.bits <= kind.bits;
    same_accelerator |= one.kind.accelerator == kind.accelerator;
    wide.error.percent = std::max(wide.error.percent, one.stated());
    wide.error.runs += one.runs;
    wide.error.sizes.widen(one.sizes);
  }
  // Runs in more bits say nothing of the work that fewer bits bring, nor those in 16 of products in 32; and of an
  // accelerator on which none of this software ran nobody knows whether its data sheet keeps its promise.
  if (wide.error.runs < kLeastRuns || !as_few_bits || !same_accelerator || kind.bits > 16) return std::nullopt;
  return wide;
}

// The widest of runs on the same accelerator, with experts as without, where enough were measured; or of all of these;
// or of all. How many times wider it is made.
struct Widest {
  KindError error;
  double factor = 2;
};

Widest widest(const std::vector<KindError>& kinds, const RunKind& kind) {
  Widest out;
  for (const int apart : {0, 1, 2}) {
    out = {{}, apart == 2 ? 4.0 : 2.0};
    for (const KindError& one : kinds) {
      if (apart < 2 && one.kind.experts != kind.experts) continue;
      if (apart < 1 && one.kind.accelerator != kind.accelerator) continue;
      out.error.percent = std::max(out.error.percent, one.stated());
      out.error.runs += one.runs;
    }
    if (out.error.runs >= kLeastRuns) break;
  }
  return out;
}

}  // namespace

MeasuredSizes MeasuredSizes::none() {
  constexpr Span kNone = {std::numeric_limits<double>::infinity(), 0};
  return {kNone, kNone, kNone, kNone, kNone, kNone};
}

void MeasuredSizes::widen(const MeasuredSizes& by) {
  for (const auto span : {&MeasuredSizes::accelerators, &MeasuredSizes::sequence, &MeasuredSizes::parameters,
                          &MeasuredSizes::batch, &MeasuredSizes::micro_batch, &MeasuredSizes::offloaded}) {
    (this->*span).least = std::min((this->*span).least, (by.*span).least);
    (this->*span).most = std::max((this->*span).most, (by.*span).most);
  }
}

RunKind kind_of(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan) {
  // A100-80GB is an A100; each TPU is a generation of its own.
  const std::string& name = system.accelerator.name;
  const std::string generation = name.starts_with("TPU-") ? name : name.substr(0, name.find('-'));
  return {cluster::name_of(plan.stack.name, cluster::stacks()), generation, bits_of(plan.precision), model.mixes()};
}

RunSizes sizes_of(const cluster::Model& model, const cluster::Plan& plan) {
  return {static_cast<double>(plan.gpus),
          static_cast<double>(model.seq),
          cluster::parameters(model),
          static_cast<double>(plan.global_batch),
          static_cast<double>(plan.micro_batch),
          std::max(plan.offload_activations, plan.offload_optimizer)};
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
                     {span(6), span(8), span(10), span(12), span(14), span(16)},
                     std::stoul(cells.at(18).text),
                     std::stod(cells.at(19).text)});
    } catch (const std::exception&) {
      found.error(
          "O1358",
          "a kind of runs is a row of twenty cells: the kind, runs, per cent, what was measured, sources, and their "
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
                         one.runs == 1 ? "one run" : fmt::format("{} runs", one.runs), one.runs == 1 ? "was" : "were",
                         like, one.percent);
  return fmt::format("no runs like this one were measured: {}", like);
}

std::optional<ExpectedError> widened_error(const std::vector<KindError>& kinds, const RunKind& kind,
                                           const RunSizes& run, const std::vector<std::string>& strange) {
  std::optional<ExpectedError> out = expected_error(kinds, kind, run);
  std::vector<std::string> why = strange;
  double factor = std::pow(2.0, static_cast<double>(strange.size()));
  if (!out) {
    why.insert(why.begin(), unmeasured(kinds, kind, run));
    const std::optional<Alike> of = alike(kinds, kind);
    const Widest others = of ? Widest{} : widest(kinds, kind);
    const KindError& wide = of ? of->error : others.error;
    if (wide.runs == 0) return std::nullopt;
    factor *= of ? std::sqrt(beyond(wide.sizes, run)) : others.factor;
    const std::string like = of ? in_words(kind, of->same) : "other software or accelerators";
    out = ExpectedError{wide.stated(), wide.runs, like};
  }
  if (why.empty()) return out;
  constexpr double kMost = 100;  // %
  out->percent = std::min(kMost, factor * out->percent);
  out->of += fmt::format(", x{:.2g}: {}", factor, fmt::join(why, "; "));
  return out;
}

std::optional<ExpectedError> expected_error(const std::vector<KindError>& kinds, const RunKind& kind,
                                            const RunSizes& run) {
  const std::optional<Alike> of = alike(kinds, kind);
  if (!of || !far(of->error.sizes, run).empty()) return std::nullopt;
  return ExpectedError{of->error.stated(), of->error.runs,
                       of->same ? in_words(kind, true) : in_words(kind, false) + ", other accelerators or precisions"};
}

}  // namespace orrery::verbs
