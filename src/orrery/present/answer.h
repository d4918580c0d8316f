// The envelope of every JSON document: what kind it is, who wrote it, from what, the answer, what is proven of it,
// warnings and the time it took. Keys are a contract with users' scripts: a change that breaks readers raises the
// number in `schema`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/version.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

// What documents say beside the answer; each kind of document has some of it.
struct Envelope {
  std::string schema = {};  // "orrery.<kind>/1", by document_text
  std::string version = base::kVersion;
  std::string command = {};  // that repeats the question
  std::vector<std::string> compat = {};
  const std::vector<base::Input>* inputs = nullptr;  // borrowed, as `warnings`
  const base::Diagnostics* warnings = nullptr;
  double seconds = 0;
};
enum Part : unsigned { kCompat = 1, kInputs = 2, kWarnings = 4, kTiming = 8 };

// The parts that an answer has by its members `compat`, `inputs` and `warnings`, and the time that it took.
template <typename Answer>
inline constexpr unsigned kPartsOf = (requires(const Answer& a) { a.compat; } ? unsigned{kCompat} : 0U) |
                                     (requires(const Answer& a) { a.inputs; } ? unsigned{kInputs} : 0U) |
                                     (requires(const Answer& a) { a.warnings; } ? unsigned{kWarnings} : 0U) | kTiming;

template <typename Answer>
Envelope members_of(const Answer& answer) {
  Envelope out;
  if constexpr (requires { answer.compat; }) out.compat = answer.compat;
  if constexpr (requires { answer.inputs; }) out.inputs = &answer.inputs;
  if constexpr (requires { answer.warnings; }) out.warnings = &answer.warnings;
  return out;
}

std::string command_text(const std::vector<std::string>& words);  // "orrery map --chip ...", "" of no words
std::string document_text(const std::string& kind, unsigned parts, Envelope envelope, const AnyColumns& keys,
                          const void* answer);
Json document_schema(const std::string& kind, unsigned parts, const AnyColumns& keys);

// One kind of document, "orrery.<kind>/1": what --json prints of an answer, and its schema.
template <typename Answer>
class Document {
 public:
  using Beside = Envelope (*)(const Answer&);

  Document(std::string kind, Record<Answer> keys, unsigned parts = kPartsOf<Answer>, Beside beside = members_of)
      : kind_(std::move(kind)), keys_(std::move(keys)), parts_(parts), beside_(beside) {}
  // With `result` alone.
  Document(std::string kind, const char* meaning, const Record<Answer>& result, unsigned parts = kPartsOf<Answer>,
           Beside beside = members_of)
      : Document(std::move(kind), {{"result", meaning, std::identity(), result}}, parts, beside) {}

  // `seconds`: wall clock of the whole command; `command`: the words after `orrery` that repeat the question.
  std::string json(const Answer& answer, double seconds = 0, const std::vector<std::string>& command = {}) const {
    Envelope envelope = beside_(answer);
    envelope.seconds = seconds;
    envelope.command = command_text(command);
    return document_text(kind_, parts_, envelope, keys_.columns(), &answer);
  }
  Json schema() const { return document_schema(kind_, parts_, keys_.columns()); }
  const base::Diagnostics* warnings(const Answer& answer) const { return beside_(answer).warnings; }

 private:
  std::string kind_;
  Record<Answer> keys_;
  unsigned parts_;
  Beside beside_;
};

// What documents have in common.
Record<base::Location> location();
std::optional<base::Location> known(const base::Location& where);  // nothing where it is none
Record<base::Certificate> proof();                                 // what every search states
std::vector<std::pair<std::string, std::uint64_t>> pruned(const base::Certificate& certificate);

}  // namespace orrery::verbs
