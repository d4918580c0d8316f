#include "orrery/report/warnings_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/report/diagnostic_text.h"

namespace orrery::report {

std::string warnings_json(const base::Diagnostics& warnings) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const base::Diagnostic& warning : warnings.all()) {
    const base::Location& at = warning.primary.where;
    Json where = nullptr;
    if (at.known()) where = Json{{"file", at.file->name}, {"line", at.line}, {"column", shown_column(at)}};
    out.push_back(Json{{"code", warning.code},
                       {"severity", severity_name(warning.severity)},
                       {"message", warning.message},
                       {"where", std::move(where)},
                       {"notes", warning.notes},
                       {"hints", warning.hints}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace orrery::report
