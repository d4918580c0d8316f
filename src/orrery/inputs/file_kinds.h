// What a file is meant as, by a look at it. Files that cannot be read are of no kind: whoever reads them says why.
#pragma once

#include <string>

namespace orrery::verbs {

// A transformer in Hugging Face's form, which says which kind it is, as AMPeD's files do not.
bool is_transformer(const std::string& path);

// One of our systems: Timeloop's documents have no such key.
bool is_system(const std::string& path);

// An input of AMPeD. They are read together, config.json with its tables, by `train`: alone they have no meaning to
// check.
bool is_amped(const std::string& path);

// An ONNX model, by its name: what is in it is for the reader to say.
bool is_onnx(const std::string& path);

bool is_json(const std::string& path);

}  // namespace orrery::verbs
