#include "orrery/runtime/kernels/rows.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::kernels {
namespace {

constexpr Index kRows = 64;  // in a task

const void* moved_of_rows(const void* data, Type type, Index elements) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + elements * bytes_of(type);
}
void* moved_of_rows(void* data, Type type, Index elements) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + elements * bytes_of(type);
}

// part(first row, rows) for all rows.
template <class Part>
void by_rows(Context& context, Index rows, Part part) {
  context.pool().run((rows + kRows - 1) / kRows, [&](Index task, int) {
    const Index row = task * kRows;
    part(row, std::min(kRows, rows - row));
  });
}

Softmax softmax_part(const Softmax& x, Index row, Index rows) {
  Softmax part = x;
  part.rows = rows;
  part.in = moved_of_rows(x.in, x.type, row * x.in_stride);
  part.gradient = moved_of_rows(x.gradient, x.type, row * x.gradient_stride);
  part.out = moved_of_rows(x.out, x.type, row * x.out_stride);
  return part;
}

}  // namespace

void finish(Context& context, const Finish& x) {
  ORRERY_CHECK((x.activation >= Activation::kReluSlope) == (x.slope_at != nullptr), "a slope is taken at something");
  by_rows(context, x.rows, [&](Index row, Index rows) {
    Finish part = x;
    part.rows = rows;
    part.first_row = x.first_row + row;
    part.in = moved_of_rows(x.in, x.in_type, row * x.in_stride);
    part.before = moved_of_rows(x.before, x.out_type, row * x.before_stride);
    part.slope_at = moved_of_rows(x.slope_at, x.slope_type, row * x.slope_stride);
    part.gate = moved_of_rows(x.gate, x.gate_type, row * x.gate_stride);
    part.residual = moved_of_rows(x.residual, x.residual_type, row * x.residual_stride);
    part.out = moved_of_rows(x.out, x.out_type, row * x.out_stride);
    context.table().finish(part);
  });
}

void normalise(Context& context, const Normalise& x) {
  by_rows(context, x.rows, [&](Index row, Index rows) {
    Normalise part = x;
    part.rows = rows;
    part.in = moved_of_rows(x.in, x.in_type, row * x.in_stride);
    part.out = moved_of_rows(x.out, x.out_type, row * x.out_stride);
    part.standard = moved_of_rows(x.standard, x.out_type, row * x.standard_stride);
    part.inverse = x.inverse == nullptr ? nullptr : x.inverse + row;
    context.table().normalise(part);
  });
}

void normalise_back(Context& context, const NormaliseBack& x) {
  const Index parts = (x.rows + kRows - 1) / kRows;
  auto* sums = reinterpret_cast<float*>(context.shared(2 * parts * x.columns + 1));
  by_rows(context, x.rows, [&](Index row, Index rows) {
    NormaliseBack part = x;
    part.rows = rows;
    part.gradient = moved_of_rows(x.gradient, x.type, row * x.gradient_stride);
    part.standard = moved_of_rows(x.standard, x.type, row * x.standard_stride);
    part.inverse = x.inverse + row;
    part.residual = moved_of_rows(x.residual, x.type, row * x.residual_stride);
    part.out = moved_of_rows(x.out, x.type, row * x.out_stride);
    float* own = sums + row / kRows * 2 * x.columns;
    std::fill_n(own, 2 * x.columns, 0.0F);
    if (x.scale_gradient != nullptr) part.scale_gradient = own;
    if (x.shift_gradient != nullptr) part.shift_gradient = own + x.columns;
    context.table().normalise_back(part);
  });
  const auto reduce = [&](float* to, Index offset) {
    if (to == nullptr) return;
    std::fill_n(to, x.columns, 0.0F);
    for (Index part = 0; part < parts; ++part) {
      const float* from = sums + part * 2 * x.columns + offset;
      for (Index i = 0; i < x.columns; ++i) to[i] += from[i];
    }
  };
  reduce(x.scale_gradient, 0);
  reduce(x.shift_gradient, x.columns);
}

void rotate(Context& context, const Rotate& x) {
  by_rows(context, x.rows, [&](Index row, Index rows) {
    Rotate part = x;
    part.rows = rows;
    part.data = moved_of_rows(x.data, x.type, row * x.row_stride);
    part.positions = x.positions + row;
    context.table().rotate(part);
  });
}

void softmax(Context& context, const Softmax& x) {
  by_rows(context, x.rows, [&](Index row, Index rows) { context.table().softmax(softmax_part(x, row, rows)); });
}

void softmax_back(Context& context, const Softmax& x) {
  by_rows(context, x.rows, [&](Index row, Index rows) { context.table().softmax_back(softmax_part(x, row, rows)); });
}

}  // namespace orrery::kernels
