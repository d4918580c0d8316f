// Classes of compound components, as `compound_components` documents describe them.
//
//   compound_components:
//     classes:
//     - name: buffer
//       attributes: {width: must_specify, depth: 64}
//       subcomponents: [{name: "store[0..1]", class: SRAM, attributes: {width: width}, area_scale: 0.5}]
//       actions: [{name: read, subcomponents: [{name: "store[0]", actions: [{name: read, energy_scale: 2}]}]}]
//
// Here is their structure alone; what the expressions in it come to is decided for each component (compound.h).
// All nodes are borrowed from the documents.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `store[a..b]`, or `store[a]`, or `store`. The ends are expressions.
struct RangedName {
  std::string base;
  std::optional<yaml::Node> first;
  std::optional<yaml::Node> last;
  base::Location where;
};

// A key that multiplies a figure. A share is a key of old descriptions that Accelergy 0.4 drops.
struct Multiplier {
  std::string key;
  const yaml::Node* value = nullptr;
  base::Location where;
  bool share = false;
};

struct Subcomponent {
  RangedName name;
  std::string class_name;
  const yaml::Node* attributes = nullptr;  // a map, or null
  std::vector<Multiplier> energy;
  std::vector<Multiplier> area;
};

struct SubcomponentAction {
  std::string name;
  const yaml::Node* arguments = nullptr;  // a map, or null
  std::vector<Multiplier> energy;
  base::Location where;
};

struct SubcomponentUse {
  RangedName name;
  std::vector<SubcomponentAction> actions;
};

struct ClassAction {
  std::string name;
  const yaml::Node* arguments = nullptr;  // a map, or null
  std::vector<SubcomponentUse> uses;
  base::Location where;
};

struct ComponentClass {
  std::string name;
  const yaml::Node* attributes = nullptr;  // a map, or null
  std::vector<Subcomponent> subcomponents;
  std::vector<ClassAction> actions;
  base::Location where;

  const Subcomponent* subcomponent(std::string_view base) const;
  const ClassAction* action(std::string_view name) const;
};

class ComponentClasses {
 public:
  // `documents`: values of `compound_components` and `components`. Error O1210. Classes are read when they
  // are first asked for: what no component uses is not judged.
  ComponentClasses(std::span<const yaml::Node* const> documents, base::Diagnostics& found);

  // Null where no such class is described: it is a primitive. Errors O1210, O1211 and O1217, warnings O1216.
  const ComponentClass* find(std::string_view name, base::Diagnostics& found);

 private:
  struct Entry {
    const yaml::Node* node = nullptr;
    base::Location where;
    std::vector<base::Location> again;  // where other descriptions of that name stand
    std::optional<ComponentClass> read;
  };
  std::map<std::string, Entry, std::less<>> classes_;
};

// Keys of `node` that multiply energy or area, in the order of the document.
std::vector<Multiplier> energy_factors(const yaml::Node& node);
std::vector<Multiplier> area_factors(const yaml::Node& node);

}  // namespace orrery::formats::timeloop
