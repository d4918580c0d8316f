#include "orrery/verbs/place/run.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/dataflow/model/stated_times.h"
#include "orrery/engines/dataflow/search/contradictions.h"
#include "orrery/engines/dataflow/search/joint.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/orrery/measured_products.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/verbs/place/place_documents.h"
#include "orrery/verbs/place/place_operators.h"

namespace orrery::verbs {
namespace {

namespace dfmodel = formats::dfmodel;

std::string layers_text(const dataflow::LanguageModelRun& model) {
  return base::counted(model.layers, "layer");
}

std::string title_of(const dataflow::Workload& workload) {
  if (const auto* model = std::get_if<dataflow::LanguageModelRun>(&workload))
    return "language model, " + layers_text(*model);
  if (std::holds_alternative<dataflow::Recommendation>(workload)) return "DLRM";
  if (const auto* hpl = std::get_if<dataflow::Linpack>(&workload)) return fmt::format("HPL of order {}", hpl->n);
  if (const auto* fft = std::get_if<dataflow::FourierTransform>(&workload))
    return fmt::format("FFT of {} points", fft->length);
  return std::get<dataflow::StateSpaceModel>(workload).kind;
}

base::Location location(const dataflow::BlamedPart& part, const dfmodel::SetupPlaces& places) {
  using dataflow::Part;
  const auto at = [&](std::string_view block) {
    return places.at(part.field.empty() ? std::string(block) : fmt::format("{}.{}", block, part.field));
  };
  switch (part.part) {
    case Part::kKernel:
      return places.kernel(part.index, part.field);
    case Part::kEdge:
      return places.edge(part.index, part.field);
    case Part::kSystem:
      return at("system");
    case Part::kNetwork:
      return at("system.topology");
    case Part::kAccelerator:
      return at("system.accelerator");
    case Part::kMemory:
      return at("system.memory");
    case Part::kExecution:
      return at("execution");
    case Part::kWorkload:
      return at("execution.workload");
  }
  return {};
}

// The first part that is blamed gets the caret, the others are shown beside it.
base::Diagnostic with_places(base::Diagnostic diagnostic, const std::vector<dataflow::BlamedPart>& blamed,
                             const dfmodel::SetupPlaces& places) {
  for (const dataflow::BlamedPart& part : blamed) {
    const base::Location where = location(part, places);
    if (!where.known()) continue;
    if (!diagnostic.primary.where.known()) {
      diagnostic.primary.where = where;
    } else if (where.line != diagnostic.primary.where.line || where.column != diagnostic.primary.where.column) {
      diagnostic.also(where, "");
    }
  }
  return diagnostic;
}

// The contradictions in the setup, with its lines.
[[noreturn]] void refuse(const std::vector<dataflow::Reason>& reasons, const dfmodel::SetupPlaces& places) {
  std::vector<base::Diagnostic> found;
  for (const dataflow::Reason& reason : reasons) found.push_back(with_places(reason.diagnostic, reason.blamed, places));
  throw base::InputError(std::move(found));
}

// Tiles hold whole columns: a kernel with fewer columns than tiles, such as experts that share the tokens of a tile, is
// priced with one in each.
void warn_of_thin_tiles(const dataflow::Setup& setup, const dataflow::Mapping& mapping, base::Diagnostics& found) {
  using workload::KernelDimension;
  base::Count tiles = mapping.tiles;
  for (const dataflow::Tiling& tiling : mapping.tilings) tiles = std::min(tiles, tiling.tiles);
  int thin = 0;
  const workload::Kernel* first = nullptr;
  for (const workload::Kernel& kernel : setup.graph.kernels) {
    const base::Count size = kernel.tiling == KernelDimension::kN   ? kernel.n
                             : kernel.tiling == KernelDimension::kK ? kernel.k
                                                                    : tiles;
    if (size >= tiles || kernel.outer < 2) continue;
    if (first == nullptr) first = &kernel;
    ++thin;
  }
  if (first == nullptr) return;
  const base::Count size = first->tiling == KernelDimension::kN ? first->n : first->k;
  found
      .warning("O1468", fmt::format("{} kernel{} with fewer columns than there are tiles {} priced too high", thin,
                                    base::plural(thin), base::plural(thin, "is", "are")))
      .note(fmt::format("`{}` has {} column{} for each of {}, and {} tiles with at least one each make {}", first->name,
                        size, base::plural(size), first->outer, tiles, tiles))
      .hint("larger tiles (`tile_size`, or SRAM to hold them) leave every kernel a column in each");
}

// Measured products need kernels whose rates nothing else says. `of_model`: those of fused attention are ours, and
// stay.
void refuse_measurements(const dfmodel::SetupDocument& document, bool of_model) {
  if (!document.setup.execution.compute_utilization)
    base::fail("O1460", "measured products need `compute_util`: without it, cores are dealt out to kernels",
               document.places.at("execution"), "give `compute_util`, or leave `--operators` out");
  if (of_model) return;
  const auto& kernels = document.setup.graph.kernels;
  const auto rated = std::find_if(kernels.begin(), kernels.end(),
                                  [](const auto& kernel) { return kernel.is_product() && kernel.compute_utilization; });
  if (rated != kernels.end())
    base::fail("O1460", fmt::format("kernel `{}` states its rate, which no measured product can change", rated->name),
               document.places.kernel(static_cast<int>(rated - kernels.begin()), "compute_util"),
               "leave `compute_util` of kernels out, or `--operators`");
}

// A search for a loop nest that a limit ended leaves times that may be too long. Every time of a placement that such
// products enter shrinks by their largest gap at most, so the bound does.
void weaken(const ChipOperators& nests, PlacedGraph& placed) {
  const double worst = warn_of_unproven(nests, "the placement", placed.told_to_stop, placed.warnings);
  if (worst <= 0) return;
  if (!placed.placement.mapping) return;
  base::Certificate& certificate = placed.placement.certificate;
  certificate.optimal = false;
  certificate.close(placed.placement.evaluation.final_ns, certificate.lower_bound * (1 - worst));
}

}  // namespace

PlaceQuestion read_place(const PlaceRequest& request) {
  PlaceDocuments read = documents_of(request);
  PlaceQuestion out;
  out.setup = std::move(read.document.setup);
  if (read.question) {
    out.inputs = read.question->inputs;
    out.warnings = read.question->warnings;
  } else {
    out.inputs.push_back(base::file_input(*read.document.file));
  }
  out.warnings.append(read.document.warnings);
  out.model = std::move(read.question);
  return out;
}

PlacedGraph place(const PlaceRequest& request) {
  const auto [question, document] = documents_of(request);
  const dataflow::Execution& execution = document.setup.execution;
  PlacedGraph placed;
  placed.defects = request.defects;
  placed.title = title_of(execution.workload);
  if (question) {
    placed.title = fmt::format(
        "{}{} on {}{}",
        question->partial ? layers_text(std::get<dataflow::LanguageModelRun>(execution.workload)) + " of " : "",
        request.model.model, question->chip ? question->chip->name() + " in " : "", question->system.name);
    placed.notes = question->notes;
    placed.not_looked_at = question->not_looked_at;
    placed.warnings = question->warnings;
    placed.inputs = question->inputs;
  } else {
    placed.inputs.push_back(base::file_input(*document.file));
  }
  placed.warnings.append(document.warnings);
  if (question && question->chip)
    warn_of_words(*question->chip, static_cast<int>(8 * execution.word_bytes), "the kernels' numbers have", "timed",
                  "give the chip's documents another `datawidth`, with bandwidths to match", placed.warnings);
  for (const auto& [path, value] : request.overrides) placed.inputs.push_back(base::setting_input(path, value));

  dataflow::PlaceLimits limits = request.limits;
  if (request.interruptible) limits.stop = request.interruptible();
  std::vector<machine::MeasuredProduct> measurements;
  if (!request.measurements.empty()) {
    const auto file = formats::yaml::read_file(request.measurements);
    placed.inputs.push_back(base::file_input(*file));
    refuse_measurements(document, question.get() != nullptr);
    measurements = formats::orrery::read_measured_products(file);
  }
  const PlaceOperators operators(question.get(), document.setup, limits, std::move(measurements));
  const machine::OperatorModel* const timed = operators.model();
  const ChipOperators* const nests = operators.nests();
  placed.timed = operators.name();
  std::sort(placed.inputs.begin(), placed.inputs.end());

  try {
    placed.placement = request.joint ? dataflow::optimize_jointly(document.setup, limits, timed)
                                     : dataflow::optimize(document.setup, request.defects, limits, timed);
  } catch (const dataflow::Contradictions& error) {
    refuse(error.reasons, document.places);
  }
  placed.told_to_stop = limits.stop != nullptr && limits.stop->load();
  if (nests != nullptr) {
    placed.chip = question->chip->name();
    placed.searched = static_cast<base::Count>(nests->searched());
    weaken(*nests, placed);
  }
  const auto* model = std::get_if<dataflow::LanguageModelRun>(&document.setup.execution.workload);
  if (request.joint && !placed.placement.two_passes && model != nullptr && model->layers_in_graph > 1)
    placed.warnings
        .warning("O1463", "sharding and fusion are not chosen together", document.places.at("execution.workload"))
        .note(fmt::format("the graph holds {} layers, which may be spread over pipeline stages: stages are cut under a "
                          "sharding, which they keep",
                          model->layers_in_graph))
        .hint("give a graph of one layer, or leave `--joint` out");
  placed.setup = placed.placement.mapping ? dataflow::placed(document.setup, placed.placement) : document.setup;
  if (placed.placement.mapping && timed != nullptr)
    dataflow::state_times(placed.setup, *placed.placement.mapping, placed.placement.evaluation.partition,
                          request.defects, *timed);
  if (placed.placement.mapping) warn_of_thin_tiles(document.setup, *placed.placement.mapping, placed.warnings);
  if (placed.placement.out_of_memory && !placed.placement.certificate.optimal)
    placed.warnings.warning("O1007", "the search for a placement ran short of memory")
        .note(fmt::format("it had {} MiB", request.limits.memory >> 20))
        .hint("give it more with --memory");
  for (std::size_t i = 0; i < placed.placement.reasons.size(); ++i)
    placed.reasons.push_back(with_places(
        placed.placement.reasons[i],
        i < placed.placement.blamed.size() ? placed.placement.blamed[i] : std::vector<dataflow::BlamedPart>(),
        document.places));
  return placed;
}

CheckedSetup check_setup(const std::string& path, const base::Overrides& overrides) {
  const dfmodel::SetupDocument document = load_checked_setup(path, overrides);
  const std::vector<dataflow::Reason> reasons = dataflow::contradictions(document.setup, {});
  if (!reasons.empty()) refuse(reasons, document.places);
  const dataflow::Setup& setup = document.setup;
  CheckedSetup checked;
  checked.warnings = document.warnings;
  checked.contents.push_back(fmt::format("setup: {}: {}, {}", title_of(setup.execution.workload),
                                         base::counted(setup.graph.kernels.size(), "kernel"),
                                         base::counted(setup.graph.edges.size(), "connection")));
  std::string sizes;
  for (const dataflow::NetworkDimension& dimension : setup.system.network) {
    if (!sizes.empty()) sizes += " x ";
    sizes += dimension.size > 0 ? fmt::format("{}", dimension.size) : "any";
  }
  checked.contents.push_back(fmt::format("system: {} accelerator{} of {:.6g} TFLOP/s, {}", setup.system.chips,
                                         base::plural(setup.system.chips), setup.system.cores.gflops() / 1e3, sizes));
  return checked;
}

std::vector<base::Diagnostic> explain_no_placement(const PlacedGraph& placed) {
  if (placed.placement.infeasible) return placed.reasons;
  base::Diagnostics found;
  if (placed.told_to_stop)
    found.error("O1461", "the search was interrupted before it found a placement")
        .hint(placed.chip.empty() ? "start it again, and let it end"
                                  : "start it again, and let it end: to map a chip's products takes seconds");
  else
    found.error("O1461", "the search ended before it found a placement")
        .hint("give it more time with `--time-limit`, or leave that out");
  return found.all();
}

}  // namespace orrery::verbs
