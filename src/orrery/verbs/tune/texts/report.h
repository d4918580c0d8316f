// Answers of `tune embed`, `tune eval`, `tune generate` and `tune train`: tables and the JSON documents
// "orrery.tune_embed/1" and so on. The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/texts/run.h"

namespace orrery::verbs {

Document<Embedded> tune_embed_document();
Document<Evaluated> tune_eval_document();
Document<Generated> tune_generate_document();
Document<TrainedTexts> tune_train_document();

std::string texts_table(const Embedded& answer);
std::string texts_table(const Evaluated& answer);
std::string texts_table(const Generated& answer);
std::string texts_table(const TrainedTexts& answer);

}  // namespace orrery::verbs
