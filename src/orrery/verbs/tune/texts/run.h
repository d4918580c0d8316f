// Whole models on texts: embeddings, how texts go on. How well a task is done and training are inputs/networks/
// task_evaluation.h and task_training.h, since studies of pruned networks run them, too.
#pragma once

#include "orrery/verbs/tune/texts/answer.h"
#include "orrery/verbs/tune/texts/request.h"

namespace orrery::verbs {

// Throws InputError as open_checkpoint and read_text_rows do.
Embedded embed_texts(const TextRequest& request, Pool pool);

// Greedy: of a model of two stacks what its decoder makes of each text, of a model that predicts the next word how each
// text goes on, by at most `most` tokens. Throws InputError: as above; O1654 where the model does neither.
Generated generate_texts(const TextRequest& request, base::Count most);

}  // namespace orrery::verbs
