// Answers that were kept: documents, stores of studies, and folders of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

struct KeptAnswer {
  std::string name;
  std::unique_ptr<Node> document;
};

// Throws InputError: O2081 for what is no answer, O2082 for what a newer Orrery wrote, what stores say (O2052 to
// O2055).
std::vector<KeptAnswer> read_answers(const std::vector<std::string>& paths);

}  // namespace orrery::verbs
