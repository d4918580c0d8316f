// For tests of the readers: YAML from a literal, and diagnostics as short texts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop::testing {

inline yaml::Node parse(const std::string& text) {
  base::Diagnostics found;
  auto documents = yaml::parse(base::source(text, "test.yaml"), base::Severity::kWarning, found);
  found.throw_if_errors();
  return documents.empty() ? yaml::Node{} : documents.front();
}

// "O0505@3:12" for every diagnostic; warnings end in "w".
inline std::vector<std::string> places(const base::Diagnostics& found) {
  std::vector<std::string> result;
  for (const base::Diagnostic& diagnostic : found.all())
    result.push_back(fmt::format("{}@{}:{}{}", diagnostic.code, diagnostic.primary.where.line,
                                 diagnostic.primary.where.column,
                                 diagnostic.severity == base::Severity::kWarning ? "w" : ""));
  return result;
}

using Places = std::vector<std::string>;

// Message, labels, notes and hints of all diagnostics, for looking for a word.
inline std::string words(const base::Diagnostics& found) {
  std::string all;
  for (const base::Diagnostic& diagnostic : found.all()) {
    all += diagnostic.message + "\n" + diagnostic.primary.text + "\n";
    for (const base::Label& label : diagnostic.secondary)
      all += fmt::format("{}:{}: {}\n", label.where.line, label.where.column, label.text);
    for (const std::string& note : diagnostic.notes) all += note + "\n";
    for (const std::string& hint : diagnostic.hints) all += hint + "\n";
  }
  return all;
}

inline bool says(const base::Diagnostics& found, const std::string& text) {
  return words(found).find(text) != std::string::npos;
}

}  // namespace orrery::formats::timeloop::testing
