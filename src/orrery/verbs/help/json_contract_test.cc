// docs/json.md describes the keys that verbs print, all of them and no others.
#include <gtest/gtest.h>

#include <source_dir.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "orrery/engines/amped/equations.h"
#include "orrery/engines/amped/quantities.h"
#include "orrery/verbs/help/json_schema.h"

namespace orrery::verbs {
namespace {

using Words = std::set<std::string>;

// The document's sections by heading; what stands before the first has the heading "".
std::map<std::string, std::vector<std::string>> sections() {
  std::ifstream file(std::string(ORRERY_SOURCE_DIR) + "/docs/json.md");
  std::map<std::string, std::vector<std::string>> out;
  std::string line, heading;
  while (std::getline(file, line)) {
    if (line.starts_with("## "))
      heading = line.substr(3);
    else
      out[heading].push_back(line);
  }
  return out;
}

void add_matches(const std::string& text, const char* pattern, std::vector<std::string>& out) {
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) out.push_back(at->str());
}

// Words between backquotes or, in an example, between quotes.
Words words_of(const std::string& text) {
  std::vector<std::string> quoted, words;
  add_matches(text, "`[^`]*`|\"[^\"]*\"", quoted);
  for (const std::string& each : quoted) add_matches(each, "[A-Za-z0-9_%-]+", words);
  return {words.begin(), words.end()};
}

Words words_of(const std::vector<std::string>& lines) {
  Words out;
  for (const std::string& line : lines) out.merge(words_of(line));
  return out;
}

// Of the first cells of tables.
Words defined_in(const std::vector<std::string>& lines) {
  Words out;
  for (const std::string& line : lines)
    if (line.starts_with("| `")) out.merge(words_of(line.substr(0, line.find('|', 1))));
  return out;
}

void add_keys(const nlohmann::json& schema, Words& out) {
  if (schema.contains("properties"))
    for (const auto& [key, property] : schema["properties"].items()) {
      out.insert(key);
      add_keys(property, out);
    }
  for (const char* inner : {"items", "additionalProperties"})
    if (schema.contains(inner)) add_keys(schema[inner], out);
  if (schema.contains("anyOf"))
    for (const auto& one : schema["anyOf"]) add_keys(one, out);
}

TEST(JsonContract, EveryKeyIsInTheDocumentAndEveryKeyOfTheDocumentIsPrinted) {
  const std::map<std::string, std::vector<std::string>> kinds = {
      {"", {"map", "eval"}},
      {"map --fuse", {"map_fuse"}},
      {"energy", {"energy"}},
      {"train", {"train"}},
      {"serve", {"serve"}},
      {"tune run", {"tune_run"}},
      {"tune bench", {"tune_bench"}},
      {"tune ledger, tune layouts", {"tune_ledger", "tune_layouts"}},
      {"tune select", {"tune_select"}},
      {"sparse measure, sparse mask", {"sparse_measure", "sparse_mask"}},
      {"sparse pack, sparse latency, sparse sweep", {"sparse_pack", "sparse_latency", "sparse_sweep"}},
      {"sparse simulate, sparse design", {"sparse_simulate", "sparse_design"}},
      {"sparse run, sparse study, sparse bench", {"sparse_run", "sparse_study", "sparse_bench"}},
      {"sparse break-even", {"sparse_break_even"}},
      {"sweep", {"sweep", "sweep_status"}},
      {"place", {"place"}},
      {"graph", {"graph"}},
      {"operators", {"operators"}},
      {"validate", {"validate", "validate_collectives", "validate_optima", "validate_serve"}},
      {"Other verbs", {"report", "chart", "check", "catalog", "doctor", "sparse_rtl", "explain", "schema"}},
      {"When there is no answer", {"error"}}};
  // AMPeD's parameters, constants and defects have a document of their own.
  Words elsewhere;
  for (const amped::Quantity& quantity : amped::quantity_table()) elsewhere.emplace(quantity.name);
  for (const auto& constant : amped::kConstants) elsewhere.emplace(constant.name);
  for (const std::string& name : base::defect_names(amped::kDefects)) elsewhere.insert(name);

  auto document = sections();
  const Words common = words_of(document[""]);
  for (const auto& [heading, names] : kinds) {
    ASSERT_TRUE(document.contains(heading)) << heading;
    Words described = words_of(document[heading]), printed;
    described.insert(common.begin(), common.end());
    for (const std::string& name : names) add_keys(nlohmann::json::parse(json_schema(name)), printed);
    for (const std::string& key : printed)
      EXPECT_TRUE(described.contains(key) || elsewhere.contains(key)) << heading << ": no word about " << key;
    if (heading == "Other verbs") continue;  // its tables begin with names of schemas
    for (const std::string& key : defined_in(document[heading]))
      EXPECT_TRUE(printed.contains(key)) << heading << ": nothing prints " << key;
  }
}

}  // namespace
}  // namespace orrery::verbs
