// Which memories may hold which of an einsum's tensors: `tensors: {keep: ~MainMemory, may_keep: All}`.
//
// What a memory keeps may be said by what memories outside of it keep, so all choices of those are gone through. An
// engine wants to know of each tensor by itself: a choice that depends on that of another tensor is refused.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/fused_problem.h"
#include "orrery/formats/accelforge/architecture_reader.h"

namespace orrery::formats::accelforge {

struct KeepChoices {
  std::vector<std::vector<fused::Keep>> keep;  // [memory][tensor], where the outermost memory holds the tensor
  std::vector<bool> outermost;                 // by tensor: the outermost memory may hold it
  std::vector<bool> inside;                    // by tensor: it need not
};

// `memories`: outside in. `enabled`: which of them there are. Throws InputError: O2103, O2104, O2108.
KeepChoices keep_choices(const std::vector<const ComponentSpec*>& memories, const std::vector<bool>& enabled,
                         const Symbols& symbols, base::Diagnostics& found);

}  // namespace orrery::formats::accelforge
