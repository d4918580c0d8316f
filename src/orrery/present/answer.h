// The envelope of every JSON document: what kind it is, who wrote it, from what, the answer, what is proven of it,
// warnings and the time it took. Keys are a contract with users' scripts: a change that breaks readers raises the
// number in `schema`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

// What documents say beside the answer; each kind of document has some of it.
struct Envelope {
  std::string version;
  std::vector<std::string> compat = {};
  const std::vector<base::Input>* inputs = nullptr;  // borrowed, as `warnings`
  const base::Diagnostics* warnings = nullptr;
  double seconds = 0;
};
enum Part : unsigned { kCompat = 1, kInputs = 2, kWarnings = 4, kTiming = 8 };

Record<Envelope> envelope_head(const std::string& kind, unsigned parts);
Record<Envelope> envelope_tail(unsigned parts);

// The document "orrery.<kind>/1" with the parts named; `answer` is its result and, where there is one, its certificate.
template <typename T>
Record<T> document(const std::string& kind, unsigned parts, Envelope (*envelope)(const T&), const Record<T>& answer) {
  Record<T> out = envelope_head(kind, parts).of<T>(envelope);
  out.add(answer).add(envelope_tail(parts).of<T>(envelope));
  return out;
}

// What documents have in common.
Record<base::Location> location();
std::optional<base::Location> known(const base::Location& where);  // nothing where it is none
Record<base::Certificate> proof();                                 // what every search states
std::vector<std::pair<std::string, std::uint64_t>> pruned(const base::Certificate& certificate);

}  // namespace orrery::verbs
