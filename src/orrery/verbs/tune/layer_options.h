// Which layer: of a model, or of given sizes as Substation's run_encoder spells them. Of verbs of `tune`.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

inline constexpr base::Count kMostSize = base::Count{1} << 30;

void declare_layer(CommandLine& line, LayerRequest& layer);

}  // namespace orrery::verbs
