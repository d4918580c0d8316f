// A training run before anything of its plan is chosen: model, system, what was said of the plan, what times operators.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/measured_operators.h"
#include "orrery/inputs/layers/attention_array.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/train/answer.h"
#include "orrery/verbs/train/request.h"

namespace orrery::verbs {

// What a request comes to before anything is chosen: model, system, what was said of the plan.
struct Setting {
  TrainRequest request;
  std::optional<ThisMachine> here;
  SystemReading machine;
  std::shared_ptr<const base::SourceFile> measurements;
  std::vector<machine::MeasuredProduct> products;  // of them
  std::optional<AttentionArray> array;
  std::set<std::string> asked;  // fields of the plan that options give,
  std::set<std::string> set;    // or a file
  std::string changed;          // a constant that measured runs had at another value: `plan.stack.traffic`; empty: none
  base::Limits limits;
  TrainedModel trained;
};

// Throws InputError as train() does, for what is read.
void read_setting(const TrainRequest& asked, Setting& setting);

}  // namespace orrery::verbs
