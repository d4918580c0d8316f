// What an answer is about, in words.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// "llama3-70b on dgx-h100, 512 accelerators": the model or layer, and the machine, as far as the document tells.
std::string subject_of(const Node& document);

}  // namespace orrery::verbs
