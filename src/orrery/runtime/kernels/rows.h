// Operators on rows by all threads: normalisation, softmax, element-wise chains. Their arguments are in
// function_table.h.
#pragma once

#include "orrery/runtime/kernels/context.h"

namespace orrery::kernels {

void finish(Context& context, const Finish& rows);
void normalise(Context& context, const Normalise& rows);
// scale_gradient and shift_gradient are set, not added to. Sums over rows are taken 64 rows at a time, then over these
// in order: the same for any number of threads.
void normalise_back(Context& context, const NormaliseBack& rows);
void rotate(Context& context, const Rotate& rows);
void softmax(Context& context, const Softmax& rows);
void softmax_back(Context& context, const Softmax& rows);

}  // namespace orrery::kernels
