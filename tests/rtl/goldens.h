// Recorded runs of the published modules, where they are at hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <source_dir.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::rtl {

inline const std::string kGoldens = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/hw/";

#define SKIP_WITHOUT_GOLDENS() \
  if (!std::filesystem::exists(kGoldens)) GTEST_SKIP() << "the reference figures are not at hand"

using Json = formats::json::Node;
inline Json golden(const char* file) {
  return formats::json::parse(base::read_file(kGoldens + file), "O1814");
}
inline const Json& of(const Json& node, const char* key) {
  return node.find(key)->value;
}
inline std::int64_t whole(const Json& node) {
  return static_cast<std::int64_t>(node.number);
}
inline std::int64_t at(const Json& node, std::size_t i) {
  return whole(node.items[i]);
}
inline std::int64_t at(const Json& node, std::size_t i, std::size_t j) {
  return whole(node.items[i].items[j]);
}

}  // namespace orrery::rtl
