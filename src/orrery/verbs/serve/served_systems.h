// The systems that a request of `serve` names, and what times operators on them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "orrery/describe/machine/measured_operators.h"
#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/inputs/systems/machine_operators.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/serve/answer.h"
#include "orrery/verbs/serve/chip_products.h"
#include "orrery/verbs/serve/machine_products.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// One or several with commas between, or those of two pools.
class ServedSystems {
 public:
  // Measures this machine, if it is one of them. Warnings, inputs and names go to `out`.
  ServedSystems(const ServeRequest& request, const std::string& catalogue, ServedAnswer& out);

  // `request` has a precision. O2070: what this machine's kernels do not compute; warnings of chips' words.
  void check(const ServeRequest& request, const serving::ServedModel& model, base::Diagnostics& warnings) const;

  // In the order of names. O2070: accelerators of a system that is none of them, or of some alone.
  std::vector<serving::Machine> machines(const ServeRequest& request) const;

  // Whose pool it is; `name`: empty: of the only one.
  std::size_t place(const std::string& name) const;

  // With `--fuse`: the best answer without it, and the attentions of its system's chip.
  ServedFusion fusion(const serving::ServedModel& model, const serving::PoolKinds& on, const ServedAnswer& out) const;

  // Mappings without a proof; of an answer that a limit ended.
  void warn_of_searches(ServedAnswer& out) const;

  bool maps() const { return !nests_.empty(); }                    // products of some are mapped on a chip,
  bool measures() const { return operators_of_here_ != nullptr; }  // or measured on this machine

 private:
  std::vector<std::string> names_;  // as the request has them
  std::vector<SystemReading> readings_;
  std::vector<serving::ServedRoofline> rooflines_;
  std::vector<std::unique_ptr<ChipOperators>> nests_;  // of those with a chip
  std::deque<ChipProducts> products_;
  std::unique_ptr<ThisMachine> here_;
  std::unique_ptr<MachineOperators> operators_of_here_;
  std::unique_ptr<MachineProducts> products_of_here_;
  std::deque<machine::MeasuredOperators> measured_;               // beside them
  std::vector<const machine::OperatorModel*> operators_, apart_;  // the second: attention by its products
};

}  // namespace orrery::verbs
