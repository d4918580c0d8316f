#include "orrery/formats/dfmodel/system_reader.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "orrery/base/diagnostics/plausible.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/dfmodel/setup_fields.h"

namespace orrery::formats::dfmodel {

namespace {

using base::Count;
using dataflow::Parallelism;

constexpr const char* kDimensionNames[] = {"x", "y", "z", "w"};

// "r_sw_sw" to links, x first.
std::vector<dataflow::Link> links_of(std::string_view topology) {
  std::vector<dataflow::Link> links;
  while (!topology.empty()) {
    const std::size_t end = topology.find('_');
    const std::string_view link = topology.substr(0, end);
    links.push_back(link == "r"    ? dataflow::Link::kRing
                    : link == "sw" ? dataflow::Link::kSwitch
                                   : dataflow::Link::kFullyConnected);
    topology = end == std::string_view::npos ? std::string_view() : topology.substr(end + 1);
  }
  return links;
}

// Warns of a field whose unit was probably another; `unit` makes it FLOP/s, bytes, bytes/s, seconds or Hz.
void doubt(const Fields& fields, std::string_view field, base::HardwareFigure figure, double unit,
           base::Diagnostics& found) {
  const Entry* entry = fields.block().find(field);
  if (!entry || entry->broken || !(entry->real > 0)) return;
  base::doubt(figure, entry->real * unit, std::string(field), entry->where, found);
}

void read_accelerator(const Block& block, bool whole_kernels, dataflow::System& system, base::Diagnostics& found) {
  Fields fields(block, "`accelerator`", found);
  machine::CoreArray& array = system.cores;
  dataflow::Floorplan& chip = system.floorplan;
  array.cores = fields.required_count("core", 1, "how many cores the chip has");
  array.width = fields.required_count("systolic_width", 1, "the multipliers of a core in one direction");
  array.height = fields.required_count("systolic_height", 1, "the multipliers of a core in the other direction");
  array.frequency_ghz = fields.required_positive("freq", "its clock, in GHz");
  chip.memory_units = fields.count("pmu", 0, 0);
  chip.memory_unit_bytes = fields.positive("pmu_cap", 0);
  if (chip.memory_units > 0 && !fields.has("pmu_cap"))
    fields.missing("pmu_cap", fmt::format("the bytes of each of its {} memory units (`pmu`)", chip.memory_units));
  if (fields.has("sram_cap") || (chip.memory_units == 0 && !whole_kernels)) {
    system.accelerator.on_chip_bytes = fields.required_positive("sram_cap", "the bytes of on-chip memory");
  } else {
    system.accelerator.on_chip_bytes = static_cast<double>(chip.memory_units) * chip.memory_unit_bytes;
  }
  chip.grid_x = fields.count("x", 0, 0);
  chip.grid_y = fields.count("y", 0, 0);
  system.link_latency_ns = fields.not_negative("link_latency");
  const std::string placement = fields.text("placement");
  chip.diagonal_placement = placement == "diagonalwise";
  if (!placement.empty() && placement != "rowwise" && placement != "diagonalwise") {
    const std::vector<std::string> known = {"rowwise", "diagonalwise"};
    const Entry* entry = block.find("placement");
    found.error("O1418", fmt::format("there is no placement `{}`", placement), entry->where)
        .label("`rowwise` or `diagonalwise`")
        .hint(base::did_you_mean(placement, known));
  }
  using base::HardwareFigure;
  doubt(fields, "freq", HardwareFigure::kClock, 1e9, found);
  doubt(fields, "sram_cap", HardwareFigure::kOnChipMemory, 1, found);
  doubt(fields, "link_latency", HardwareFigure::kLatency, 1e-9, found);
  Count multipliers = 0;
  if (__builtin_mul_overflow(array.cores, array.width, &multipliers) ||
      __builtin_mul_overflow(multipliers, array.height, &multipliers)) {
    found.error("O1417", "the multipliers of the accelerator cannot be counted in 64 bits", fields.where("core"))
        .note(fmt::format("core {} * systolic_width {} * systolic_height {} exceeds 9.2e18", array.cores, array.width,
                          array.height))
        .hint("is one of them mistyped?");
  }
}

void read_memory(const Block& block, dataflow::System& system, base::Diagnostics& found) {
  Fields fields(block, "`memory`", found);
  const double gb_per_s = fields.required_positive("dram_bw", "the bandwidth of DRAM, in GB/s");
  dataflow::SecondMemory& second = system.second_memory;
  system.accelerator.memory_bytes_per_s = gb_per_s * 1e9;
  system.accelerator.memory_bytes = fields.not_negative("dram_cap");
  second.bandwidth_gb_per_s = fields.not_negative("second_dram_bw");
  second.capacity_bytes = fields.not_negative("second_dram_cap");
  for (const char* field : {"dram_bw", "second_dram_bw"})
    doubt(fields, field, base::HardwareFigure::kMemoryBandwidth, 1e9, found);
  for (const char* field : {"dram_cap", "second_dram_cap"})
    doubt(fields, field, base::HardwareFigure::kMemory, 1, found);
  if (second.capacity_bytes > 0 && system.accelerator.memory_bytes > 0 && gb_per_s > 0) {
    if (second.bandwidth_gb_per_s <= 0)
      found.error("O1426", "the second level of DRAM has no bandwidth", fields.where("second_dram_cap"))
          .hint("give `second_dram_bw`, in GB/s");
    else if (second.bandwidth_gb_per_s > gb_per_s)
      found.error("O1426", "the second level of DRAM is faster than the first", fields.where("second_dram_bw"))
          .note(fmt::format("second_dram_bw {} GB/s > dram_bw {} GB/s: what does not fit the first level goes to the "
                            "second",
                            second.bandwidth_gb_per_s, gb_per_s))
          .hint("call the faster one the first");
  }
}

const Entry* find_topology(const Block& system, base::Diagnostics& found) {
  const Entry* first = nullptr;
  for (const Entry& entry : system.entries) {
    if (!entry.block.type || !entry.block.type->name.starts_with("Grid")) continue;
    if (!first) {
      first = &entry;
    } else if (entry.field != first->field) {
      found
          .error("O1406",
                 fmt::format("the system has two topologies: `{}` and `{}`", first->field->name, entry.field->name),
                 entry.where)
          .also(first->where, "the first")
          .hint("keep one of them");
    }
  }
  if (!first) {
    base::Diagnostic& error = found.error(
        "O1406", fmt::format("the system names no topology: one of {}", name_list(topology_names())), system.where);
    error.note("`r` is a ring, `sw` a switch, `fc` fully connected, one for each dimension, x first");
    for (const base::Location& unknown : system.unknown) error.also(unknown, "this is none of them");
    error.hint("a ring of all chips: `r { link_bw_x: 50 par_x: \"TP\" }`");
  }
  return first;
}

void read_parallelism(Fields& fields, const std::string& field, std::size_t dimensions,
                      std::vector<dataflow::NetworkDimension>& network, dataflow::NetworkDimension& dimension,
                      base::Diagnostics& found) {
  const std::vector<std::string> names = {"TP", "PP", "DP", "SP"};
  const std::string name = fields.text(field);
  const Entry* entry = fields.block().find(field);
  if (name.empty()) return;
  std::size_t index = 0;
  while (index < names.size() && names[index] != name) ++index;
  if (index == names.size()) {
    found.error("O1413", fmt::format("`{}` is not a parallelism", name), entry->where)
        .label("\"TP\" (tensor), \"PP\" (pipeline), \"DP\" (data) or \"SP\" (sequence)")
        .hint(base::did_you_mean(name, names));
    return;
  }
  constexpr Parallelism kOrder[] = {Parallelism::kTensor, Parallelism::kPipeline, Parallelism::kData,
                                    Parallelism::kSequence};
  if (kOrder[index] == Parallelism::kSequence && dimensions != 4) {
    found.error("O1413", "sequence parallelism needs a network of four dimensions", entry->where)
        .note(fmt::format("this one has {}", dimensions))
        .hint("use `r_r_r_r`, with SP, TP, PP and DP on its dimensions");
    return;
  }
  for (std::size_t i = 0; i < network.size(); ++i) {
    if (network[i].parallelism != kOrder[index]) continue;
    found.error("O1413", fmt::format("two dimensions are given to {}", name), entry->where)
        .also(fields.where(fmt::format("par_{}", kDimensionNames[i])), "the first of them")
        .hint("each of TP, PP and DP takes one dimension at most");
    return;
  }
  dimension.parallelism = kOrder[index];
}

// The product of the sizes that are given must be, or divide, the number of chips.
void check_sizes(const Fields& fields, const std::vector<dataflow::NetworkDimension>& network, Count chips,
                 const base::Location& chips_place, base::Diagnostics& found) {
  Count product = 1;
  bool fits = true;
  bool open = false;
  std::string arithmetic;
  const char* first = nullptr;
  for (std::size_t i = 0; i < network.size(); ++i) {
    if (network[i].size == 0) {
      open = true;
      continue;
    }
    if (!first) first = kDimensionNames[i];
    fits = fits && !__builtin_mul_overflow(product, network[i].size, &product);
    arithmetic += fmt::format("{}{} {}", arithmetic.empty() ? "" : " * ", kDimensionNames[i], network[i].size);
  }
  if (!first) return;
  if (fits && (open ? chips % product == 0 : chips == product)) return;
  base::Diagnostic& error = found.error(
      "O1414", fmt::format("the dimensions of {} do not multiply to the {} chips of the system", fields.name(), chips),
      fields.where(first));
  error.also(chips_place, "the number of chips");
  if (!fits) {
    error.note(arithmetic + " exceeds 64 bits");
  } else {
    error.note(fmt::format("{} = {}{}", arithmetic, product,
                           open ? fmt::format(", which does not divide {}", chips) : std::string()));
  }
  if (fits && !open) error.hint(fmt::format("`num_chip: {}`, or leave one size out to have it found", product));
}

}  // namespace

dataflow::System read_system(const Block& block, bool whole_kernels, base::Diagnostics& found) {
  dataflow::System system;
  Fields fields(block, "`system`", found);
  system.chips = fields.required_count("num_chip", 1, "how many accelerators there are");
  if (const Block* inner = fields.required_inner("accelerator", "what one chip is"))
    read_accelerator(*inner, whole_kernels, system, found);
  if (const Block* inner = fields.required_inner("memory", "the DRAM of one chip")) read_memory(*inner, system, found);
  const Entry* topology = find_topology(block, found);
  system.high_bandwidth_domain = fields.count("HBD", 0, 0);
  if (!topology) return system;

  Fields grid(topology->block, fmt::format("`{}`", topology->field->name), found);
  const std::vector<dataflow::Link> links = links_of(topology->field->name);
  for (std::size_t i = 0; i < links.size(); ++i) {
    dataflow::NetworkDimension dimension;
    dimension.link = links[i];
    dimension.size = grid.count(kDimensionNames[i], 0, 0);
    dimension.bandwidth_gb_per_s =
        grid.required_positive(fmt::format("link_bw_{}", kDimensionNames[i]),
                               fmt::format("the bandwidth of a link along {}, in GB/s", kDimensionNames[i]));
    doubt(grid, fmt::format("link_bw_{}", kDimensionNames[i]), base::HardwareFigure::kLinkBandwidth, 1e9, found);
    read_parallelism(grid, fmt::format("par_{}", kDimensionNames[i]), links.size(), system.network, dimension, found);
    system.network.push_back(dimension);
  }
  bool sizes_known = fields.has("num_chip") && !block.find("num_chip")->broken && block.find("num_chip")->integer >= 1;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Entry* size = topology->block.find(kDimensionNames[i]);
    sizes_known = sizes_known && !(size && (size->broken || size->integer < 0));
  }
  if (links.size() == 1 && system.network[0].size == 0) system.network[0].size = system.chips;
  if (sizes_known) check_sizes(grid, system.network, system.chips, fields.where("num_chip"), found);

  if (system.high_bandwidth_domain > 0 && links.size() != 3) {
    found.error("O1415", "a high-bandwidth domain needs a network of three dimensions", fields.where("HBD"))
        .also(topology->where, fmt::format("this one has {}", links.size()))
        .hint("leave `HBD` out, or use `r_r_r`, `r_sw_sw` or `sw_sw_sw`");
  } else if (system.high_bandwidth_domain > system.chips) {
    found
        .error("O1415",
               fmt::format("a high-bandwidth domain of {} chips in a system of {}", system.high_bandwidth_domain,
                           system.chips),
               fields.where("HBD"))
        .also(fields.where("num_chip"), "the number of chips");
  }
  return system;
}

dataflow::Prices read_prices(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`cost`", found);
  dataflow::Prices prices;
  prices.link_price = fields.not_negative("link_unit_price");
  prices.switch_price = fields.not_negative("switch_unit_price");
  prices.dram_price = fields.not_negative("dram_unit_price");
  prices.accelerator_price = fields.not_negative("accelerator_price");
  for (std::size_t i = 0; i < 4; ++i)
    prices.link_power[i] = fields.not_negative(fmt::format("link_unit_power_{}", kDimensionNames[i]));
  prices.switch_power = fields.not_negative("switch_unit_power");
  prices.dram_power = fields.not_negative("dram_unit_power");
  prices.accelerator_power = fields.not_negative("accelerator_power");
  return prices;
}

}  // namespace orrery::formats::dfmodel
