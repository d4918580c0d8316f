#include "orrery/scenario/train_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/override.h"

namespace orrery::scenario {
namespace {

constexpr double kAmpedCap = machine::MicrobatchCurve{}.cap;

// What a chip does not say, and so stays the system's.
bool outlives_a_chip(const std::string& field, const machine::Chip& chip) {
  return field == "accelerator.price" || field == "accelerator.host_time_per_operator" ||
         (field == "accelerator.memory" && machine::memory_port(chip).capacity_bytes <= 0);
}

void refuse_replaced(const TrainRequest& request, const base::Overrides& system_overrides, const machine::Chip& chip) {
  base::Diagnostics found;
  for (const base::Override& set : system_overrides) {
    if (!set.path.starts_with("accelerator") || outlives_a_chip(set.path, chip)) continue;
    const base::OverrideText shown(set, "system.");
    found
        .error("O1393",
               fmt::format("`system.{}` is set, but `--chip {}` stands in the accelerator's place", set.path,
                           request.chip),
               shown.path())
        .hint("set a key of the chip, such as `arch.DRAM.shared_bandwidth`, or leave one of the two out");
  }
  if (request.efficiency)
    found.error("O1393", fmt::format("both `--efficiency` and `--chip {}` say how fast products are", request.chip))
        .hint("leave one of the two out");
  found.throw_if_errors();
}

}  // namespace

TrainOperators::TrainOperators(const TrainRequest& request, const TrainedModel& trained, SystemChip* chip,
                               const ThisMachine* here, const cost::Limits& limits,
                               std::vector<machine::MeasuredProduct> measurements)
    : roofline_(trained.system.accelerator), model_(&roofline_), name_("roofline") {
  if (here != nullptr) {
    here_.emplace(*here, trained.plan.precision, trained.system.accelerator.host_seconds_per_op);
    model_ = &*here_;
    name_ = "machine";
  }
  if (request.efficiency) {
    const machine::MicrobatchCurve curve{*request.efficiency, request.half_efficiency,
                                         request.half_efficiency > 0 ? kAmpedCap : 1};
    flat_.emplace(trained.system.accelerator, curve(static_cast<double>(trained.plan.micro_batch)));
    model_ = &*flat_;
    name_ = "efficiency";
  }
  if (chip != nullptr) {
    nests_ = chip->operators(limits, trained.system.accelerator.host_seconds_per_op);
    model_ = nests_.get();
    name_ = "chip";
  }
  if (measurements.empty()) return;
  measured_.emplace(std::move(measurements), *model_);
  model_ = &*measured_;
  name_ = "measurements";
}

std::unique_ptr<SystemChip> chip_of(const TrainRequest& request, const base::Overrides& system_overrides,
                                    const base::Overrides& chip_overrides, TrainedModel& trained) {
  if (request.chip.empty()) {
    base::Diagnostics found;
    for (const base::Override& set : chip_overrides)
      found
          .error("O1393", fmt::format("`{}` is of a chip, but none is given", set.path), base::OverrideText(set).path())
          .hint("add `--chip NAME|FILE`; the accelerator of a system is `system.accelerator`");
    found.throw_if_errors();
    return nullptr;
  }
  auto chip = std::make_unique<SystemChip>(request.chip, chip_overrides, EstimatorSetup{});
  refuse_replaced(request, system_overrides, chip->chip());
  trained.chip = chip->name();
  trained.system = chip->in(trained.system);
  trained.inputs.insert(trained.inputs.end(), chip->inputs().begin(), chip->inputs().end());
  std::sort(trained.inputs.begin(), trained.inputs.end());
  trained.inputs.erase(std::unique(trained.inputs.begin(), trained.inputs.end()), trained.inputs.end());
  trained.warnings.append(chip->warnings());
  warn_of_words(*chip, static_cast<int>(8 * machine::bytes_per_element(trained.plan.precision)),
                "the run stores activations in", "timed and paid for",
                "take a `--precision` of the same width, or give the chip's documents another `datawidth`",
                trained.warnings);
  return chip;
}

}  // namespace orrery::scenario
