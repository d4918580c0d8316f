#include "orrery/verbs/help/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::verbs {
namespace {

TEST(JsonSchema, EveryKindIsADraft07SchemaWhoseFieldsAreDescribed) {
  for (const std::string& name : schema_names()) {
    const auto schema = nlohmann::json::parse(json_schema(name));
    EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#") << name;
    // Verbs that print one of two documents have a schema of two.
    const auto alternatives = schema.contains("properties") ? nlohmann::json::array({schema}) : schema["anyOf"];
    for (const auto& one : alternatives) {
      EXPECT_EQ(one["type"], "object") << name;
      ASSERT_FALSE(one["properties"].empty()) << name;
      for (const auto& property : one["properties"]) EXPECT_TRUE(property.contains("description")) << name;
    }
  }
}

TEST(JsonSchema, RequiresWhatMakesTheKind) {
  EXPECT_EQ(nlohmann::json::parse(json_schema("chip"))["required"][0], "architecture");
  EXPECT_EQ(nlohmann::json::parse(json_schema("ert"))["anyOf"][0]["required"][0], "ERT");
}

TEST(JsonSchema, IsEmptyForAnUnknownKind) {
  EXPECT_EQ(json_schema("chips"), "");
}

}  // namespace
}  // namespace orrery::verbs
