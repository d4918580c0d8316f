// Attention that a chip runs as one operator: how answers list it.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/systems/chip_attention.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

Record<AskedAttention> fused_attention_record();

// A line of each of the first, and how many more there are. `apart`: how operators one by one are priced, in words.
std::string fused_attention_text(const std::vector<AskedAttention>& asked, const std::string& apart);

}  // namespace orrery::verbs
