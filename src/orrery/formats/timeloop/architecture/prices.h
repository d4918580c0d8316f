// The energies of actions, wherever they come from, and which of them a level of a chip takes.
//
// Timeloop takes the first of several names that a table has (`random_read`, else `read`), and of several entries of
// one action the largest; networks keep one for each number of destinations.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/chip.h"

namespace orrery::formats::timeloop {

using ActionNames = std::span<const std::string_view>;

inline constexpr auto kReadNames = std::to_array<std::string_view>({"random_read", "read", "access"});
inline constexpr auto kWriteNames =
    std::to_array<std::string_view>({"random_fill", "random_write", "fill", "write", "access"});
inline constexpr auto kUpdateNames =
    std::to_array<std::string_view>({"random_update", "random_write", "update", "write", "access"});
inline constexpr auto kComputeNames =
    std::to_array<std::string_view>({"random_compute", "compute", "mac_random", "mult_random", "mac", "mult"});
inline constexpr auto kLeakNames = std::to_array<std::string_view>({"leak"});

// Energies of one component, in pJ.
class Prices {
 public:
  void add(const std::string& action, base::Count destinations, double energy_pj) {
    energies_[action].emplace_back(destinations, energy_pj);
  }
  // The largest energy of the first of `names` that there is, or nothing.
  std::optional<double> find(ActionNames names) const;
  std::map<std::string, std::map<base::Count, double>> by_destinations() const;
  std::vector<std::string> actions() const;
  // The action with the largest energy, leakage apart; nothing: there is none.
  std::optional<std::pair<std::string, double>> dearest() const;

 private:
  std::map<std::string, std::vector<std::pair<base::Count, double>>, std::less<>> energies_;
};

// A table, or the outcome of an estimate.
class PriceSource {
 public:
  virtual ~PriceSource() = default;
  // Whether it has an entry of that component.
  virtual bool has(const std::string& component) = 0;
  virtual Prices prices(const std::string& component) = 0;
  // What is to be said when an entry, or an action of an entry, lacks that the model needs; of a storage's action, what
  // stands for it.
  virtual void no_entry(const std::string& component, const base::Location& where) = 0;
  virtual void no_action(const std::string& component, std::string_view what, ActionNames names) = 0;
  virtual double instead_of(const std::string& component, std::string_view what, ActionNames names) = 0;
};

// Gives every level of `chip` its energies. A storage that can hold nothing needs none; one whose energy the user gave
// keeps it.
void apply_prices(PriceSource& source, machine::Chip& chip);

}  // namespace orrery::formats::timeloop
