// Measurements as Substation's programs write them.
#pragma once

#include <string>

#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"

namespace orrery::formats::substation {

// `<kernel>-combined.csv`: a line for each row, sizes before specials before layouts, seconds.
std::string kernel_text(const tuning::Measured& table, const tuning::Graph& graph, const tuning::Sizes& sizes);

// `<op>-result.csv`: a row for each row, with the call that computes it at these sizes, milliseconds. Cells of the call
// are empty where the layouts are no call of BLAS.
std::string result_text(const tuning::Measured& table, const tuning::Graph& graph, const tuning::Sizes& sizes);

}  // namespace orrery::formats::substation
