// Every document that comes along is of the kind that `orrery schema` describes, as an editor would check it.
#include <gtest/gtest.h>

#include <source_dir.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/text/text.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/present/schema_check_test_util.h"
#include "orrery/verbs/help/json_schema.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;
using nlohmann::json;

// As YAML 1.2's core schema reads scalars.
json scalar(const yaml::Node& node) {
  const std::string& text = node.scalar;
  if (node.quoted) return text;
  if (text.empty() || text == "null" || text == "~") return nullptr;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (const auto number = base::parse_number<double>(text)) return *number;
  return text;
}

json as_json(const yaml::Node& node) {
  if (node.is_scalar()) return scalar(node);
  if (node.is_sequence()) {
    json out = json::array();
    for (const yaml::Node& item : node.items) out.push_back(as_json(item));
    return out;
  }
  if (node.is_null()) return nullptr;
  json out = json::object();
  for (const yaml::Node::Entry& entry : node.entries) {
    std::string key = entry.key;
    std::replace(key.begin(), key.end(), '-', '_');
    out[key] = as_json(entry.value);
  }
  return out;
}

const std::map<std::string, std::string> kKindOf = {{"architecture", "chip"},
                                                    {"problem", "problem"},
                                                    {"constraints", "constraints"},
                                                    {"mapping", "mapping"},
                                                    {"mapper", "mapper"},
                                                    {"ERT", "ert"},
                                                    {"ART", "ert"},
                                                    {"architecture_constraints", "constraints"}};

TEST(JsonSchema, EveryDocumentOfCatalogueAndExamplesIsValid) {
  std::map<std::string, int> checked;
  for (const char* folder : {"/catalog", "/examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(std::string(ORRERY_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      if (entry.path().parent_path().filename() == "fused") continue;  // AccelForge's, with Jinja
      base::Diagnostics found;
      for (const yaml::Node& document :
           yaml::parse(yaml::read_file(entry.path().string()), base::Severity::kError, found)) {
        const json value = as_json(document);
        for (const auto& [key, kind] : kKindOf) {
          if (!value.is_object() || !value.contains(key)) continue;
          ++checked[kind];
          for (const std::string& complaint : SchemaCheck(json::parse(json_schema(kind)))(value))
            ADD_FAILURE() << entry.path() << " as " << kind << complaint;
        }
      }
      EXPECT_FALSE(found.has_errors()) << entry.path();
    }
  }
  EXPECT_GE(checked["chip"], 22);
  EXPECT_GE(checked["problem"], 17);
  EXPECT_GE(checked["constraints"], 5);
  EXPECT_GE(checked["mapper"], 4);
  EXPECT_GE(checked["mapping"], 1);
  EXPECT_GE(checked["ert"], 21);
}

TEST(SchemaCheck, FindsWhatASchemaDoesNotAllow) {
  const SchemaCheck chip(json::parse(json_schema("chip")));
  EXPECT_TRUE(chip(json::parse(R"({"architecture": {"nodes": [{"name": "a"}, {"nodes": [{"name": "b"}]}]}})")).empty());
  EXPECT_FALSE(chip(json::parse(R"({"variables": {}})")).empty()) << "no architecture";
  EXPECT_FALSE(chip(json::parse(R"({"architecture": {"nodes": [{"class": "a"}]}})")).empty()) << "no name";
  EXPECT_FALSE(chip(json::parse(R"({"architecture": {"nodes": [{"nodes": [{"class": "b"}]}]}})")).empty())
      << "no name inside a group";
  EXPECT_FALSE(chip(json::parse(R"({"architecture": {"nodes": {}}})")).empty()) << "no list";
  const SchemaCheck ert(json::parse(json_schema("ert")));
  EXPECT_FALSE(ert(json::parse(R"({"variables": {}})")).empty()) << "neither ERT nor ART";
  EXPECT_FALSE(ert(json::parse(R"({"ERT": {"tables": [{"name": "a", "actions": [{"name": "read"}]}]}})")).empty())
      << "no energy";
}

}  // namespace
}  // namespace orrery::verbs
