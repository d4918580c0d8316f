// check_documents FILES...: each JSON document of Orrery is what the schema named in it describes. Empty files and JSON
// of other kinds (a schema, a trace) are passed over; all else is told, and the exit code is then 1.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "orrery/present/schema_check_test_util.h"
#include "orrery/verbs/help/json_schema.h"

namespace {

// What of a document that a verb printed is not as the schema named in it describes. Nothing about JSON of other kinds.
std::vector<std::string> complaints_about(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return {"this is no JSON"};
  if (!document.is_object() || !document.contains("schema")) return {};
  const auto name = document["schema"].get<std::string>();
  if (!name.starts_with("orrery.") || !name.ends_with("/1")) return {"there is no schema " + name};
  const std::string schema = orrery::verbs::json_schema(name.substr(7, name.size() - 9));
  if (schema.empty()) return {"there is no schema " + name};
  return orrery::verbs::SchemaCheck(nlohmann::json::parse(schema))(document);
}

}  // namespace

int main(int count, char** arguments) {
  int complaints = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.empty()) continue;
    for (const std::string& complaint : complaints_about(text)) {
      fmt::print("{}: {}\n", arguments[i], complaint);
      ++complaints;
    }
  }
  return complaints > 0;
}
