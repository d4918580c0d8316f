#include "orrery/verbs/train/operators/operator_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/override.h"

namespace orrery::verbs {
namespace {

constexpr double kAmpedCap = machine::MicrobatchCurve{}.cap;

// What a chip does not say, and so stays the system's.
bool outlives_a_chip(const std::string& field, const machine::Chip& chip) {
  return field == "accelerator.price" || field == "accelerator.host_time_per_operator" ||
         (field == "accelerator.memory" && machine::memory_port(chip).capacity_bytes <= 0);
}

void refuse_replaced(const TrainRequest& request, const base::Overrides& system_overrides,
                     const SystemReading& machine) {
  base::Diagnostics found;
  for (const base::Override& set : system_overrides) {
    if (machine.own_chip || !set.path.starts_with("accelerator") || outlives_a_chip(set.path, machine.chip->chip()))
      continue;
    const base::OverrideText shown(set, "system.");
    found
        .error("O1393",
               fmt::format("`system.{}` is set, but `--chip {}` stands in the accelerator's place", set.path,
                           request.chip),
               shown.path())
        .hint("set a key of the chip, such as `arch.DRAM.shared_bandwidth`, or leave one of the two out");
  }
  if (request.efficiency)
    found
        .error("O1393",
               fmt::format("both `--efficiency` and {} say how fast products are",
                           machine.own_chip ? fmt::format("the chip `{}` of {}", machine.chip->name(), request.system)
                                            : fmt::format("`--chip {}`", request.chip)))
        .hint("leave one of the two out");
  found.throw_if_errors();
}

}  // namespace

TrainOperators::TrainOperators(const TrainRequest& request, const TrainedModel& trained, SystemChip* chip,
                               const ThisMachine* here, const base::Limits& limits,
                               std::vector<machine::MeasuredProduct> measurements, std::optional<AttentionArray> array)
    : roofline_(trained.system.accelerator), model_(&roofline_), name_("roofline") {
  if (here != nullptr) {
    here_.emplace(*here, trained.plan.precision, trained.system.accelerator.host_seconds_per_op, limits);
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
    nests_ = chip->operators(limits, trained.system.accelerator.host_seconds_per_op, request.fuse);
    model_ = nests_.get();
    name_ = "chip";
  }
  if (!measurements.empty()) {
    measured_.emplace(std::move(measurements), *model_);
    model_ = &*measured_;
    name_ = "measurements";
  }
  if (!array) return;
  array_.emplace(std::move(*array), *model_);
  model_ = &*array_;
}

void check_chip(const TrainRequest& request, const base::Overrides& system_overrides, const SystemReading& machine,
                TrainedModel& trained) {
  if (request.fuse) check_fusion(machine.chip.get(), request.attention_array, trained.warnings);
  if (!machine.chip) return;
  refuse_replaced(request, system_overrides, machine);
  trained.chip = machine.chip->name();
  warn_of_words(*machine.chip, static_cast<int>(8 * machine::bytes_per_element(trained.plan.precision)),
                "the run stores activations in", "timed and paid for",
                "take a `--precision` of the same width, or give the chip's documents another `datawidth`",
                trained.warnings);
}

}  // namespace orrery::verbs
