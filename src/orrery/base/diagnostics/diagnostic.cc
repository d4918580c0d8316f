#include "orrery/base/diagnostics/diagnostic.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace orrery::base {
namespace {

std::string summary(const std::vector<Diagnostic>& found) {
  for (const Diagnostic& diagnostic : found)
    if (diagnostic.severity == Severity::kError) return diagnostic.code + ": " + diagnostic.message;
  return "input error";
}

}  // namespace

InputError::InputError(std::vector<Diagnostic> found)
    : std::runtime_error(summary(found)), diagnostics(std::move(found)) {}

Diagnostic& Diagnostics::error(std::string code, std::string message, Location where) {
  return add({std::move(code), Severity::kError, std::move(message), {std::move(where), {}}, {}, {}, {}});
}

Diagnostic& Diagnostics::warning(std::string code, std::string message, Location where) {
  return add({std::move(code), Severity::kWarning, std::move(message), {std::move(where), {}}, {}, {}, {}});
}

Diagnostic& Diagnostics::add(Diagnostic diagnostic) {
  errors_ += diagnostic.severity == Severity::kError;
  return found_.emplace_back(std::move(diagnostic));
}

void Diagnostics::append(const std::vector<Diagnostic>& other) {
  for (const Diagnostic& diagnostic : other) add(diagnostic);
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) throw InputError(found_);
}

std::vector<Diagnostic> in_reading_order(std::vector<Diagnostic> found) {
  using Key = std::tuple<std::size_t, int, int>;
  std::map<const SourceFile*, std::size_t> first;
  std::vector<std::pair<Key, std::size_t>> order;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Location& where = found[i].primary.where;
    const std::size_t group = where.known() ? first.try_emplace(where.file.get(), i).first->second : i;
    order.emplace_back(where.known() ? Key{group, where.line, where.column} : Key{group, 0, 0}, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Diagnostic> sorted;
  sorted.reserve(found.size());
  for (const auto& [key, i] : order) sorted.push_back(std::move(found[i]));
  return sorted;
}

void fail(std::string code, std::string message, Location where, std::string hint) {
  Diagnostics found;
  Diagnostic& diagnostic = found.error(std::move(code), std::move(message), std::move(where));
  diagnostic.hint(std::move(hint));
  throw InputError(found.all());
}

}  // namespace orrery::base

template class std::basic_string<char>;
template class std::vector<std::string>;
template class std::vector<orrery::base::Label>;
template class std::vector<orrery::base::Diagnostic>;
