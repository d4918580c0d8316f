// AccelForge's architecture: a line of components, outside in.
//
//   nodes:
//   - !Memory {name: MainMemory, size: inf, tensors: {keep: ~Intermediates, may_keep: All}, actions: [...]}
//   - !Container {name: ProcessingElement, spatial: [{name: X, fanout: 128, reuse: input}]}
//   - !Compute {name: MAC, actions: [...], enabled: len(All) == 3}
//
// Most values may depend on the einsum that is mapped: its tensors, their bits. They are read once for each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/formats/accelforge/accelforge_documents.h"
#include "orrery/formats/accelforge/component_prices.h"
#include "orrery/formats/accelforge/set_expression.h"

namespace orrery::formats::accelforge {

struct ComponentSpec {
  enum class Kind { kMemory, kCompute, kContainer };

  Kind kind = Kind::kContainer;
  std::string name;
  const yaml::Node* node = nullptr;        // borrowed from the documents
  std::vector<const yaml::Node*> spatial;  // fan-outs in front of it
};

struct ArchitectureSpec {
  std::vector<ComponentSpec> components;  // outside in
  const yaml::Node* extra = nullptr;      // extra_attributes_for_all_component_models
  std::map<std::string, SetValue, std::less<>> variables;
};

// Throws InputError: O2100, O2103, O2104.
ArchitectureSpec read_architecture(const Documents& documents, base::Diagnostics& found);

// A spread over instances, for one einsum.
struct SpreadFigures {
  std::string name;
  double ways = 1;
  Bits reused_by_all = 0;  // tensors that a loop here must not walk
  Bits shared = 0;         // tensors of which one word serves all instances
  Bits single = 0;         // variables that must not be spread here
  double min_usage = 0;
};
// Throws InputError: O2103, O2104.
SpreadFigures spread_of(const yaml::Node& node, const Symbols& symbols, base::Diagnostics& found);

// A memory or a unit, for one einsum. Energies and times are of a bit, and of a computation.
struct ComponentFigures {
  bool enabled = true;
  double size = 0;  // bits of an instance
  double read_energy = 0, write_energy = 0;
  double read_time = 0, write_time = 0;  // of a unit: read_time alone
  bool separate_ports = false;
  double leak_power = 0;     // of an instance
  std::vector<double> bits;  // by tensor: of a word there; empty: the workload's

  bool operator==(const ComponentFigures&) const = default;
};
// Throws InputError: O2102 to O2104, O2106.
ComponentFigures figures_of(const ComponentSpec& component, const ArchitectureSpec& architecture,
                            const ComponentPrices& prices, const Symbols& symbols);

}  // namespace orrery::formats::accelforge
