// What becomes of sums on their way to memory, while they are in the cache: a chain of functors, each from a vector of
// values and its place to a vector of values. finish() composes the chain that `Finish` (function_table.h) describes;
// the activation, the dropout and the type of the result are constants of the code, operands that may be absent are
// tested once a vector, which the processor predicts.
//
// With float input this is also every element-wise operator there is. Cost: each operand is read once.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_dropout.h"
#include "orrery/runtime/kernels/compiled/kernel_math.h"
#include "orrery/runtime/kernels/compiled/lanes.h"

namespace orrery::kernels {
namespace {

struct Place {
  Index row, column;          // in the block
  int count;                  // lanes that exist
  const std::uint16_t* kept;  // bits of the row, from the group that kept_column begins
  Index kept_column;          // of the block's column in them
};

inline F load_typed(const void* data, Type type, Index at, int count) {
  if (type == Type::kBf16) {
    const auto* p = static_cast<const std::uint16_t*>(data) + at;
    return count == kLanes ? load_bf16(p) : load_bf16(p, count);
  }
  const float* p = static_cast<const float*>(data) + at;
  const F x = count == kLanes ? load(p) : load(p, count);
  return type == Type::kInt32 ? to_float((I)as_bits(x)) : x;
}

template <class Element>
void store_at(void* data, Index at, F x, int count) {
  Element* p = static_cast<Element*>(data) + at;
  count == kLanes ? store_from_float(p, x) : store_from_float(p, x, count);
}

struct Bias {
  const float* values;
  F operator()(F x, const Place& at) const {
    return values == nullptr ? x : x + load_typed(values, Type::kF32, at.column, at.count);
  }
};

template <class Element>
struct Keep {
  void* to;
  Index stride;
  F operator()(F x, const Place& at) const {
    if (to != nullptr) store_at<Element>(to, at.row * stride + at.column, x, at.count);
    return x;
  }
};

template <Activation kWhich>
struct Activate {
  const void* slope_at;
  Index stride;
  Type type;
  F operator()(F x, const Place& at) const {
    if constexpr (is_slope(kWhich)) {
      return x * activated<kWhich>(load_typed(slope_at, type, at.row * stride + at.column, at.count));
    }
    return activated<kWhich>(x);
  }
};

struct Gate {
  const void* values;
  Index stride;
  Type type;
  F operator()(F x, const Place& at) const {
    return values == nullptr ? x : x * load_typed(values, type, at.row * stride + at.column, at.count);
  }
};

template <bool kDrop>
struct Drop {
  float scale;
  F operator()(F x, const Place& at) const {
    if constexpr (kDrop) return x * drop_factors(at.kept, at.kept_column + at.column, scale);
    return x;
  }
};

struct Add {
  const void* values;
  Index stride;
  Type type;
  F operator()(F x, const Place& at) const {
    return values == nullptr ? x : x + load_typed(values, type, at.row * stride + at.column, at.count);
  }
};

// The chain of all parts, left to right.
template <class... Parts>
F through(F x, const Place& at, const Parts&... parts) {
  ((x = parts(x, at)), ...);
  return x;
}

constexpr Index kFinishColumns = 1024;  // at a time; what the bits of a row are kept for

template <Activation kWhich, bool kDrop, class Element>
void finish_as(const Finish& x) {
  const Bias bias{x.bias};
  const Keep<Element> keep{x.before, x.before_stride};
  const Activate<kWhich> activate{x.slope_at, x.slope_stride, x.slope_type};
  const Gate gate{x.gate, x.gate_stride, x.gate_type};
  const Drop<kDrop> drop{x.drop.scale};
  const Add add{x.residual, x.residual_stride, x.residual_type};
  constexpr std::uintptr_t kBytes = kLanes * sizeof(Element);
  const bool streamed = x.streamed && reinterpret_cast<std::uintptr_t>(x.out) % kBytes == 0 &&
                        x.out_stride * sizeof(Element) % kBytes == 0;
  std::uint16_t bits[(kFinishColumns / kDropGroup + 2) * 8];
  for (Index begin = 0; begin < x.columns; begin += kFinishColumns) {
    const Index end = begin + kFinishColumns < x.columns ? begin + kFinishColumns : x.columns;
    const Index group = (x.first_column + begin) / kDropGroup;
    for (Index row = 0; row < x.rows; ++row) {
      if constexpr (kDrop) {
        kept_groups(x.drop, static_cast<std::uint64_t>(x.first_row + row), group,
                    (x.first_column + end + kDropGroup - 1) / kDropGroup, bits);
      }
      Place at{row, begin, kLanes, bits, x.first_column - group * kDropGroup};
      for (; at.column < end; at.column += kLanes) {
        if (end - at.column < kLanes) at.count = static_cast<int>(end - at.column);
        const F sums = load_typed(x.in, x.in_type, row * x.in_stride + at.column, at.count) * x.alpha;
        const F out = through(sums, at, bias, keep, activate, gate, drop, add);
        const Index to = row * x.out_stride + at.column;
        if (streamed && at.count == kLanes) {
          stream_from_float(static_cast<Element*>(x.out) + to, out);
        } else {
          store_at<Element>(x.out, to, out, at.count);
        }
      }
    }
  }
  if (streamed) streams_done();
}

inline void finish(const Finish& x) {
  with_activation(x.activation, [&]<Activation kWhich>() {
    const bool drop = x.drop.threshold != 0;
    if (x.out_type == Type::kBf16) {
      drop ? finish_as<kWhich, true, std::uint16_t>(x) : finish_as<kWhich, false, std::uint16_t>(x);
    } else {
      drop ? finish_as<kWhich, true, float>(x) : finish_as<kWhich, false, float>(x);
    }
  });
}

}  // namespace
}  // namespace orrery::kernels
