#include "orrery/formats/accelforge/fused_problem_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/accelforge/architecture_reader.h"
#include "orrery/formats/accelforge/keep_choices.h"
#include "orrery/formats/accelforge/workload_reader.h"

namespace orrery::formats::accelforge {
namespace {

using Part = ComponentSpec::Kind;

class Assembler {
 public:
  Assembler(const WorkloadSpec& workload, const ArchitectureSpec& architecture, const ComponentPrices& prices,
            base::Diagnostics& found)
      : workload_(workload), architecture_(architecture), prices_(prices), found_(found) {}

  fused::Problem assemble() {
    add_tensors();
    for (const EinsumSpec& spec : workload_.einsums) add_einsum(spec);
    for (const EinsumSpec& spec : workload_.einsums) add_chip(spec);
    add_places();
    check_outermost();
    return std::move(problem_);
  }

 private:
  void add_tensors() {
    std::set<std::string> made, read;
    for (const EinsumSpec& einsum : workload_.einsums)
      for (const AccessSpec& access : einsum.accesses) (access.output ? made : read).insert(access.tensor);
    for (const EinsumSpec& einsum : workload_.einsums)
      for (std::size_t i = 0; i < einsum.accesses.size(); ++i) {
        const AccessSpec& access = einsum.accesses[i];
        if (!tensors_.emplace(access.tensor, static_cast<int>(problem_.tensors.size())).second) continue;
        fused::Tensor tensor;
        tensor.name = access.tensor;
        for (const auto& [rank, variable] : access.projection) tensor.ranks.push_back(rank);
        tensor.bits = einsum.symbols.bits_of[i];
        const bool is_made = made.count(access.tensor) > 0, is_read = read.count(access.tensor) > 0;
        tensor.kind = is_made && is_read  ? fused::TensorKind::kIntermediate
                      : is_made           ? fused::TensorKind::kOutput
                      : access.persistent ? fused::TensorKind::kWeight
                                          : fused::TensorKind::kInput;
        problem_.tensors.push_back(std::move(tensor));
      }
  }

  // A variable of one name is one variable where it is of one size.
  int variable(const std::string& name, base::Count bound) {
    const auto known = std::find_if(problem_.variables.begin(), problem_.variables.end(),
                                    [&](const auto& one) { return one.name == name && one.bound == bound; });
    if (known == problem_.variables.end()) {
      problem_.variables.push_back({name, bound});
      return static_cast<int>(problem_.variables.size()) - 1;
    }
    return static_cast<int>(known - problem_.variables.begin());
  }

  void add_einsum(const EinsumSpec& spec) {
    fused::Einsum einsum;
    einsum.name = spec.name;
    einsum.copy = spec.copy;
    einsum.times = spec.times;
    for (std::size_t v = 0; v < spec.sizes.size(); ++v)
      einsum.variables.push_back(variable(spec.symbols.variables[v], spec.sizes[v]));
    for (const AccessSpec& access : spec.accesses) {
      fused::Access made;
      made.tensor = tensors_.at(access.tensor);
      // In the order of the tensor's ranks, which another einsum may have written otherwise.
      for (const std::string& rank : problem_.tensors[static_cast<std::size_t>(made.tensor)].ranks) {
        const auto at = std::find_if(access.projection.begin(), access.projection.end(),
                                     [&](const auto& one) { return one.first == rank; });
        if (at == access.projection.end() ||
            access.projection.size() != problem_.tensors[static_cast<std::size_t>(made.tensor)].ranks.size())
          base::fail("O2109", fmt::format("`{}` has other ranks here than before: {}", access.tensor, ranks_text(made)),
                     access.where, "a rank is its variable in capitals; write `M: p` where p walks over rank M");
        const auto& names = spec.symbols.variables;
        const auto v = static_cast<std::size_t>(std::find(names.begin(), names.end(), at->second) - names.begin());
        made.variables.push_back(einsum.variables[v]);
      }
      einsum.accesses.push_back(std::move(made));
    }
    problem_.einsums.push_back(std::move(einsum));
  }
  std::string ranks_text(const fused::Access& access) const {
    std::string text;
    for (const std::string& rank : problem_.tensors[static_cast<std::size_t>(access.tensor)].ranks)
      text += (text.empty() ? "`" : ", `") + rank + "`";
    return text;
  }

  // What the chip is to one einsum. The first says what parts cost; others may differ in what the engine has rows for.
  void add_chip(const EinsumSpec& spec) {
    fused::Einsum& einsum = problem_.einsums[at_++];
    Symbols symbols = spec.symbols;
    symbols.names.insert(architecture_.variables.begin(), architecture_.variables.end());
    fused::Machine& machine = problem_.machine;
    const bool first = at_ == 1;
    int position = 0;
    double instances = 1;
    std::size_t storages = 0, fanouts = 0, units = 0;
    std::vector<const ComponentSpec*> memories, computes;
    std::vector<bool> enabled;
    for (const ComponentSpec& component : architecture_.components) {
      for (const yaml::Node* node : component.spatial) {
        const SpreadFigures spread = spread_of(*node, symbols, first ? found_ : ignored_);
        instances *= spread.ways;
        if (first)
          machine.fanouts.push_back({component.name + "." + spread.name, position, base::saturated(spread.ways)});
        else if (machine.fanouts[fanouts].ways != base::saturated(spread.ways))
          differs("the fan-out", spread.name, spec, node->where);
        ++fanouts;
        ++position;
        einsum.fanouts.push_back(rule_of(spread, spec));
      }
      if (component.kind == Part::kContainer) continue;
      const ComponentFigures figures = figures_of(component, architecture_, prices_, symbols);
      if (component.kind == Part::kMemory) {
        memories.push_back(&component);
        enabled.push_back(figures.enabled);
        fused::Storage storage = storage_of(component, figures, position, instances);
        einsum.capacity.push_back(figures.size);
        einsum.bits.push_back(figures.bits.empty() ? spec.symbols.bits_of : figures.bits);
        if (first)
          machine.storages.push_back(std::move(storage));
        else if (!same(machine.storages[storages], storage))
          differs("what a bit costs", component.name, spec, component.node->where);
        ++storages;
      } else {
        fused::Unit unit = unit_of(component, figures, position, instances);
        if (first)
          machine.units.push_back(std::move(unit));
        else if (machine.units[units].energy != unit.energy || machine.units[units].rate != unit.rate)
          differs("what a computation costs", component.name, spec, component.node->where);
        if (figures.enabled) {
          einsum.unit = static_cast<int>(units);
          computes.push_back(&component);
        }
        ++units;
      }
      ++position;
    }
    check_units(spec, computes);
    const KeepChoices choices = keep_choices(memories, enabled, symbols, first ? found_ : ignored_);
    einsum.keep = choices.keep;
    for (std::size_t a = 0; a < spec.accesses.size(); ++a) note_places(spec, a, choices, memories);
  }

  [[noreturn]] void differs(const std::string& what, const std::string& name, const EinsumSpec& spec,
                            const base::Location& where) const {
    base::fail("O2104",
               fmt::format("{} of `{}` is another for einsum `{}` than for `{}`: not supported", what, name, spec.name,
                           workload_.einsums[0].name),
               where, "sizes, bits of values and what is kept may depend on the einsum");
  }

  static double rate(double time) { return time > 0 ? 1 / time : fused::kUnlimited; }

  static fused::Storage storage_of(const ComponentSpec& component, const ComponentFigures& figures, int position,
                                   double instances) {
    fused::Storage made;
    made.name = component.name;
    made.position = position;
    made.capacity = figures.size;
    made.read_energy = figures.read_energy;
    made.write_energy = figures.write_energy;
    made.read_rate = rate(figures.read_time);
    made.write_rate = rate(figures.write_time);
    made.ports = figures.separate_ports ? fused::Ports::kSeparate : fused::Ports::kShared;
    made.leakage = figures.leak_power * instances;
    made.exchange = instances == 1 && position > 0;
    return made;
  }
  static bool same(const fused::Storage& a, const fused::Storage& b) {
    return a.read_energy == b.read_energy && a.write_energy == b.write_energy && a.read_rate == b.read_rate &&
           a.write_rate == b.write_rate && a.ports == b.ports && a.leakage == b.leakage;
  }
  static fused::Unit unit_of(const ComponentSpec& component, const ComponentFigures& figures, int position,
                             double instances) {
    return {component.name, position, figures.read_energy, rate(figures.read_time), figures.leak_power * instances};
  }

  static fused::FanoutRule rule_of(const SpreadFigures& spread, const EinsumSpec& spec) {
    fused::FanoutRule rule;
    const Symbols& symbols = spec.symbols;
    for (std::size_t v = 0; v < symbols.variables.size(); ++v) {
      bool allowed = (spread.single >> v & 1) == 0;
      for (std::size_t t = 0; t < symbols.tensors.size(); ++t)
        if ((spread.reused_by_all >> t & 1) != 0 && (symbols.variables_of[t] >> v & 1) != 0) allowed = false;
      rule.allowed.push_back(allowed);
    }
    for (std::size_t t = 0; t < symbols.tensors.size(); ++t) rule.shares.push_back((spread.shared >> t & 1) != 0);
    rule.min_usage = spec.copy ? 0 : spread.min_usage;
    return rule;
  }

  static void check_units(const EinsumSpec& spec, const std::vector<const ComponentSpec*>& computes) {
    if (computes.size() == 1) return;
    base::Diagnostics own;
    auto& error =
        own.error("O2107",
                  computes.empty() ? fmt::format("no unit computes einsum `{}`", spec.name)
                                   : fmt::format("several units may compute einsum `{}`: which is open", spec.name),
                  spec.where);
    for (const ComponentSpec* one : computes) error.also(one->node->where, fmt::format("`{}` may", one->name));
    error.hint("`enabled` of a !Compute node says for which einsums it is, as in `enabled: len(All) == 3`");
    throw base::InputError(own.all());
  }

  // Where a tensor that several einsums touch may be handed on.
  struct Places {
    bool outermost = true, inside = true;
    base::Location where;
  };
  void note_places(const EinsumSpec& spec, std::size_t a, const KeepChoices& choices,
                   const std::vector<const ComponentSpec*>& memories) {
    const int tensor = tensors_.at(spec.accesses[a].tensor);
    const bool handed_on = problem_.tensors[static_cast<std::size_t>(tensor)].kind == fused::TensorKind::kIntermediate;
    if (!handed_on && !choices.outermost[a])
      base::fail("O2108",
                 fmt::format("`{}` must be able to hold `{}`, which comes from outside or goes there",
                             memories[0]->name, spec.accesses[a].tensor),
                 memories[0]->node->where, "say `tensors: {keep: ~Intermediates, may_keep: All}` there");
    Places& places = places_.try_emplace(tensor).first->second;
    places.outermost = places.outermost && choices.outermost[a];
    places.inside = places.inside && choices.inside[a];
    places.where = spec.accesses[a].where;
  }

  void add_places() {
    std::vector<int> exchanges;
    for (std::size_t s = 0; s < problem_.machine.storages.size(); ++s)
      if (problem_.machine.storages[s].exchange) exchanges.push_back(static_cast<int>(s));
    for (const auto& [tensor, places] : places_) {
      const fused::Tensor& one = problem_.tensors[static_cast<std::size_t>(tensor)];
      if (one.kind != fused::TensorKind::kIntermediate || (places.outermost && places.inside)) continue;
      if (!places.outermost && !places.inside)
        base::fail("O2108", fmt::format("no memory may hand `{}` on from einsum to einsum", one.name), places.where);
      if (!places.outermost && exchanges.size() != 1)
        base::fail(
            "O2108",
            fmt::format("`{}` must be handed on inside the chip, and {} memories outside of all fan-outs may do it",
                        one.name, exchanges.size()),
            places.where);
      fused::FuseRule rule;
      rule.tensor = tensor;
      rule.at = places.outermost ? 0 : exchanges[0];
      problem_.fuse.push_back(rule);
    }
  }

  // The outermost memory holds every tensor at once, or fewer: what is counted is all of them.
  void check_outermost() const {
    const double size = problem_.machine.storages[0].capacity;
    double bits = 0;
    for (const fused::Tensor& tensor : problem_.tensors) {
      double words = 1;
      for (const fused::Einsum& einsum : problem_.einsums)
        for (const fused::Access& access : einsum.accesses)
          if (&problem_.tensors[static_cast<std::size_t>(access.tensor)] == &tensor) {
            double here = 1;
            for (const int v : access.variables)
              here *= static_cast<double>(problem_.variables[static_cast<std::size_t>(v)].bound);
            words = std::max(words, here);
          }
      bits += words * tensor.bits;
    }
    if (bits > size)
      base::fail(
          "O2104",
          fmt::format("all tensors together have {:.0f} bits, and `{}` holds {:.0f}: sharing it is not supported", bits,
                      problem_.machine.storages[0].name, size),
          architecture_.components[0].node->where, "say `size: inf` of the outermost memory");
  }

  const WorkloadSpec& workload_;
  const ArchitectureSpec& architecture_;
  const ComponentPrices& prices_;
  base::Diagnostics& found_;
  base::Diagnostics ignored_;  // what the first einsum has said already
  fused::Problem problem_;
  std::map<std::string, int> tensors_;
  std::map<int, Places> places_;
  std::size_t at_ = 0;
};

}  // namespace

FusedProblem read_fused_problem(const std::vector<File>& files, const timeloop::TemplateOptions& templates,
                                const ComponentPrices& prices, base::Diagnostics& found) {
  FusedProblem made;
  const Documents documents = read_documents(files, templates, found);
  made.included = documents.included;
  const WorkloadSpec workload = read_workload(documents, found);
  const ArchitectureSpec architecture = read_architecture(documents, found);
  made.problem = Assembler(workload, architecture, prices, found).assemble();
  return made;
}

}  // namespace orrery::formats::accelforge
