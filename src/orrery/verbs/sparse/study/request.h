// What `sparse study` is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/networks/task_training.h"
#include "orrery/runtime/network/trainer.h"

namespace orrery::verbs {

struct SparseStudyRequest {
  std::string task, data;
  TextRequest texts;  // the checkpoint, types, limits; batch and most_tokens, where not the task's
  std::optional<double> epochs, rate, threshold;
  std::optional<base::Count> steps, accumulate;
  std::vector<std::string> variants = {"dense", "dynamic", "static"};
  std::string pattern = "longformer";  // of the static one
  std::string config;                  // of the dynamic one, with Sanger's keys; empty: the task's threshold, 4 bits
  std::string output;                  // a folder for each variant in it
  bool resume = false;
  std::function<void(const std::string& variant, const network::StepReport& step, std::int64_t of)> told;
};

}  // namespace orrery::verbs
