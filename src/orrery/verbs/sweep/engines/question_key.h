// The name of a question by its content: equal questions, whatever files and overrides they came from, share an answer.
#pragma once

#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::sweep {

// 16 bytes each. Of a chip all that evaluations and searches read; places in files, which decide nothing, are left out.
std::string key_of(const machine::Chip& chip);
std::string key_of(const machine::Storage& storage);
// Of einsum, map space and what is done about zeros, names of the einsum apart. `how`: what else the answer depends on,
// as text.
std::string key_of(const verbs::LayerQuestion& question, const std::string& how);
// Of both.
std::string joined(const std::string& chip, const std::string& question);

// 16 bytes of any text.
std::string key_of_text(const std::string& text);

}  // namespace orrery::sweep
