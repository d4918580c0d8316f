// Expressions of AccelForge's documents: Python's arithmetic, sets of an einsum's tensors and rank variables, and how
// long a component takes for its actions.
//
//   1024 * 1024 * 8                        1 if len(All) == 3 else 0
//   ~Intermediates      weight | input     3 * output.bits_per_value       (input & weight).rank_variables
//   max(a.n_calls / a.throughput for a in actions)
//
// The last is no number yet: it is the largest of sums that are linear in how often each action is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::accelforge {

// A set: bit i stands for tensor i, or variable i, of the einsum that is asked about.
using Bits = std::uint64_t;
inline constexpr std::size_t kMostMembers = 64;

struct SetValue {
  enum class Kind { kNone, kNumber, kText, kTensors, kVariables, kAction, kActions, kTimes };

  Kind kind = Kind::kNone;
  double number = 0;  // of kNumber; truth is 1 or 0
  std::string text;
  Bits set = 0;
  std::size_t action = 0;                  // of kAction
  std::vector<std::vector<double>> times;  // of kTimes: the largest of these sums; [sum][action]: time of one action

  static SetValue of(double number) { return {Kind::kNumber, number, {}, 0, 0, {}}; }
  static SetValue words(std::string text) { return {Kind::kText, 0, std::move(text), 0, 0, {}}; }
  static SetValue tensors(Bits set) { return {Kind::kTensors, 0, {}, set, 0, {}}; }
  static SetValue variables(Bits set) { return {Kind::kVariables, 0, {}, set, 0, {}}; }

  bool is(Kind one) const { return kind == one; }
};

// What an action of a component is called and costs, as far as expressions ask.
struct ActionFigures {
  std::string name;
  std::map<std::string, double, std::less<>> figures;  // energy, throughput, bits_per_action
};

// What names mean while one einsum is looked at.
struct Symbols {
  std::vector<std::string> tensors;
  std::vector<std::string> variables;
  std::vector<Bits> variables_of;  // by tensor
  std::vector<double> bits_of;     // by tensor, once they are known
  std::map<std::string, SetValue, std::less<>> names;
  std::vector<ActionFigures> actions;

  Bits all_tensors() const { return all(tensors.size()); }
  Bits all_variables() const { return all(variables.size()); }

 private:
  static Bits all(std::size_t size) { return size >= kMostMembers ? ~Bits{0} : (Bits{1} << size) - 1; }
};

// What is wrong with an expression, and the characters of it that this concerns.
struct SetExpressionError {
  std::string code;
  std::string message;
  std::size_t offset = 0;
  std::size_t length = 1;
  std::string name;  // that is not known
};

// Throws SetExpressionError.
SetValue evaluate(std::string_view text, const Symbols& symbols);

// Of a scalar in a document. Throws InputError, which points at the part that is wrong.
SetValue evaluate(const yaml::Node& node, const Symbols& symbols, std::string_view what);
// The same, demanding a kind: O2103.
double number_of(const yaml::Node& node, const Symbols& symbols, std::string_view what);
Bits tensors_of(const yaml::Node& node, const Symbols& symbols, std::string_view what);

}  // namespace orrery::formats::accelforge
