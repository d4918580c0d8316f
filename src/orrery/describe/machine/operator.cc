#include "orrery/describe/machine/operator.h"

#include <array>

namespace orrery::machine {

std::string_view name(OperatorKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"product",       "attention",    "sparse attention",
                                                      "normalisation", "element-wise", "scan"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Basis basis) {
  constexpr std::array<std::string_view, 3> kNames = {"modelled", "measured", "published"};
  return kNames[static_cast<std::size_t>(basis)];
}

Operator Operator::of(const MatrixProduct& product, bool gradient) {
  Operator out;
  out.product = product;
  out.gradient = gradient;
  return out;
}

Operator Operator::moving(OperatorKind kind, double bytes) {
  Operator out;
  out.kind = kind;
  out.bytes = bytes;
  return out;
}

}  // namespace orrery::machine
