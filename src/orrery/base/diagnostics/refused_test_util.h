// For tests of every floor: texts to read, and what is said about them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

using Codes = std::vector<std::string>;

inline std::shared_ptr<const SourceFile> source(std::string text, std::string name = "test.txt") {
  return std::make_shared<SourceFile>(SourceFile{std::move(name), std::move(text)});
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);  // throws where there is no `from`
}

// The messages of the InputError that `action` throws; empty when it throws none.
template <typename Action>
std::vector<Diagnostic> refused(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.diagnostics;
  }
  return {};
}

inline Codes codes(const std::vector<Diagnostic>& found) {
  Codes result;
  for (const Diagnostic& diagnostic : found) result.push_back(diagnostic.code);
  return result;
}

template <typename Action>
Codes codes_of(const Action& action) {
  return codes(refused(action));
}

}  // namespace orrery::base
