// DRAM by type: energy = pJ per bit x interface width, for a read, a write or an update.
//
// Leakage is in the energy per bit, and the chip lies outside: both leak and area are 0. Accelergy's CACTI plug-in
// does the same; its figures are in catalog/tables/dram.csv with their sources.
#pragma once

#include <string>
#include <vector>

#include "orrery/describe/energy/estimator.h"

namespace orrery::energy {

struct DramType {
  std::string name;  // "LPDDR4"
  double pj_per_bit = 0;
  std::string source;
};

// Knows class `DRAM`: attribute `type` (the first of the types, where it is missing), or a figure of the description's
// own, `pj_per_bit`, and `width` in bits.
class Dram : public Estimator {
 public:
  explicit Dram(std::vector<DramType> types) : types_(std::move(types)) {}

  std::string_view name() const override { return "dram"; }
  std::vector<std::string> classes() const override { return {"DRAM"}; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  std::vector<DramType> types_;
};

}  // namespace orrery::energy
