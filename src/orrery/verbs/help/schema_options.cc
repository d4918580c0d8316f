#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/command_line.h"
#include "orrery/verbs/help/json_schema.h"
#include "orrery/verbs/help/verbs_json.h"

namespace orrery::verbs {

int run_schema(const Arguments& arguments, Console& console) {
  std::string kind;
  CommandLine line("schema", "JSON Schema (draft-07) of a kind of document, for editors and programs",
                   "orrery schema chip > chip.schema.json");
  line.word("KIND", kind, base::joined(verbs::schema_names(), ", "));
  if (!line.read(arguments, console)) return kDone;
  const std::vector<std::string>& names = verbs::schema_names();
  if (kind.empty()) {
    if (console.json) {
      console.out << kinds_document().json(names, 0, console.command);
    } else {
      for (const std::string& name : names) print(console, name + "\n");
    }
    return kDone;
  }
  const std::string schema = verbs::json_schema(kind);
  if (schema.empty()) {
    base::fail("O1109", fmt::format("there is no kind of document `{}`", kind), {},
               base::did_you_mean(kind, names, fmt::format("kinds are {}", base::joined(names, ", "))));
  }
  print(console, schema);
  return kDone;
}

}  // namespace orrery::verbs
