#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/verbs.h"
#include "orrery/report/json_schema.h"

namespace orrery::cli {

int run_schema(const SchemaOptions& options, const Console& console) {
  const std::vector<std::string>& names = report::schema_names();
  if (options.name.empty()) {
    for (const std::string& name : names) console.out << name << "\n";
    return kDone;
  }
  const std::string schema = report::json_schema(options.name);
  if (schema.empty()) {
    const std::string nearest = base::closest(options.name, names);
    base::fail("O1109", fmt::format("there is no kind of document `{}`", options.name), {},
               nearest.empty() ? fmt::format("kinds are {}", fmt::join(names, ", "))
                               : fmt::format("did you mean `{}`?", nearest));
  }
  console.out << schema;
  return kDone;
}

}  // namespace orrery::cli
