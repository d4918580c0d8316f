// Small dense systems of normal equations.
#pragma once

#include <cmath>
#include <cstddef>

#include "orrery/base/diagnostics/check.h"

namespace orrery::energy {

// Solves A x = b_j for `right` columns by Cholesky's factorisation, in place: `a` is n x n, symmetric and positive
// definite, row by row, of which the lower triangle is read; `b` is n x right, row by row, and becomes x.
inline void solve_positive(double* a, double* b, std::size_t n, std::size_t right) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) ORRERY_CHECK(sum > 0, "normal equations are positive definite");
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
  for (std::size_t column = 0; column < right; ++column) {
    for (std::size_t i = 0; i < n; ++i) {
      double sum = b[i * right + column];
      for (std::size_t k = 0; k < i; ++k) sum -= a[i * n + k] * b[k * right + column];
      b[i * right + column] = sum / a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      double sum = b[i * right + column];
      for (std::size_t k = i + 1; k < n; ++k) sum -= a[k * n + i] * b[k * right + column];
      b[i * right + column] = sum / a[i * n + i];
    }
  }
}

}  // namespace orrery::energy
