// Answers of `tune embed`, `tune eval`, `tune generate` and `tune train`: tables and the JSON documents
// "orrery.tune_embed/1" and so on. The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/scenario/tune_texts.h"

namespace orrery::report {

template <typename Answer>
struct TextsDocument {
  std::string version;
  const Answer* answer = nullptr;  // borrowed
  double seconds = 0;              // wall clock of the whole command
};

std::string texts_json(const TextsDocument<scenario::Embedded>& document);
std::string texts_json(const TextsDocument<scenario::Evaluated>& document);
std::string texts_json(const TextsDocument<scenario::Generated>& document);
std::string texts_json(const TextsDocument<scenario::TrainedTexts>& document);

std::string texts_table(const scenario::Embedded& answer);
std::string texts_table(const scenario::Evaluated& answer);
std::string texts_table(const scenario::Generated& answer);
std::string texts_table(const scenario::TrainedTexts& answer);

}  // namespace orrery::report
