#include "orrery/inputs/systems/host_room.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/engines/cluster/model/memory.h"

namespace orrery::verbs {

void check_hosts(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                 base::Diagnostics& found) {
  if (found.has_errors() || cluster::hosts_hold(model, system, plan)) return;
  const double wanted = cluster::host_bytes(model, plan);
  const double room = system.accelerator.host_memory_bytes;
  const auto sharers = static_cast<double>(std::min(plan.gpus, system.node_size));
  found
      .error("O1980", fmt::format("the plan offloads {:.1f} GB of an accelerator, whose part of the host's memory is "
                                  "{:.1f} GB",
                                  wanted / 1e9, room / 1e9))
      .note(fmt::format("{:.0f} accelerators of a node: {:.1f} GB of {:.1f} GB", sharers, sharers * wanted / 1e9,
                        sharers * room / 1e9))
      .hint(fmt::format("offload less: at most {:.2f} of this", room / wanted));
}

}  // namespace orrery::verbs
