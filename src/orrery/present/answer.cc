#include "orrery/present/answer.h"

#include <cmath>
#include <optional>

#include "orrery/base/text/shell_words.h"
#include "orrery/present/diagnostic_text.h"

namespace orrery::verbs {
namespace {

Record<base::Input> input() {
  return {{"name", "Path of the file, or the option that stands for it: `--set PATH=VALUE`.", &base::Input::name},
          {"hash", "XXH3-128 of its content, hexadecimal.", &base::Input::hash}};
}

Record<base::Diagnostic> warning() {
  using base::Diagnostic;
  return {{"code", "Code of the diagnostic, such as O0710; `orrery explain CODE` describes it.", &Diagnostic::code},
          {"severity", "How serious it is: `warning` or `note`.",
           [](const Diagnostic& d) { return severity_name(d.severity); }, OneOf{{"warning", "note"}}},
          {"message", "What is the matter, in one sentence.", &Diagnostic::message},
          {"where", "The place in a file that it is about; null where it is about no file.",
           [](const Diagnostic& d) { return known(d.primary.where); }, location()},
          {"notes", "Facts that explain it.", &Diagnostic::notes},
          {"hints", "Ways out.", &Diagnostic::hints}};
}

Record<Envelope> timing() {
  return {{"seconds", "Wall clock of the whole command, in seconds.", &Envelope::seconds}};
}

std::string document_name(const std::string& kind) {
  return "orrery." + kind + "/1";
}

Record<Envelope> envelope_head(const std::string& kind, unsigned parts) {
  Record<Envelope> out = {
      {"schema", "The kind of document and its version.", &Envelope::schema, OneOf{{document_name(kind)}}},
      {"version", "Version of Orrery that wrote the document.", &Envelope::version}};
  out.add(
      {{"command",
        "The command that repeats the question, as a shell takes it, without options of where the answer goes; empty "
        "where no command asked.",
        &Envelope::command}});
  if (parts & kCompat)
    out.add({{"compat", "Originals whose defects are reproduced, as `--compat` names them.", &Envelope::compat}});
  const auto inputs = [](const Envelope& e) -> const std::vector<base::Input>& { return *e.inputs; };
  if (parts & kInputs) out.add({{"inputs", "Files and options that the answer depends on.", inputs, input()}});
  return out;
}

Record<Envelope> envelope_tail(unsigned parts) {
  Record<Envelope> out({});
  const auto warnings = [](const Envelope& e) -> const auto& {
    return e.warnings->all();
  };
  if (parts & kWarnings)
    out.add({{"warnings", "Warnings and notes, in the order in which they were met.", warnings, warning()}});
  if (parts & kTiming)
    out.add({{"timing", "The part of the document that differs from run to run.", std::identity(), timing()}});
  return out;
}

}  // namespace

std::string command_text(const std::vector<std::string>& words) {
  return words.empty() ? "" : "orrery " + base::shell_words(words);
}

std::string document_text(const std::string& kind, unsigned parts, Envelope envelope, const AnyColumns& keys,
                          const void* answer) {
  envelope.schema = document_name(kind);
  Json::Object out;
  add_keys(out, envelope_head(kind, parts).columns(), &envelope);
  add_keys(out, keys, answer);
  add_keys(out, envelope_tail(parts).columns(), &envelope);
  return text(std::move(out));
}

Json document_schema(const std::string& kind, unsigned parts, const AnyColumns& keys) {
  AnyColumns all = envelope_head(kind, parts).columns();
  all.insert(all.end(), keys.begin(), keys.end());
  const Record<Envelope> tail = envelope_tail(parts);
  all.insert(all.end(), tail.columns().begin(), tail.columns().end());
  return object_schema(all);
}

Record<base::Location> location() {
  using base::Location;
  const auto line = [](const Location& l, int number) { return l.line > 0 ? std::optional(number) : std::nullopt; };
  return {
      {"file", "Path of the file, or the option that stands for it.", [](const Location& l) { return l.file->name; }},
      {"line", "Line, from 1; null where the file as a whole is meant.",
       [=](const Location& l) { return line(l, l.line); }},
      {"column", "Column in characters, from 1; null where the file as a whole is meant.",
       [=](const Location& l) { return line(l, shown_column(l)); }}};
}

std::optional<base::Location> known(const base::Location& where) {
  return where.known() ? std::optional(where) : std::nullopt;
}

Record<base::Certificate> proof() {
  using base::Certificate;
  return {
      {"optimal", "True: no allowed answer is better.", &Certificate::optimal},
      {"lower_bound", "No allowed answer is below it, in the unit of the objective; null where there is no bound.",
       [](const Certificate& c) { return std::isfinite(c.lower_bound) ? std::optional(c.lower_bound) : std::nullopt; }},
      {"gap", "(found - lower_bound) / found, as a share; 1 where nothing was found.", &Certificate::gap},
      {"space", "Number of allowed answers, before capacities are checked.", &Certificate::space},
      {"evaluated", "Number of answers that were evaluated one by one.", &Certificate::evaluated}};
}

std::vector<std::pair<std::string, std::uint64_t>> pruned(const base::Certificate& certificate) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const base::Pruned& entry : certificate.pruned) out.emplace_back(entry.argument, entry.count);
  return out;
}

}  // namespace orrery::verbs
