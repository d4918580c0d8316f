// The estimator of SRAMs: class `SRAM`, by CACTI 7's figures.
//
// Attributes: `technology`, `width` (bits), `depth` (words), `n_banks` (1), `n_rw_ports` (1), and for leakage
// `global_cycle_seconds`. Actions read, write, update (= write) and leak; arguments `data_delta` and
// `address_delta` (both 1): what does not change costs nothing, of an access 0.7 is data and 0.3 address.
// `n_rdwr_ports` is ignored, as by Accelergy's plug-in. sram_rules.h has the formulas.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "orrery/energy/estimator.h"
#include "orrery/energy/sram_rules.h"
#include "orrery/energy/sram_surface.h"

namespace orrery::energy {

// What a model of SRAMs knows of one point at one technology.
struct SramAnswer {
  SramFigures figures{};
  std::array<double, kSramFigures> expected_error_percent{};  // 0: exact
  Basis basis = Basis::kPublished;
  std::string how;  // "a point of the table"
};

// Thread-safe.
using SramModel = std::function<std::variant<SramAnswer, Refusal>(int technology_nm, const SramPoint&)>;

// The surface of a technology, or null (formats/cacti/sram_table.h). Thread-safe.
using SramSurfaces = std::function<std::shared_ptr<const SramSurface>(int technology_nm)>;

// The table's points exactly, the surface between them, wide words as several memories side by side.
SramModel surface_model(SramSurfaces surfaces);

// Mean error of the surface between the table's points at a capacity, in percent of CACTI's figure, over
// points that CACTI was run for and that no fit has seen (docs/model/energy.md).
SramFigures expected_error_percent(base::Count capacity_bytes, SramOrigin origin);

class Sram : public Estimator {
 public:
  Sram(std::string name, double accuracy_percent, SramModel model)
      : name_(std::move(name)), accuracy_percent_(accuracy_percent), model_(std::move(model)) {}

  std::string_view name() const override { return name_; }
  std::vector<std::string> classes() const override { return {"SRAM"}; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  std::string name_;
  double accuracy_percent_ = 0;
  SramModel model_;
};

// What Accelergy gives its CACTI plug-in.
inline constexpr double kSramAccuracyPercent = 80;

}  // namespace orrery::energy
