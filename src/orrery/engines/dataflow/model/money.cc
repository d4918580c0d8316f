// Price and peak power of a system.
//
// Chips and DRAM are bought per chip; links and switches per GB/s of their dimension. What a dimension needs follows
// from its kind and place. With n chips, U_j the product of the sizes from dimension j on, and O_j = U_j / size_j:
//
//   ring             n links (every chip has one to its neighbour)     2 n / size_j switches
//   switch           U_j links (one for every unit that it joins)      U_j switches
//   fully connected  size_j (size_j - 1) O_j links                     none innermost, else size_j^2 O_j (a dragonfly)
//
// These are DFModel's twelve tables in one rule. One chip needs no links, four or fewer no switches. `copies` systems
// are bought. DFModel prices a four-dimensional torus with the table of three dimensions: n links each, but 2 y z, 2 x
// z and 2 x y switches; corrected, all four count. Source: DFModel (arXiv 2412.16432) and its logs;
// docs/model/dataflow.md, "Money". Cost: one step per dimension.
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

namespace {

double copies_of(const Workload& workload) {
  if (const auto* dlrm = std::get_if<Recommendation>(&workload)) return static_cast<double>(dlrm->copies);
  if (const auto* hpl = std::get_if<Linpack>(&workload)) return static_cast<double>(hpl->copies);
  if (const auto* fft = std::get_if<FourierTransform>(&workload)) return static_cast<double>(fft->copies);
  return 1;
}

struct Parts {
  double links = 0, switches = 0;
};

// `counted`: the product of the sizes that the table knows, which is `chips` wherever it knows them all.
Parts parts_of(Link link, bool innermost, double size, double outside, double chips, double counted) {
  switch (link) {
    case Link::kRing:
      return {chips, 2 * counted / size};
    case Link::kSwitch:
      return {size * outside, size * outside};
    case Link::kFullyConnected:
      return {size * (size - 1) * outside, innermost ? 0 : size * size * outside};
  }
  return {};
}

}  // namespace

PlacementMoney money(const Setup& setup, const Degrees& degrees, const Defects& defects) {
  const System& system = setup.system;
  const Prices& prices = setup.prices;
  const double copies = copies_of(setup.execution.workload);
  const double chips = system.chips;
  const double all_chips = chips * copies;
  PlacementMoney money;
  money.dram_cost = all_chips * system.memory_gb_per_s() * prices.dram_price;
  money.dram_power = all_chips * system.memory_gb_per_s() * prices.dram_power;
  money.accelerator_cost = all_chips * prices.accelerator_price;
  money.accelerator_power = all_chips * prices.accelerator_power;

  const std::vector<Count> sizes = network_sizes(system, degrees);
  const std::size_t dimensions =
      defects.free_fourth_dimension && sizes.size() == 4 ? 3 : sizes.size();  // their fourth is free
  double outside = 1;
  for (std::size_t j = 0; j < dimensions; ++j) outside *= static_cast<double>(sizes[j]);
  const double counted = outside;
  for (std::size_t j = 0; j < dimensions; ++j) {
    const double size = sizes[j];
    outside /= size;
    Parts parts = parts_of(system.network[j].link, j == 0, size, outside, chips, counted);
    if (chips <= 1) parts.links = 0;
    if (chips <= 4) parts.switches = 0;
    const double bandwidth = system.network[j].bandwidth_gb_per_s * copies;
    money.link_cost_by_dimension.push_back(parts.links * bandwidth * prices.link_price);
    money.switch_cost_by_dimension.push_back(parts.switches * bandwidth * prices.switch_price);
    money.link_cost += money.link_cost_by_dimension.back();
    money.switch_cost += money.switch_cost_by_dimension.back();
    money.link_power += parts.links * bandwidth * prices.link_power[j];
    money.switch_power += parts.switches * bandwidth * prices.switch_power;
  }
  return money;
}

}  // namespace orrery::dataflow
