#include "orrery/present/error_json.h"

#include <set>
#include <string>

#include "orrery/present/diagnostic_text.h"

namespace orrery::verbs {
namespace {

using base::Diagnostic;
using base::Label;

using Errors = std::vector<Diagnostic>;

// A place flat in the object that it belongs to.
Record<base::Location> place() {
  using base::Location;
  // Lines and columns of a file as a whole are null, as those of nowhere.
  const auto number = [](const Location& l, int value) {
    return l.known() && l.line > 0 ? std::optional(value) : std::nullopt;
  };
  return {{"file", "Path of the file that it is about; null where it is about none.",
           [](const Location& l) { return l.known() ? std::optional(l.file->name) : std::nullopt; }},
          {"line", "Line, from 1; null where the file as a whole is meant.",
           [=](const Location& l) { return number(l, l.line); }},
          {"column", "Column in characters, from 1; null where the file as a whole is meant.",
           [=](const Location& l) { return number(l, shown_column(l)); }}};
}

Record<Diagnostic> diagnostic() {
  Record<Label> related = place().of<Label>(&Label::where);
  related.add({{"text", "What is to be said about that place.", &Label::text}});
  Record<Diagnostic> out = {
      {"code", "Code of the diagnostic, such as O0710; `orrery explain CODE` describes it.", &Diagnostic::code},
      {"severity", "How serious it is; warnings of the same files are listed as well.",
       [](const Diagnostic& d) { return severity_name(d.severity); }, OneOf{{"error", "warning", "note"}}},
      {"message", "What is the matter, in one sentence.", &Diagnostic::message}};
  out.add(place().of<Diagnostic>([](const Diagnostic& d) -> const auto& { return d.primary.where; }));
  return out.add({{"label", "What stands beside the caret.", [](const Diagnostic& d) { return d.primary.text; }},
                  {"related", "Further places that matter.",
                   [](const Diagnostic& d) {
                     std::vector<Label> labels = d.secondary;
                     std::erase_if(labels, [](const Label& label) { return !label.where.known(); });
                     return labels;
                   },
                   related},
                  {"notes", "Facts and arithmetic that explain it.", &Diagnostic::notes},
                  {"hints", "Ways out.", &Diagnostic::hints}});
}

// Each once. Cost: n log n.
std::vector<Diagnostic> distinct(const Errors& errors) {
  const Record<Diagnostic> looks = diagnostic();
  std::vector<Diagnostic> out;
  std::set<std::string> seen;
  for (const Diagnostic& each : errors)
    if (seen.insert(text(looks.json(each))).second) out.push_back(each);
  return out;
}

}  // namespace

Document<std::vector<Diagnostic>> error_document() {
  return {"error",
          {{"diagnostics", "Errors and warnings in the order of the files' lines, each once.", distinct, diagnostic()}},
          0};
}

}  // namespace orrery::verbs
