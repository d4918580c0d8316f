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

#include "orrery/describe/energy/estimator.h"
#include "orrery/describe/energy/sram/sram_errors.h"
#include "orrery/describe/energy/sram/sram_rules.h"
#include "orrery/describe/energy/sram/sram_surface.h"

namespace orrery::energy {

// What a model of SRAMs knows of one point at one technology.
struct SramAnswer {
  SramFigures figures{};
  SramSourceOfFigures from;
  std::string how;  // "a row of the table"
  // For words wider than the table: by how much, and what was assumed instead; else empty.
  std::string beyond;
};

// Thread-safe.
using SramModel = std::function<std::variant<SramAnswer, Refusal>(int technology_nm, const SramPoint&)>;

// The surface of a technology, or null (formats/cacti/cacti_table.h). Thread-safe.
using SramSurfaces = std::function<std::shared_ptr<const SramSurface>(int technology_nm)>;

// The table's points exactly, the surface between them, wide words as several memories side by side.
SramModel surface_model(SramSurfaces surfaces);

// More memories side by side than this are not taken for one.
inline constexpr int kMostSideBySide = 8;

// Technologies that the rules cover: no CMOS process has a name below or above.
inline constexpr double kSramLeastNm = 2, kSramMostNm = 250;

class Sram : public Estimator {
 public:
  // Without `errors`, answers state no errors.
  Sram(std::string name, double accuracy_percent, SramModel model, std::shared_ptr<const SramErrors> errors)
      : name_(std::move(name)),
        accuracy_percent_(accuracy_percent),
        model_(std::move(model)),
        errors_(std::move(errors)) {}

  std::string_view name() const override { return name_; }
  std::vector<std::string> classes() const override { return {"SRAM"}; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  std::string name_;
  double accuracy_percent_ = 0;
  SramModel model_;
  std::shared_ptr<const SramErrors> errors_;
};

// The class that Accelergy's CACTI plug-in answers for.
inline constexpr double kSramAccuracyPercent = 80;

}  // namespace orrery::energy
