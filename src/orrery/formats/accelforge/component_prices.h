// What components cost that name a class of HWComponents in place of energies: figures that AccelForge publishes for
// its own chips, one row an action (catalog/tables/accelforge_components.csv). A component that no row is about is
// refused, never guessed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::accelforge {

// Figures that a component's price depends on: tech_node, size, n_banks, ... Those that nobody gives are not there.
using PriceAttributes = std::map<std::string, double, std::less<>>;

struct ActionPrice {
  double energy = 0;      // J an action
  double throughput = 0;  // actions a second, of an instance
  double leak_power = 0;  // W, of an instance
};

class ComponentPrices {
 public:
  ComponentPrices() = default;
  // Throws InputError (O2106) for a table that cannot be read.
  static ComponentPrices read(const std::shared_ptr<const base::SourceFile>& file);

  std::optional<ActionPrice> find(const std::string& component_class, const PriceAttributes& attributes,
                                  const std::string& action) const;
  bool knows(const std::string& component_class) const;
  // What the rows of a class are about, for messages: "tech_node 6.5e-08, size 192".
  std::vector<std::string> described(const std::string& component_class) const;

 private:
  struct Row {
    std::string component_class;
    PriceAttributes attributes;
    std::string action;
    ActionPrice price;
  };
  std::vector<Row> rows_;
};

}  // namespace orrery::formats::accelforge
