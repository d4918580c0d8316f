// Products convert B to numbers once, then take eight rows of A at a time against all columns: sums in the order of the
// depth, whatever the threads. Cost: 2 M N K operations at a few per nanosecond, as the compiler's baseline
// instructions allow.
#include "orrery/runtime/kernels/plain/plain.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/plain/plain_numbers.h"

namespace orrery::kernels::plain {
namespace {

constexpr Index kRows = 8, kColumns = 128;

template <class Task>
void by_rows(Context& context, Index rows, Task task) {
  context.pool().run((rows + kRows - 1) / kRows,
                     [&](Index i, int worker) { task(i * kRows, std::min(kRows, rows - i * kRows), worker); });
}

template <class Real>
Real* numbers(void* units) {
  return static_cast<Real*>(units);
}

// One row of sums, `in`, through the chain of function_table.h; f's pointers are to the row's block.
template <class Real>
void finish_row(const Finish& f, Index row, const Real* in, void* out, Type out_type) {
  for (Index i = 0; i < f.columns; ++i) {
    Real x = in[i] * f.alpha;
    if (f.bias != nullptr) x += f.bias[i];
    if (f.before != nullptr) store(f.before, f.out_type, row * f.before_stride + i, x);
    if (f.slope_at != nullptr) {
      x *= activated<Real>(f.activation, load<Real>(f.slope_at, f.slope_type, row * f.slope_stride + i));
    } else {
      x = activated(f.activation, x);
    }
    if (f.gate != nullptr) x *= load<Real>(f.gate, f.gate_type, row * f.gate_stride + i);
    x *= drop_factor(f.drop, f.first_row + row, f.first_column + i);
    if (f.residual != nullptr) x += load<Real>(f.residual, f.residual_type, row * f.residual_stride + i);
    store(out, out_type, i, x);
  }
}

template <class Real>
void normalise_row(const Normalise& x, Index row, const Real* in) {
  Real mean = 0, square = 0;
  const auto columns = static_cast<Real>(x.columns);
  for (Index i = 0; i < x.columns && x.centred; ++i) mean += in[i] / columns;
  for (Index i = 0; i < x.columns; ++i) square += (in[i] - mean) * (in[i] - mean) / columns;
  const Real inverse = 1 / std::sqrt(square + static_cast<Real>(x.epsilon));
  if (x.inverse != nullptr) of_row<Real>(x.inverse, row) = inverse;
  for (Index i = 0; i < x.columns; ++i) {
    Real y = (in[i] - mean) * inverse;
    if (x.standard != nullptr) store(x.standard, x.out_type, row * x.standard_stride + i, y);
    if (x.scale != nullptr) y *= x.scale[i];
    if (x.shift != nullptr) y += x.shift[i];
    store(x.out, x.out_type, row * x.out_stride + i, y);
  }
}

// The parts of a product that the chain and the norm know.
Finish finish_of(const Product& p) {
  Finish f;
  f.columns = p.columns, f.alpha = p.alpha, f.bias = p.bias, f.activation = p.activation, f.drop = p.drop;
  f.before = p.before.data, f.before_stride = p.before.row_stride;
  f.slope_at = p.slope_at.data, f.slope_stride = p.slope_at.row_stride, f.slope_type = p.slope_at.type;
  f.gate = p.gate.data, f.gate_stride = p.gate.row_stride, f.gate_type = p.gate.type;
  const Beside& residual = p.add ? p.c : p.residual;
  f.residual = residual.data, f.residual_stride = residual.row_stride, f.residual_type = residual.type;
  f.out_type = p.c.type;
  return f;
}

Normalise normalise_of(const Product& p) {
  const NormaliseRows& n = p.normalise;
  Normalise f;
  f.columns = p.columns, f.centred = n.centred, f.epsilon = n.epsilon, f.scale = n.scale, f.shift = n.shift;
  f.out = n.out.data, f.out_type = n.out.type, f.out_stride = f.standard_stride = n.out.row_stride;
  f.standard = n.standard, f.inverse = n.inverse;
  return f;
}

template <class Real>
Real rounded(Type wanted, Type type, Real x) {
  if (wanted != Type::kF16 || type != Type::kF32) return x;
  return static_cast<Real>(from_half(to_half(static_cast<float>(x))));
}

template <class Real>
void multiply_as(Context& context, const Product& p) {
  const Type type = p.a.type;
  const Index places = sizeof(Real) / 4;
  Real* b = numbers<Real>(context.shared((p.depth * p.columns + 1) * places));
  context.pool().run(p.depth, [&](Index d, int) {
    for (Index j = 0; j < p.columns; ++j) {
      const Real x = load<Real>(p.b.data, p.b.type, d * p.b.row_stride + j * p.b.column_stride);
      b[d * p.columns + j] = rounded(type, p.b.type, x);
    }
  });
  const Finish finish = finish_of(p);
  const Normalise norm = normalise_of(p);
  const Type sums_type = sizeof(Real) == 8 ? Type::kF64 : Type::kF32;
  context.reserve_own((kRows * (p.depth + p.columns) + 1) * places);
  by_rows(context, p.rows, [&](Index first, Index rows, int worker) {
    Real* a = numbers<Real>(context.own(worker));
    Real* sums = a + kRows * p.depth;
    for (Index r = 0; r < rows; ++r) {
      Real of_a = 0;
      for (Index d = 0; d < p.depth; ++d) {
        a[r * p.depth + d] = load<Real>(p.a.data, type, (first + r) * p.a.row_stride + d * p.a.column_stride);
        of_a += a[r * p.depth + d];
      }
      if (p.row_sums != nullptr) p.row_sums[first + r] = static_cast<float>(of_a);
    }
    for (Index column = 0; column < p.columns; column += kColumns) {
      const Index columns = std::min(kColumns, p.columns - column);
      Real block[kRows][kColumns] = {};
      for (Index d = 0; d < p.depth; ++d) {
        const Real* from = b + d * p.columns + column;
        for (Index r = 0; r < rows; ++r) {
          const Real factor = a[r * p.depth + d];
          for (Index j = 0; j < columns; ++j) block[r][j] += factor * from[j];
        }
      }
      for (Index r = 0; r < rows; ++r) std::copy_n(block[r], columns, sums + r * p.columns + column);
    }
    for (Index r = 0; r < rows; ++r) {
      Real* row = sums + r * p.columns;
      if (p.normalise.out.data == nullptr) {
        finish_row(finish, first + r, row, moved(p.c.data, p.c.type, (first + r) * p.c.row_stride), p.c.type);
        continue;
      }
      finish_row(finish, first + r, row, row, sums_type);
      for (Index j = 0; p.c.data != nullptr && j < p.columns; ++j)
        store(p.c.data, p.c.type, (first + r) * p.c.row_stride + j, row[j]);
      normalise_row(norm, first + r, row);
    }
  });
}

// f(row, its numbers) for every row that the request reads.
template <class Request, class Function>
void each_row(Context& context, const Request& x, Function f) {
  with_real(x.in_type, [&]<class Real>(Real) {
    context.reserve_own(x.columns * static_cast<Index>(sizeof(Real) / 4));
    by_rows(context, x.rows, [&](Index first, Index rows, int worker) {
      Real* in = numbers<Real>(context.own(worker));
      for (Index row = first; row < first + rows; ++row) {
        for (Index i = 0; i < x.columns; ++i) in[i] = load<Real>(x.in, x.in_type, row * x.in_stride + i);
        f(row, in);
      }
    });
  });
}

template <class Real>
void normalise_back_rows(const NormaliseBack& x, Index first, Index rows) {
  const auto columns = static_cast<Real>(x.columns);
  for (Index row = first; row < first + rows; ++row) {
    const auto gradient = [&](Index i) {
      return load<Real>(x.gradient, x.type, row * x.gradient_stride + i) * (x.scale == nullptr ? 1 : x.scale[i]);
    };
    const auto standard = [&](Index i) { return load<Real>(x.standard, x.type, row * x.standard_stride + i); };
    Real mean = 0, slope = 0;
    for (Index i = 0; i < x.columns; ++i) {
      if (x.centred) mean += gradient(i) / columns;
      slope += gradient(i) * standard(i) / columns;
    }
    const Real inverse = of_row<Real>(const_cast<float*>(x.inverse), row);
    for (Index i = 0; i < x.columns; ++i) {
      Real dx = (gradient(i) - mean - standard(i) * slope) * inverse;
      if (x.residual != nullptr) dx += load<Real>(x.residual, x.type, row * x.residual_stride + i);
      store(x.out, x.type, row * x.out_stride + i, dx);
    }
  }
}

}  // namespace

void multiply(Context& context, const Product& p) {
  ORRERY_CHECK(takes(p.a.type) && p.batch == 1 && p.packed_b == nullptr, "a plain product is alone, of fp64 or fp16");
  if (p.rows == 0 || p.columns == 0) return;
  with_real(p.a.type, [&](auto real) { multiply_as<decltype(real)>(context, p); });
}

void finish(Context& context, const Finish& x) {
  each_row(context, x, [&](Index row, auto* in) {
    finish_row(x, row, in, moved(x.out, x.out_type, row * x.out_stride), x.out_type);
  });
}

void normalise(Context& context, const Normalise& x) {
  each_row(context, x, [&](Index row, auto* in) { normalise_row(x, row, in); });
}

void normalise_back(Context& context, const NormaliseBack& x) {
  with_real(x.type, [&]<class Real>(Real) {
    by_rows(context, x.rows, [&](Index first, Index rows, int) { normalise_back_rows<Real>(x, first, rows); });
    context.pool().run(x.columns, [&](Index i, int) {
      Real of_scale = 0, of_shift = 0;
      for (Index row = 0; row < x.rows; ++row) {
        const Real d = load<Real>(x.gradient, x.type, row * x.gradient_stride + i);
        of_scale += d * load<Real>(x.standard, x.type, row * x.standard_stride + i);
        of_shift += d;
      }
      if (x.scale_gradient != nullptr) x.scale_gradient[i] = static_cast<float>(of_scale);
      if (x.shift_gradient != nullptr) x.shift_gradient[i] = static_cast<float>(of_shift);
    });
  });
}

void rotate(Context& context, const Rotate& x, double base) {
  const Index half = x.turned / 2;
  with_real(x.type, [&]<class Real>(Real) {
    by_rows(context, x.rows, [&](Index first, Index rows, int) {
      for (Index row = first; row < first + rows; ++row) {
        for (Index i = 0; i < half; ++i) {
          const double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(x.turned));
          const double angle = static_cast<double>(x.positions[row]) * frequency * (x.back ? -1 : 1);
          const Real c = static_cast<Real>(std::cos(angle)), s = static_cast<Real>(std::sin(angle));
          for (Index head = 0; head < x.heads; ++head) {
            const Index at = row * x.row_stride + head * x.head_stride;
            const Index one = at + (x.pairs ? 2 * i : i), other = at + (x.pairs ? 2 * i + 1 : i + half);
            const Real a = load<Real>(x.data, x.type, one), b = load<Real>(x.data, x.type, other);
            store(x.data, x.type, one, a * c - b * s);
            store(x.data, x.type, other, b * c + a * s);
          }
        }
      }
    });
  });
}

}  // namespace orrery::kernels::plain
