// Fields that DFModel's files may state and that enter no figure here, each with the reason. What follows from other
// fields (sizes of inputs and weights from the shapes, `topological_number` from the connections) is compared or left
// in silence; what would change an answer if it were modelled is named.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "orrery/formats/dfmodel/agreement.h"

namespace orrery::formats::dfmodel {
namespace {

using workload::Kernel;

class Names {
 public:
  Names(const SetupDocument& document, base::Diagnostics& found) : document_(document), found_(found) {}

  void system(const char* path, const char* why) {
    if (!document_.places.has(path)) return;
    warn(path, document_.places.at(path), why);
  }

  base::Diagnostic& warn(const std::string& path, base::Location where, const char* why) {
    const std::string leaf = path.substr(path.rfind('.') + 1);
    return found_.warning("O1423", fmt::format("`{}` is not used", leaf), std::move(where)).note(why);
  }

 private:
  const SetupDocument& document_;
  base::Diagnostics& found_;
};

}  // namespace

void name_unread_fields(const SetupDocument& document, base::Diagnostics& found) {
  const dataflow::Setup& setup = document.setup;
  Names names(document, found);
  const dataflow::SecondMemory& second = setup.system.second_memory;
  if (second.bandwidth_gb_per_s > 0 && second.capacity_bytes <= 0)
    names.system("system.memory.second_dram_bw", "without `second_dram_cap` there is no second level of DRAM");
  else if (second.capacity_bytes > 0 && setup.system.accelerator.memory_bytes <= 0)
    names.system("system.memory.second_dram_cap", "the first level of DRAM is unlimited and holds everything");
  if (setup.execution.place_and_route)
    for (const char* path : {"system.accelerator.x", "system.accelerator.y", "system.accelerator.placement"})
      names.system(path, "where kernels lie on the chip, and what the way between them costs, is not modelled");

  int stated = 0, first = -1;
  const char* field = "";
  for (std::size_t i = 0; i < setup.graph.edges.size(); ++i) {
    const workload::KernelEdge& edge = setup.graph.edges[i];
    if (edge.tensor_bytes <= 0 && edge.shard_tensor_bytes <= 0) continue;
    if (stated++ > 0) continue;
    first = static_cast<int>(i);
    field = edge.tensor_bytes > 0 ? "tensor_size" : "shard_tensor_size";
  }
  if (stated > 0) {
    base::Diagnostic& warning =
        names.warn(field, document.places.edge(first, field),
                   "a buffer holds what its producer makes, by the producer's shape and sharding");
    if (stated > 1) warning.note(fmt::format("so it is with {} connections", stated));
  }

  bool staged = false;
  for (const Kernel& kernel : setup.graph.kernels) staged = staged || kernel.effective_stages > 0;
  const auto* space = std::get_if<dataflow::StateSpaceModel>(&setup.execution.workload);
  if (!staged && setup.execution.effective_stages > 0)
    names.system("execution.effective_stage", "no kernel has `use_effective_stage: true`");
  if (!staged && space && space->effective_stages > 0)
    names.system(("execution." + space->kind + ".effective_stage").c_str(),
                 "no kernel has `use_effective_stage: true`");
}

}  // namespace orrery::formats::dfmodel
