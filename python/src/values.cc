// Chips, models, systems, einsums and mappings, prepared once: orrery.h. How they were made is kept in Python
// (orrery/values.py), so that they can be compared, pickled and changed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "orrery/formats/timeloop/documents/map_text.h"
#include "orrery/orrery.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;
using Settings = std::vector<std::pair<std::string, std::string>>;
using Texts = std::vector<std::string>;

Reading reading(const Settings& settings) {
  Reading how;
  for (const auto& [path, value] : settings) how.overrides.push_back({path, value});
  return how;
}

// `how` is "name", "files" or "text".
Chip make_chip(const std::string& how, const Texts& what, const Settings& settings) {
  const nb::gil_scoped_release released;
  const Reading as = reading(settings);
  return how == "files"  ? Chip::from_files(what, as)
         : how == "text" ? Chip::from_text(what.at(0), as)
                         : Chip::named(what.at(0), as);
}

template <typename Value>
Value make(const std::string& how, const Texts& what, const Settings& settings) {
  const nb::gil_scoped_release released;
  const Reading as = reading(settings);
  return how == "text" ? Value::from_text(what.at(0), as) : Value::named(what.at(0), as);
}

// A limit of memory holds for the whole process, of which much may be Python's.
std::size_t default_memory() {
  char text[128] = {};  // not a stream: it would take longer than a small search
  unsigned long pages = 0, resident = 0;
  if (const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC); file >= 0) {
    if (::read(file, text, sizeof text - 1) > 0) std::sscanf(text, "%lu %lu", &pages, &resident);
    ::close(file);
  }
  return base::kDefaultMemory + resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

nest::Metric metric(const std::string& name) {
  if (name == "edp") return nest::Metric::kEdp;
  if (name == "energy") return nest::Metric::kEnergy;
  if (name == "delay") return nest::Metric::kDelay;
  throw nb::value_error(fmt::format("objective: edp, energy or delay is expected, not `{}`", name).c_str());
}

nest::Optimum best_mapping(const Chip& chip, const workload::Einsum& einsum, const Texts& objective, double seconds,
                           std::size_t memory, int threads) {
  MapOptions options;
  for (const std::string& name : objective) options.objective.push_back(metric(name));
  options.limits.seconds = seconds;
  options.limits.threads = threads;
  const nb::gil_scoped_release released;
  options.limits.memory = memory > 0 ? memory : default_memory();
  return map(chip, einsum, options);
}

// Loops of a level, outermost first: (dimension, iterations, "temporal", "X" or "Y").
nb::list loops(const nest::Mapping& mapping) {
  nb::list out;
  for (const nest::LevelMapping& level : mapping.levels)
    out.append(nb::make_tuple(level.temporal, level.temporal_order, level.spatial, level.spatial_order, level.split,
                              level.keep, level.temporal_last, level.spatial_last));
  return out;
}

nest::Mapping from_loops(const nb::list& levels) {
  nest::Mapping out;
  for (const nb::handle each : levels) {
    const auto of = nb::cast<nb::tuple>(each);
    if (of.size() != 8) throw nb::type_error("levels: eight entries a level are expected, as `levels` gives them");
    nest::LevelMapping level;
    level.temporal = nb::cast<std::vector<Count>>(of[0]);
    level.temporal_order = nb::cast<std::vector<int>>(of[1]);
    level.spatial = nb::cast<std::vector<Count>>(of[2]);
    level.spatial_order = nb::cast<std::vector<int>>(of[3]);
    level.split = nb::cast<int>(of[4]);
    level.keep = nb::cast<std::uint32_t>(of[5]);
    level.temporal_last = nb::cast<std::vector<Count>>(of[6]);
    level.spatial_last = nb::cast<std::vector<Count>>(of[7]);
    out.levels.push_back(std::move(level));
  }
  return out;
}

bool every_dimension_once(std::vector<int> order, std::size_t dimensions) {
  std::sort(order.begin(), order.end());
  for (std::size_t d = 0; d < order.size(); ++d)
    if (order[d] != static_cast<int>(d)) return false;
  return order.size() == dimensions;
}

// Whether it is what the engine takes for granted: loops of this einsum on as many storages as the chip has.
bool is_of(const nest::Mapping& mapping, const machine::Chip& chip, const workload::Einsum& einsum) {
  const std::size_t dimensions = einsum.dimensions.size();
  if (mapping.levels.size() != chip.storages.size()) return false;
  nest::Mapping again = mapping;  // with the last rounds that its iterations leave
  for (nest::LevelMapping& level : again.levels) {
    for (const std::vector<Count>* counts : {&level.temporal, &level.spatial}) {
      if (counts->size() != dimensions) return false;
      for (const Count count : *counts)
        if (count < 1) return false;
    }
    if (!every_dimension_once(level.temporal_order, dimensions) ||
        !every_dimension_once(level.spatial_order, dimensions))
      return false;
    if (level.split < 0 || static_cast<std::size_t>(level.split) > dimensions) return false;
    if (level.keep >> einsum.dataspaces.size() != 0) return false;
    level.temporal_last.clear(), level.spatial_last.clear();
  }
  std::vector<Count> bounds;
  for (const workload::Dimension& dimension : einsum.dimensions) bounds.push_back(dimension.bound);
  return nest::complete(again, bounds) && again == mapping;
}

nest::Evaluation evaluated(const Chip& chip, const workload::Einsum& einsum, const nest::Mapping& mapping) {
  if (!is_of(mapping, chip.value(), einsum))
    throw nb::value_error(fmt::format("mapping: its loops are not those of `{}` on a chip of {} storages", einsum.name,
                                      chip.value().storages.size())
                              .c_str());
  return evaluate(chip, einsum, mapping);
}

void define_mappings(nb::module_& m) {
  nb::class_<nest::Mapping>(m, "Mapping")
      .def(
          "__init__", [](nest::Mapping* self, const nb::list& levels) { new (self) nest::Mapping(from_loops(levels)); },
          nb::arg("levels"))
      .def("levels", &loops)
      .def(
          "__eq__", [](const nest::Mapping& a, const nest::Mapping& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "text",
          [](const nest::Mapping& self, const workload::Einsum& einsum, const Chip& chip) {
            if (!is_of(self, chip.value(), einsum))
              throw nb::value_error("text: the mapping is of another einsum or chip");
            return formats::timeloop::one_line(einsum, self, chip.value());
          },
          nb::arg("einsum"), nb::arg("chip"));
  nb::class_<nest::Evaluation>(m, "Evaluation")
      .def_ro("energy_pj", &nest::Evaluation::energy_pj)
      .def_ro("cycles", &nest::Evaluation::cycles)
      .def_ro("utilization", &nest::Evaluation::utilization)
      .def_ro("edp_j_cycles", &nest::Evaluation::edp_j_cycles);
  nb::class_<base::Certificate>(m, "Certificate")
      .def_ro("optimal", &base::Certificate::optimal)
      .def_ro("lower_bound", &base::Certificate::lower_bound)
      .def_ro("gap", &base::Certificate::gap)
      .def_ro("space", &base::Certificate::space)
      .def_ro("evaluated", &base::Certificate::evaluated)
      .def_ro("seconds", &base::Certificate::seconds);
  nb::class_<nest::Optimum>(m, "Optimum")
      .def_ro("mapping", &nest::Optimum::mapping)
      .def_prop_ro("energy_pj", [](const nest::Optimum& self) { return self.evaluation.energy_pj; })
      .def_prop_ro("cycles", [](const nest::Optimum& self) { return self.evaluation.cycles; })
      .def_prop_ro("utilization", [](const nest::Optimum& self) { return self.evaluation.utilization; })
      .def_prop_ro("edp_j_cycles", [](const nest::Optimum& self) { return self.evaluation.edp_j_cycles; })
      .def_ro("certificate", &nest::Optimum::certificate)
      .def_ro("infeasible", &nest::Optimum::infeasible)
      .def_ro("arithmetic", &nest::Optimum::arithmetic)
      .def_ro("ways_out", &nest::Optimum::ways_out);
}

// (name, coordinates, whether it is an output, bits); a coordinate lists (dimension, coefficient).
using Terms = std::vector<std::pair<std::string, Count>>;
using Tensor = std::tuple<std::string, std::vector<Terms>, bool, Count>;

std::vector<Tensor> tensors(const workload::Einsum& einsum) {
  std::vector<Tensor> out;
  for (const workload::Dataspace& each : einsum.dataspaces) {
    std::vector<Terms> ranks;
    for (const workload::Rank& rank : each.ranks) {
      Terms terms;
      for (const workload::Term& term : rank.terms)
        terms.emplace_back(einsum.dimensions[static_cast<std::size_t>(term.dimension)].name, term.coefficient);
      ranks.push_back(std::move(terms));
    }
    out.emplace_back(each.name, std::move(ranks), each.read_write, each.bits);
  }
  return out;
}

void make_einsum(workload::Einsum* self, const std::string& name, const Terms& bounds,
                 const std::vector<Tensor>& tensors) {
  workload::Einsum made;
  made.name = name;
  for (const auto& [dimension, bound] : bounds) {
    if (bound < 1) throw nb::value_error(fmt::format("bounds: `{}` is at least 1, not {}", dimension, bound).c_str());
    made.dimensions.push_back({dimension, bound});
  }
  for (const auto& [tensor, coordinates, output, bits] : tensors) {
    workload::Dataspace space{tensor, {}, output, bits};
    for (const Terms& terms : coordinates) {
      workload::Rank rank;
      for (const auto& [dimension, coefficient] : terms) {
        const int index = made.dimension_index(dimension);
        if (index < 0) throw nb::value_error(fmt::format("{}: there is no dimension `{}`", tensor, dimension).c_str());
        rank.terms.push_back({index, coefficient});
      }
      space.ranks.push_back(std::move(rank));
    }
    made.dataspaces.push_back(std::move(space));
  }
  new (self) workload::Einsum(std::move(made));
}

nb::list bounds(const workload::Einsum& einsum) {
  nb::list out;
  for (const workload::Dimension& each : einsum.dimensions) out.append(nb::make_tuple(each.name, each.bound));
  return out;
}

}  // namespace

void define_values(nb::module_& m) {
  nb::class_<workload::Einsum>(m, "Einsum")
      .def("__init__", &make_einsum, nb::arg("name"), nb::arg("bounds"), nb::arg("tensors"))
      .def_ro("name", &workload::Einsum::name)
      .def("bounds", &bounds)
      .def("tensors", &tensors)
      .def("operations", &workload::Einsum::operations);
  m.def("matmul", &workload::matmul, nb::arg("name"), nb::arg("d"), nb::arg("e"), nb::arg("l"));
  define_mappings(m);
  nb::class_<Chip>(m, "Chip")
      .def_static("make", &make_chip, nb::arg("how"), nb::arg("what"), nb::arg("settings"))
      .def("problem", [](const Chip& self) { return self.problem(); })
      .def("mapping", [](const Chip& self) { return self.mapping(); })
      .def("map", &best_mapping, nb::arg("einsum"), nb::arg("objective"), nb::arg("seconds"), nb::arg("memory"),
           nb::arg("threads"))
      .def("evaluate", &evaluated, nb::arg("einsum"), nb::arg("mapping"));
  nb::class_<Model>(m, "Model")
      .def_static("make", &make<Model>, nb::arg("how"), nb::arg("what"), nb::arg("settings"))
      .def(
          "with_sizes", [](const Model& self, const Settings& sizes) { return self.with(reading(sizes).overrides); },
          nb::arg("sizes"))
      .def(
          "block",
          [](const Model& self, Count batch, Count sequence) {
            nb::list out;
            for (const workload::Operator& each : self.block(batch, sequence))
              out.append(nb::make_tuple(each.name, each.einsum, each.instances));
            return out;
          },
          nb::arg("batch"), nb::arg("sequence"));
  nb::class_<System>(m, "System")
      .def_static("make", &make<System>, nb::arg("how"), nb::arg("what"), nb::arg("settings"));
  m.def(
      "check_setup",
      [](const std::string& how, const std::string& what, const Settings& settings) {
        const Reading as = reading(settings);
        how == "text" ? setup_from_text(what, as) : setup_from_file(what, as);
        return true;
      },
      nb::arg("how"), nb::arg("what"), nb::arg("settings"), "Reads a setup; refuses what is wrong with it.");
}

}  // namespace orrery::python
