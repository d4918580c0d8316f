// Where the reference's cases of sparse attention lie, and their JSON.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <source_dir.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {

inline const std::string kGoldens = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/";

#define SKIP_WITHOUT_GOLDENS() \
  if (!std::filesystem::exists(kGoldens)) GTEST_SKIP() << "the reference figures are not at hand"

inline formats::json::Node golden_json(const std::string& name) {
  return formats::json::parse(base::read_file(kGoldens + name), "O1814");
}
inline double number(const formats::json::Node& node, const char* key) {
  return node.find(key)->value.number;
}

}  // namespace orrery::verbs
