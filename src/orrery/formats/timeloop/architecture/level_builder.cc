// Attributes -> figures of a level, as Timeloop derives them:
//
//   word_bits  = word_bits, else datawidth, else 16
//   block_size = block_size, else width / (word_bits * cluster_size), else 1 ; width % (word_bits * block_size) = 0
//   capacity   = entries, else depth * block_size, else sizeKB * 8192 / word_bits, else unlimited
//   bandwidth  = read_bandwidth, write_bandwidth, shared_bandwidth ; `bandwidth: b` = b/2 + b/2
//   mesh       = meshX, meshY as stated, else as the containers or ranges around give it
//
// Cost: linear in the attributes.
#include "orrery/formats/timeloop/architecture/level_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/describe/machine/ranges.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

constexpr Count kMaxBits = 1 << 30;

// Reads one component's attributes by name, reporting what cannot be used.
class Attributes {
 public:
  Attributes(const Component& component, base::Diagnostics& found) : component_(component), found_(found) {}

  const yaml::Node* find(std::string_view key) const { return component_.frame->find(key); }
  // Own attributes only: meshes and instance counts of a container are not those of its contents.
  const yaml::Node* own(std::string_view key) const {
    const yaml::Node* attributes = component_.frame->attributes;
    const yaml::Node* value = attributes == nullptr ? nullptr : attributes->find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  std::optional<Count> count(const yaml::Node* node, std::string_view what, Count least) const {
    if (node == nullptr) return std::nullopt;
    const auto value = as_count(*node, component_.frame->scope, what, found_);
    if (value && *value < least) {
      found_.error("O0321",
                   fmt::format("`{}` of `{}` must be at least {}, but is {}", what, component_.name, least, *value),
                   node->where);
      return std::nullopt;
    }
    return value;
  }
  std::optional<Count> count(std::string_view key, Count least) const { return count(find(key), key, least); }
  // At least 0; infinity where `endless` is nothing.
  std::optional<double> number(std::string_view key) const {
    const yaml::Node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto value = as_number(*node, component_.frame->scope, key, found_);
    if (value && *value < 0) {
      found_.error("O0321", fmt::format("`{}` of `{}` must not be negative, but is {}", key, component_.name, *value),
                   node->where);
      return std::nullopt;
    }
    return value;
  }
  // A number of pJ that can be reckoned with.
  std::optional<double> energy(std::string_view key) const {
    const auto figure_pj = number(key);
    if (!figure_pj || machine::in_range(*figure_pj)) return figure_pj;
    found_.error("O0609", fmt::format("`{}` of `{}` is out of range", key, component_.name), find(key)->where)
        .note(machine::range_broken(*figure_pj, "pJ"))
        .hint("energies are in pJ per action");
    return std::nullopt;
  }
  void too_wide(const yaml::Node& node, Count bits, Count most) const {
    found_.error("O0321",
                 fmt::format("a word of `{}` has at most {} bits, but is given {}", component_.name, most, bits),
                 node.where);
  }
  std::string text(std::string_view key) const {
    const yaml::Node* node = find(key);
    if (node == nullptr) return "";
    return as_string(*node, component_.frame->scope, key, found_).value_or("");
  }
  bool flag(std::string_view key, bool otherwise) const {
    const yaml::Node* node = find(key);
    return node == nullptr ? otherwise : as_bool(*node, component_.frame->scope, key, found_).value_or(otherwise);
  }

 private:
  const Component& component_;
  base::Diagnostics& found_;
};

struct Mesh {
  Count instances = 1;
  Count x = 1;
  Count y = 1;
};

Count product(Count a, Count b, const Component& component, const base::Location& where, base::Diagnostics& found) {
  try {
    return base::checked_multiply(a, b);
  } catch (const base::OverflowError&) {
    found.error("O0304", fmt::format("`{}`: {} x {} instances exceed 64 bits", component.name, a, b), where);
    return 1;
  }
}

void conflicting_mesh(const Component& component, std::string_view side, const yaml::Node& stated, Count is,
                      Count around, base::Diagnostics& found) {
  found
      .error("O0303",
             fmt::format("`{}` states {} {}, but the containers around it make {}", component.name, side, is, around),
             stated.where)
      .also(component.mesh_where, "the last fan-out around it")
      .hint(fmt::format("`{}` of a component counts all its instances in that direction; leave it out, or make it {}",
                        side, around));
}

Mesh mesh_of(const Component& component, base::Diagnostics& found) {
  if (component.frame == nullptr) {
    return {product(component.mesh_x, component.mesh_y, component, component.where, found), component.mesh_x,
            component.mesh_y};
  }
  const Attributes attributes(component, found);
  const yaml::Node* x_node = attributes.own("meshX");
  const yaml::Node* y_node = attributes.own("meshY");
  const yaml::Node* instances_node = attributes.own("instances");
  const auto x = attributes.count(x_node, "meshX", 1);
  const auto y = attributes.count(y_node, "meshY", 1);
  auto instances = attributes.count(instances_node, "instances", 1);
  if ((x_node && !x) || (y_node && !y) || (instances_node && !instances)) return {};

  if (component.meshes_known) {
    if (x && component.mesh_x != 1 && *x != component.mesh_x) {
      conflicting_mesh(component, "meshX", *x_node, *x, component.mesh_x, found);
      return {};
    }
    if (y && component.mesh_y != 1 && *y != component.mesh_y) {
      conflicting_mesh(component, "meshY", *y_node, *y, component.mesh_y, found);
      return {};
    }
    Mesh mesh{1, x.value_or(component.mesh_x), y.value_or(component.mesh_y)};
    if (instances && !x && !y && component.mesh_x == 1 && component.mesh_y == 1) mesh.x = *instances;
    mesh.instances = instances ? *instances : product(mesh.x, mesh.y, component, component.where, found);
    return mesh;
  }

  // Ranges of names: they count, `instances` counts; meshes must multiply to the same.
  if (instances && component.instances != 1 && *instances != component.instances) {
    found
        .error("O0304",
               fmt::format("`{}` states {} instances, but the ranges of its name and of the subtrees around it make {}",
                           component.name, *instances, component.instances),
               instances_node->where)
        .also(component.mesh_where, "the last range");
    return {};
  }
  const bool counted = instances.has_value() || component.instances != 1;
  if (!instances) instances = component.instances;
  if (x && y) {
    if (!counted) instances = product(*x, *y, component, x_node->where, found);
    return {*instances, *x, *y};
  }
  if (!x && !y) return {*instances, *instances, 1};
  const Count side = x ? *x : *y;
  const std::string_view given = x ? "meshX" : "meshY";
  const std::string_view other = x ? "meshY" : "meshX";
  if (side < 1 || *instances % side != 0) {
    found
        .error("O0304",
               fmt::format("`{}` has {} {} but no {}, and {} instances are not a multiple of {}", component.name, given,
                           side, other, *instances, side),
               (x ? x_node : y_node)->where)
        .hint(fmt::format("give {}; instances = meshX * meshY", other));
    return {};
  }
  return x ? Mesh{*instances, side, *instances / side} : Mesh{*instances, *instances / side, side};
}

int word_bits_of(const Attributes& attributes) {
  const yaml::Node* node = attributes.find("word_bits");
  if (node == nullptr) node = attributes.find("datawidth");
  const auto bits = attributes.count(node, "datawidth", 1);
  if (bits && *bits > kMaxBits) attributes.too_wide(*node, *bits, kMaxBits);
  return static_cast<int>(std::min(bits.value_or(16), kMaxBits));
}

void read_block(const Component& component, const Attributes& attributes, machine::Storage& storage,
                base::Diagnostics& found) {
  storage.word_bits = word_bits_of(attributes);
  storage.cluster_size = attributes.count("cluster_size", 1).value_or(1);
  const auto width = attributes.count("width", 1);
  const yaml::Node* block_node = attributes.find("block_size");
  const auto block = attributes.count(block_node, "block_size", 1);
  if (!width && !block) return;
  if (block_node != nullptr && !block) return;
  const Count word = storage.word_bits;
  // Beyond any width in 64 bits, nothing divides it.
  const bool huge = storage.cluster_size > (Count{1} << 32) || block.value_or(1) > (Count{1} << 32);
  storage.block_size = block ? *block : huge ? 0 : *width / (word * storage.cluster_size);
  if (!width) return;
  const Count unit = huge ? 0 : word * std::max<Count>(1, storage.block_size);
  if (storage.block_size >= 1 && unit > 0 && *width % unit == 0) return;
  auto& diagnostic = found.error(
      "O0320", fmt::format("`{}`: a width of {} bits is not a whole number of blocks", component.name, *width),
      attributes.find("width")->where);
  if (huge) {
    diagnostic.note("block_size and cluster_size must stay below 2^32");
  } else if (storage.block_size < 1) {
    diagnostic.note(fmt::format("width / (datawidth * cluster_size) = {} / ({} * {}) is less than one word", *width,
                                word, storage.cluster_size));
  } else {
    diagnostic.note(fmt::format("{} bits % (datawidth {} * block_size {}) = {} % {} = {}, must be 0", *width, word,
                                storage.block_size, *width, unit, *width % unit));
  }
  diagnostic.hint(fmt::format("make width a multiple of {}", word * storage.cluster_size));
  storage.block_size = 1;
}

void read_capacity(const Component& component, const Attributes& attributes, machine::Storage& storage,
                   base::Diagnostics& found) {
  const yaml::Node* entries_node = attributes.find("entries");
  const yaml::Node* depth_node = attributes.find("depth");
  const auto entries = attributes.count(entries_node, "entries", 0);
  const auto depth = attributes.count(depth_node, "depth", 0);
  if (entries_node != nullptr) {
    // What `--set` says of the depth counts, whatever the file says of entries.
    const auto set = [](const yaml::Node* node) {
      return node != nullptr && node->where.file != nullptr && node->where.file->name == "<--set>";
    };
    const bool depth_counts = set(depth_node) && !set(entries_node);
    Count from_depth = 0;
    const bool overflows = depth && __builtin_mul_overflow(*depth, storage.block_size, &from_depth);
    if (entries && depth && (overflows || from_depth != *entries)) {
      const std::string made = overflows ? "more than 2^63" : fmt::format("{}", from_depth);
      found
          .warning("O0324",
                   fmt::format("`{}` has {} entries, but its depth and width make {}", component.name, *entries, made),
                   entries_node->where)
          .also(depth_node->where, "the depth")
          .note(fmt::format("depth {} * {} words a row {} {} words; `{}` counts", *depth, storage.block_size,
                            overflows ? "make" : "=", made, depth_counts ? "--set" : "entries"));
    }
    if (!depth_counts) {
      storage.capacity_words = entries;
      storage.capacity_where = entries_node->where;
      return;
    }
  }
  if (depth_node != nullptr) {
    storage.capacity_where = depth_node->where;
    if (depth) storage.capacity_words = product(*depth, storage.block_size, component, depth_node->where, found);
    return;
  }
  const yaml::Node* size_node = attributes.find("sizeKB");
  if (size_node == nullptr) return;
  storage.capacity_where = size_node->where;
  if (const auto size = attributes.number("sizeKB")) {
    const double words = std::floor(*size * 8192 / storage.word_bits);
    storage.capacity_words = base::whole_number(words);  // beyond 2^63 it holds whatever can be counted
  }
}

void read_bandwidths(const Attributes& attributes, machine::Storage& storage) {
  const auto limited = [&](std::string_view key) {
    auto words = attributes.number(key);
    if (words && std::isinf(*words)) words.reset();
    return words;
  };
  const auto port = [&](std::string_view key, std::optional<double>& words_per_cycle, base::Location& where) {
    words_per_cycle = limited(key);
    if (words_per_cycle) where = attributes.find(key)->where;
  };
  port("read_bandwidth", storage.read_words_per_cycle, storage.read_bandwidth_where);
  port("write_bandwidth", storage.write_words_per_cycle, storage.write_bandwidth_where);
  port("shared_bandwidth", storage.shared_words_per_cycle, storage.shared_bandwidth_where);
  if (const auto both = limited("bandwidth")) {
    const auto half = [&](std::optional<double>& words_per_cycle, base::Location& where) {
      if (words_per_cycle) return;
      words_per_cycle = *both / 2;
      where = attributes.find("bandwidth")->where;
    };
    half(storage.read_words_per_cycle, storage.read_bandwidth_where);
    half(storage.write_words_per_cycle, storage.write_bandwidth_where);
  }
}

// "router_energy 3, wire_energy 1": what is given and not 0.
// What no storage names carries nothing.
void warn_of_unattached(const machine::Chip& chip, base::Diagnostics& found) {
  for (const machine::Network& network : chip.networks) {
    const bool attached = std::any_of(chip.storages.begin(), chip.storages.end(), [&](const machine::Storage& storage) {
      return network.name == storage.network_read || network.name == storage.network_update ||
             network.name == storage.network_fill || network.name == storage.network_drain;
    });
    if (attached) continue;
    found
        .warning("O0325", fmt::format("nothing passes over the network `{}`: no storage names it", network.name),
                 network.where)
        .note("its transfers are counted as 0 pJ")
        .hint(fmt::format("give the storage above it the attributes `network_read: {0}`, `network_update: {0}`",
                          network.name));
  }
}

std::string costs_per_hop(const Attributes& attributes) {
  std::string costs;
  for (std::string_view key : {"router_energy", "wire_energy", "energy_per_hop"}) {
    const auto energy = attributes.number(key);
    if (energy && *energy != 0) costs += fmt::format("{}{} {}", costs.empty() ? "" : ", ", key, *energy);
  }
  return costs;
}

// What Timeloop charges or throttles by, and Orrery does not. Each in a warning of its own, with its place.
void warn_of_unpriced(const Component& component, const Attributes& attributes, base::Diagnostics& found) {
  const auto warn = [&](const yaml::Node& at, const std::string& what, const char* effect) {
    found.warning("O0325", fmt::format("{} of storage `{}` is not priced", what, component.name), at.where)
        .note(effect)
        .hint("docs/compatibility.md lists what differs from Timeloop");
  };
  for (const char* key : {"router_energy", "wire_energy", "energy_per_hop"}) {
    const auto energy = attributes.number(key);
    if (energy && *energy != 0)
      warn(*attributes.find(key), fmt::format("`{}`", key), "energy per hop and per router is counted as 0");
  }
  if (const auto energy = attributes.number("addr_gen_energy"); energy && *energy != 0)
    warn(*attributes.find("addr_gen_energy"), "`addr_gen_energy`", "generating addresses is counted as free");
  if (const yaml::Node* scale = attributes.find("per_dataspace_bandwidth_consumption_scale"))
    warn(*scale, "`per_dataspace_bandwidth_consumption_scale`", "a word of every dataspace takes the same bandwidth");
  if (const yaml::Node* gate = attributes.find("power_gated_at");
      gate && gate->is_scalar() && !gate->scalar.empty() && gate->scalar != "null" && gate->scalar != component.name)
    warn(*gate, "`power_gated_at`", "all instances in use leak, and no others");
}

bool is_made_fanout(const Component& component) {
  return component.class_name == "dummy_storage" && !machine::container_of(component.name).empty();
}

machine::Storage read_storage(const Component& component, base::Diagnostics& found) {
  machine::Storage storage;
  storage.name = component.name;
  storage.class_name = component.class_name;
  storage.is_dram = component.class_name.find("DRAM") != std::string::npos;
  storage.pass_through = is_made_fanout(component);
  storage.where = component.where;
  const Mesh mesh = mesh_of(component, found);
  storage.instances = mesh.instances;
  storage.mesh_x = mesh.x;
  storage.mesh_y = mesh.y;
  if (component.frame == nullptr) {
    storage.word_bits = 1;
    storage.capacity_words = 1;
    storage.capacity_where = component.where;
    return storage;
  }
  const Attributes attributes(component, found);
  read_block(component, attributes, storage, found);
  read_capacity(component, attributes, storage, found);
  read_bandwidths(attributes, storage);
  storage.multiple_buffering = attributes.number("multiple_buffering").value_or(1);
  storage.min_utilization = attributes.number("min_utilization").value_or(0);
  if (storage.min_utilization > 1) {
    found.error("O0321",
                fmt::format("`min_utilization` of `{}` is a share from 0 to 1, but is {}", component.name,
                            storage.min_utilization),
                attributes.find("min_utilization")->where);
  }
  storage.network_fill_latency_cycles = attributes.count("network_fill_latency", 0).value_or(0);
  storage.network_drain_latency_cycles = attributes.count("network_drain_latency", 0).value_or(0);
  storage.network_read = attributes.text("network_read");
  storage.network_update = attributes.text("network_update");
  storage.network_fill = attributes.text("network_fill");
  storage.network_drain = attributes.text("network_drain");
  warn_of_unpriced(component, attributes, found);
  if (const auto energy = attributes.energy("vector_access_energy")) {
    storage.energy = {*energy, *energy, *energy, 0};
    storage.energy_from_user = true;
  }
  return storage;
}

machine::Compute read_compute(const Component& component, base::Diagnostics& found) {
  machine::Compute compute;
  compute.name = component.name;
  compute.class_name = component.class_name;
  compute.where = component.where;
  const Mesh mesh = mesh_of(component, found);
  compute.instances = mesh.instances;
  compute.mesh_x = mesh.x;
  compute.mesh_y = mesh.y;
  compute.word_bits = word_bits_of(Attributes(component, found));
  return compute;
}

machine::Network read_network(const Component& component, base::Diagnostics& found) {
  const Attributes attributes(component, found);
  machine::Network network;
  network.name = component.name;
  network.class_name = component.class_name;
  network.where = component.where;
  network.word_bits = word_bits_of(attributes);
  if (std::string action = attributes.text("action_name"); !action.empty()) network.action_name = std::move(action);
  network.per_dataspace = attributes.flag("per_datatype_ERT", false);
  network.fill_latency_cycles = attributes.count("fill_latency", 0).value_or(0);
  network.drain_latency_cycles = attributes.count("drain_latency", 0).value_or(0);
  if (const std::string costs = costs_per_hop(attributes); !costs.empty()) {
    found
        .warning("O0325", fmt::format("the hops of network `{}` are not priced ({})", component.name, costs),
                 component.where)
        .note("energy per hop and per router is counted as 0")
        .hint("a SimpleMulticast network with an ERT prices its transfers");
  }
  return network;
}

void check_names(std::span<const Component> components, base::Diagnostics& found) {
  std::map<std::string_view, const Component*> seen;
  for (const Component& component : components) {
    const auto [first, added] = seen.emplace(component.name, &component);
    if (added) continue;
    found.error("O0309", fmt::format("two components are named `{}`", component.name), component.where)
        .also(first->second->where, "the first");
  }
}

// The `local` list of v3 that a component stands in; empty in v4.
std::string_view list_of(const Component& component) {
  const std::string_view path = component.table_path;
  return path.substr(0, path.rfind('.', path.ends_with(']') ? path.rfind('[') : path.npos) + 1);
}

// Among the components of one `local` list the arithmetic may stand anywhere.
void move_compute_inside(std::vector<const Component*>& chain) {
  const auto compute = std::find_if(chain.begin(), chain.end(), [](const Component* component) {
    return kind_of(*component) == ComponentKind::kCompute && !component->table_path.empty();
  });
  if (std::all_of(compute, chain.end(), [&](const Component* inner) { return list_of(*inner) == list_of(**compute); }))
    std::rotate(compute, compute == chain.end() ? compute : compute + 1, chain.end());
}

}  // namespace

machine::Chip build_levels(std::span<const Component> components, Purpose purpose, Apart& apart,
                           base::Diagnostics& found) {
  check_names(components, found);
  machine::Chip chip;
  std::vector<const Component*> chain;  // outermost first, networks left out
  for (const Component& component : components) {
    if (kind_of(component) == ComponentKind::kNetwork) {
      chip.networks.push_back(read_network(component, found));
    } else if (purpose == Purpose::kMapping && is_wire(component)) {
      found
          .warning("O0325",
                   fmt::format("the wire `{}` is not priced: no figure holds its energy or its area", component.name),
                   component.where)
          .note("a mapping does not say how far words travel on it; Timeloop leaves it out as well")
          .hint("`orrery energy` has its figures; a SimpleMulticast network with an ERT prices transfers");
    } else {
      chain.push_back(&component);
    }
  }
  if (purpose == Purpose::kMapping) move_compute_inside(chain);
  // The innermost component is the arithmetic, whatever its class is called, unless it is a store. Where nothing is
  // mapped, a class that says nothing need not compute: it may be a converter.
  const auto computes = [&](ComponentKind kind) {
    return kind == ComponentKind::kCompute || (kind == ComponentKind::kUnknown && purpose == Purpose::kMapping);
  };
  if (!chain.empty() && computes(kind_of(*chain.back()))) {
    chip.compute = read_compute(*chain.back(), found);
    chain.pop_back();
  }
  for (auto component = chain.rbegin(); component != chain.rend(); ++component) {
    const ComponentKind kind = kind_of(**component);
    if (kind == ComponentKind::kStorage) {
      chip.storages.push_back(read_storage(**component, found));
    } else if (purpose == Purpose::kEstimate) {
      apart.emplace((*component)->name, mesh_of(**component, found).instances);
    } else if (kind == ComponentKind::kCompute) {
      found
          .error("O0308", fmt::format("`{}` computes, but is not the innermost component", (*component)->name),
                 (*component)->where)
          .also(chip.compute.name.empty() ? chain.back()->where : chip.compute.where, "the innermost component")
          .hint("a chip has one kind of compute unit, inside all storages");
    } else {
      found
          .error("O0307",
                 fmt::format("class `{}` of `{}` is not a storage, network or compute that is known here",
                             (*component)->class_name, (*component)->name),
                 (*component)->where)
          .hint(
              "a storage has a class named after SRAM, DRAM, regfile, smartbuffer or storage, or an attribute "
              "`depth` or `entries`")
          .hint("set `enabled: false` for a component that takes no part in the mapping");
    }
  }
  if (purpose == Purpose::kMapping) warn_of_unattached(chip, found);
  base::Diagnostics rules;
  machine::check(chip, rules);
  for (const base::Diagnostic& rule : rules.all()) {
    // No storage, no compute, fan-outs that do not divide, meshes of other sizes: nothing could be mapped, but what is
    // there has a price.
    constexpr auto kOfMaps = std::to_array<std::string_view>({"O0310", "O0311", "O0312", "O0314"});
    if (purpose == Purpose::kEstimate && std::find(kOfMaps.begin(), kOfMaps.end(), rule.code) != kOfMaps.end())
      continue;
    found.add(rule);
  }
  return chip;
}

}  // namespace orrery::formats::timeloop
