#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/json_schema.h"

namespace orrery::cli {

int run_schema(const SchemaOptions& options, const Console& console) {
  const std::vector<std::string>& names = report::schema_names();
  if (options.name.empty()) {
    if (options.json) {
      const nlohmann::ordered_json out{
          {"schema", "orrery.schema/1"}, {"version", kVersion}, {"result", {{"kinds", names}}}};
      console.out << out.dump(2) << "\n";
    } else {
      for (const std::string& name : names) console.out << name << "\n";
    }
    return kDone;
  }
  const std::string schema = report::json_schema(options.name);
  if (schema.empty()) {
    base::fail("O1109", fmt::format("there is no kind of document `{}`", options.name), {},
               base::did_you_mean(options.name, names, fmt::format("kinds are {}", fmt::join(names, ", "))));
  }
  console.out << schema;
  return kDone;
}

}  // namespace orrery::cli
