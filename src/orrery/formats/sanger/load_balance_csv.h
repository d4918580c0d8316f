// load_balance.csv as Sanger's log writes it.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/masks/measure.h"

namespace orrery::formats::sanger {

// The header and a line for each mask, figures with six decimals; nan as Python writes it.
std::string load_balance_csv(const std::vector<masks::Measured>& masks);

}  // namespace orrery::formats::sanger
