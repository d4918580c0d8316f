#include "orrery/present/answer.h"

#include <cmath>
#include <optional>

#include "orrery/present/diagnostic_text.h"

namespace orrery::verbs {
namespace {

Record<base::Input> input() {
  return {{"name", "Path of the file, or the option that stands for it: `--set PATH=VALUE`.", &base::Input::name},
          {"hash", "XXH3-128 of its content, hexadecimal.", &base::Input::hash}};
}

Record<base::Diagnostic> warning() {
  using base::Diagnostic;
  return {{"code", "`orrery explain CODE` describes it.", &Diagnostic::code},
          {"severity", "How serious it is.", [](const Diagnostic& d) { return severity_name(d.severity); },
           OneOf{{"warning", "note"}}},
          {"message", "One sentence.", &Diagnostic::message},
          {"where", "What it is about; null where that is no file.",
           [](const Diagnostic& d) { return known(d.primary.where); }, location()},
          {"notes", "Facts.", &Diagnostic::notes},
          {"hints", "Ways out.", &Diagnostic::hints}};
}

Record<Envelope> timing() {
  return {{"seconds", "Wall clock of the whole command.", &Envelope::seconds}};
}

}  // namespace

Record<Envelope> envelope_head(const std::string& kind, unsigned parts) {
  const std::string name = "orrery." + kind + "/1";
  Record<Envelope> out = {{"schema", "The kind of document.", [name](const Envelope&) { return name; }, OneOf{{name}}},
                          {"version", "Version of Orrery.", &Envelope::version}};
  if (parts & kCompat) out.add({{"compat", "Originals whose defects are reproduced.", &Envelope::compat}});
  const auto inputs = [](const Envelope& e) -> const std::vector<base::Input>& { return *e.inputs; };
  if (parts & kInputs) out.add({{"inputs", "What was read.", inputs, input()}});
  return out;
}

Record<Envelope> envelope_tail(unsigned parts) {
  Record<Envelope> out({});
  const auto warnings = [](const Envelope& e) -> const auto& {
    return e.warnings->all();
  };
  if (parts & kWarnings) out.add({{"warnings", "In the order in which they were met.", warnings, warning()}});
  if (parts & kTiming) out.add({{"timing", "What differs from run to run.", std::identity(), timing()}});
  return out;
}

std::string document_text(const std::string& kind, unsigned parts, const Envelope& envelope,
                          const std::vector<AnyColumn>& keys, const void* answer) {
  Json::Object out;
  add_keys(out, envelope_head(kind, parts).columns(), &envelope);
  add_keys(out, keys, answer);
  add_keys(out, envelope_tail(parts).columns(), &envelope);
  return text(std::move(out));
}

Json document_schema(const std::string& kind, unsigned parts, const std::vector<AnyColumn>& keys) {
  std::vector<AnyColumn> all = envelope_head(kind, parts).columns();
  all.insert(all.end(), keys.begin(), keys.end());
  const Record<Envelope> tail = envelope_tail(parts);
  all.insert(all.end(), tail.columns().begin(), tail.columns().end());
  return object_schema(all);
}

Record<base::Location> location() {
  using base::Location;
  const auto line = [](const Location& l, int number) { return l.line > 0 ? std::optional(number) : std::nullopt; };
  return {
      {"file", "Path, or the option that stands for it.", [](const Location& l) { return l.file->name; }},
      {"line", "From 1; null where the file as a whole is meant.", [=](const Location& l) { return line(l, l.line); }},
      {"column", "In characters, from 1; null as `line`.",
       [=](const Location& l) { return line(l, shown_column(l)); }}};
}

std::optional<base::Location> known(const base::Location& where) {
  return where.known() ? std::optional(where) : std::nullopt;
}

Record<base::Certificate> proof() {
  using base::Certificate;
  return {
      {"optimal", "True: no allowed answer is better.", &Certificate::optimal},
      {"lower_bound", "No allowed answer is below it; null where there is none.",
       [](const Certificate& c) { return std::isfinite(c.lower_bound) ? std::optional(c.lower_bound) : std::nullopt; }},
      {"gap", "(found - lower_bound) / found; 1 where nothing was found.", &Certificate::gap},
      {"space", "Answers that are allowed before capacities.", &Certificate::space},
      {"evaluated", "Answers that were priced one by one.", &Certificate::evaluated}};
}

std::vector<std::pair<std::string, std::uint64_t>> pruned(const base::Certificate& certificate) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const base::Pruned& entry : certificate.pruned) out.emplace_back(entry.argument, entry.count);
  return out;
}

}  // namespace orrery::verbs
