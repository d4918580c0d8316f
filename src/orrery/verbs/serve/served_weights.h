// How the weights of a served model are stored: as its file has them, or as the request says.
#pragma once

#include "orrery/formats/huggingface/checkpoint_weights.h"
#include "orrery/verbs/serve/answer.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// Fills in how `model` stores its weights, and the precision of products, where `request` says none. Of 16-bit files
// and a precision alone, weights are as wide as that. Names the weights in `out`; warns where a request says other than
// the file (O2085). Throws InputError O2070 where some machines compute in the file's format and others do not.
void choose_weights(const formats::huggingface::StoredWeights& file, const std::vector<serving::Machine>& machines,
                    serving::ServedModel& model, ServeRequest& request, ServedAnswer& out);

// Whether weights are multiplied in a wider format than they are stored in.
bool widens(const serving::ServedModel& model, const serving::Deployment& deployment);

}  // namespace orrery::verbs
