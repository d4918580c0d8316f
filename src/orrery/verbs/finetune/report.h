// Answers of `tune embed`, `tune eval`, `tune generate` and `tune train`: tables and the JSON documents
// "orrery.tune_embed/1" and so on. The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/verbs/finetune/run.h"

namespace orrery::verbs {

template <typename Answer>
struct TextsDocument {
  std::string version;
  const Answer* answer = nullptr;  // borrowed
  double seconds = 0;              // wall clock of the whole command
};

std::string texts_json(const TextsDocument<Embedded>& document);
std::string texts_json(const TextsDocument<Evaluated>& document);
std::string texts_json(const TextsDocument<Generated>& document);
std::string texts_json(const TextsDocument<TrainedTexts>& document);

std::string texts_table(const Embedded& answer);
std::string texts_table(const Evaluated& answer);
std::string texts_table(const Generated& answer);
std::string texts_table(const TrainedTexts& answer);

}  // namespace orrery::verbs
