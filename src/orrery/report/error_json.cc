#include "orrery/report/error_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "orrery/report/diagnostic_text.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

Json file_of(const base::Location& where) {
  return where.known() ? Json(where.file->name) : Json(nullptr);
}

// Lines and columns of a file as a whole are null, as those of nowhere.
Json number_of(const base::Location& where, int number) {
  return where.known() && where.line > 0 ? Json(number) : Json(nullptr);
}

Json label_json(const base::Label& label) {
  return Json{{"file", file_of(label.where)},
              {"line", number_of(label.where, label.where.line)},
              {"column", number_of(label.where, shown_column(label.where))},
              {"text", label.text}};
}

Json diagnostic_json(const base::Diagnostic& diagnostic) {
  const base::Location& where = diagnostic.primary.where;
  Json related = Json::array();
  for (const base::Label& label : diagnostic.secondary)
    if (label.where.known()) related.push_back(label_json(label));
  return Json{{"code", diagnostic.code},
              {"severity", severity_name(diagnostic.severity)},
              {"message", diagnostic.message},
              {"file", file_of(where)},
              {"line", number_of(where, where.line)},
              {"column", number_of(where, shown_column(where))},
              {"label", diagnostic.primary.text},
              {"related", std::move(related)},
              {"notes", diagnostic.notes},
              {"hints", diagnostic.hints}};
}

}  // namespace

std::string error_json(const std::string& version, const std::vector<base::Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const base::Diagnostic& diagnostic : diagnostics) {
    Json entry = diagnostic_json(diagnostic);
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(std::move(entry));
  }
  const Json document{{"schema", "orrery.error/1"}, {"version", version}, {"diagnostics", std::move(list)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
