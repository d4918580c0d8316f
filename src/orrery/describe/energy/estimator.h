// The interface to sources of figures for primitives: estimation tables, memory models, libraries of published
// designs.
//
// An estimator says how accurate its answer to a query would be, before it answers. The most accurate one is
// asked first; the first that answers wins (estimate.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/describe/energy/attribute_value.h"

namespace orrery::energy {

// Energy of `action`, or, where `action` is empty, area. Valid only during the call.
struct Query {
  std::string_view class_name;
  const Attributes& attributes;
  std::string_view action;
  const Attributes& arguments;

  bool wants_area() const { return action.empty(); }
};

// How a figure was obtained. Printed with every figure. kExtrapolated: beyond what the figures were measured or
// modelled for (`Figure::beyond` says which bounds).
enum class Basis { kPublished, kModelled, kInterpolated, kExtrapolated, kMeasured, kAssumed };
std::string_view name(Basis basis);

struct Figure {
  double value = 0;             // pJ of one action, or um^2; a leak action: pJ in one cycle
  double accuracy_percent = 0;  // what the estimator claims, 0 to 100 (Accelergy's scale)
  // Measured error against the tool that the estimator stands for: two thirds of its figures are at most that far off.
  // Nothing: not measured.
  std::optional<double> expected_error_percent;
  Basis basis = Basis::kPublished;
  std::string estimator;            // "sram"
  std::string source;               // "CACTI 7, between four table points; 32 nm, 64 KiB, 128 bit"
  std::string node_rule;            // the rule that scaled it to the requested technology; empty: not scaled
  std::vector<std::string> beyond;  // bounds of its figures that the query lies beyond; a warning names them
};

// Why an estimator has no figure, in the user's terms: "knows technologies 22 to 90 nm; this one is 130nm".
struct Refusal {
  std::string reason;
  std::string way_out = {};  // may be empty
};

using Answer = std::variant<Figure, Refusal>;

class Estimator {
 public:
  virtual ~Estimator() = default;
  virtual std::string_view name() const = 0;
  // The classes it has figures for, as descriptions spell them; for "did you mean". May be empty.
  virtual std::vector<std::string> classes() const { return {}; }
  // 0 to 100, or nothing for a class it does not know. Must be cheap.
  virtual std::optional<double> accuracy(const Query& query) const = 0;
  // Thread-safe. Called only where `accuracy` answered.
  virtual Answer estimate(const Query& query) const = 0;
};

}  // namespace orrery::energy
