#include "orrery/present/error_json.h"

#include <algorithm>

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
  return {{"file", "What it is about; null where that is no file.",
           [](const Location& l) { return l.known() ? std::optional(l.file->name) : std::nullopt; }},
          {"line", "From 1; null where the file as a whole is meant.",
           [=](const Location& l) { return number(l, l.line); }},
          {"column", "In characters, from 1; null as `line`.",
           [=](const Location& l) { return number(l, shown_column(l)); }}};
}

Record<Diagnostic> diagnostic() {
  Record<Label> related = place().of<Label>(&Label::where);
  related.add({{"text", "What is to be said about that place.", &Label::text}});
  Record<Diagnostic> out = {
      {"code", "`orrery explain CODE` describes it.", &Diagnostic::code},
      {"severity", "Warnings of the same files are listed, too.",
       [](const Diagnostic& d) { return severity_name(d.severity); }, OneOf{{"error", "warning", "note"}}},
      {"message", "One sentence.", &Diagnostic::message}};
  out.add(place().of<Diagnostic>([](const Diagnostic& d) -> const auto& { return d.primary.where; }));
  return out.add({{"label", "What stands beside the caret.", [](const Diagnostic& d) { return d.primary.text; }},
                  {"related", "Further places.",
                   [](const Diagnostic& d) {
                     std::vector<Label> labels = d.secondary;
                     std::erase_if(labels, [](const Label& label) { return !label.where.known(); });
                     return labels;
                   },
                   related},
                  {"notes", "Facts and arithmetic.", &Diagnostic::notes},
                  {"hints", "Ways out.", &Diagnostic::hints}});
}

// Each once.
std::vector<Diagnostic> distinct(const Errors& errors) {
  const Record<Diagnostic> looks = diagnostic();
  std::vector<Diagnostic> out;
  std::vector<Json> seen;
  for (const Diagnostic& each : errors) {
    Json json = looks.json(each);
    if (std::find(seen.begin(), seen.end(), json) != seen.end()) continue;
    seen.push_back(std::move(json));
    out.push_back(each);
  }
  return out;
}

}  // namespace

Document<std::vector<Diagnostic>> error_document() {
  return {"error", {{"diagnostics", "In the order of the files' lines, each once.", distinct, diagnostic()}}, 0};
}

}  // namespace orrery::verbs
