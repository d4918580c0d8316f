// What times the operators of a run: the roofline, AMPeD's one efficiency, a chip's loop nests, this machine's kernels,
// or measurements over any of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/measured_operators.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/inputs/systems/chip_operators.h"
#include "orrery/inputs/systems/machine_operators.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/train/operators/array_operators.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

class TrainOperators {
 public:
  // `chip`: null, where the system's own accelerator runs; `here`: null, where that is another machine. Both must
  // outlive this object.
  TrainOperators(const TrainRequest& request, const TrainedModel& trained, SystemChip* chip, const ThisMachine* here,
                 const base::Limits& limits, std::vector<machine::MeasuredProduct> measurements,
                 std::optional<AttentionArray> array = {});
  TrainOperators(const TrainOperators&) = delete;
  TrainOperators& operator=(const TrainOperators&) = delete;

  const machine::OperatorModel& model() const { return *model_; }
  const std::string& name() const { return name_; }
  const ChipOperators* nests() const { return nests_.get(); }  // null without a chip

 private:
  machine::Roofline roofline_;
  std::optional<machine::FlatEfficiency> flat_;
  std::unique_ptr<ChipOperators> nests_;
  std::optional<MachineOperators> here_;
  std::optional<machine::MeasuredOperators> measured_;
  std::optional<ArrayOperators> array_;
  const machine::OperatorModel* model_ = nullptr;  // one of these
  std::string name_;
};

// Of a run on a chip: throws InputError O1393 for what else is said of the accelerator that the chip replaces, and
// warns of words of another width.
void check_chip(const TrainRequest& request, const base::Overrides& system_overrides, const SystemReading& machine,
                TrainedModel& trained);

}  // namespace orrery::verbs
