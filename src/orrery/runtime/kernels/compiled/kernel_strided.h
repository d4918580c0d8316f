// Operators on tensors that each have a layout of their own. A tile has rows and columns, and vectors run along its
// columns. A tensor of floats whose columns lie behind one another is used where it lies; any other is first brought
// into that form (`stage`), by transposing blocks of kLanes x kLanes in registers where its rows lie behind one
// another, and results are brought back (`unstage`). What is computed so knows one layout only, whatever the operands
// have, and is written once; sums run along columns or down rows by a constant of the code.
//
// Masks: element number n is dropped when a hash of n and two keys is below a threshold. The hash is C. Wellons'
// triple32 (2018; three multiplications, bias 0.021 of the ideal's) with the keys mixed in at two places, so that seeds
// give unlike masks, not the same one moved. Masks so do not depend on layouts, vectors or threads.
//
// Cost: each operand is read once and each result written once; staging adds a pass through the first-level caches.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_math.h"
#include "orrery/runtime/kernels/compiled/kernel_rows.h"
#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/strided_tile.h"

namespace orrery::kernels {
namespace {

// A tensor as the kernels see it: floats, columns behind one another; or one number for each row.
struct View {
  float* data = nullptr;
  Index pitch = 0;
  bool splat = false, streamed = false;

  F at(Index row, Index column, int n) const {
    return splat ? all(data[row * pitch]) : take(static_cast<const float*>(data) + row * pitch + column, n);
  }
  void put(Index row, Index column, F x, int n) const {
    float* to = data + row * pitch + column;
    if (n < kLanes) return store(to, x, n);
    streamed ? stream(to, x) : store(to, x);
  }
};

inline float number_at(const TileTensor& t, Index at) {
  if (t.type == Type::kF32) return static_cast<const float*>(t.data)[at];
  const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(t.data)[at]} << 16;
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

inline void set_number(const TileTensor& t, Index at, float x) {
  if (t.type == Type::kF32) {
    static_cast<float*>(t.data)[at] = x;
  } else {
    store_bf16(static_cast<std::uint16_t*>(t.data) + at, all(x), 1);
  }
}

inline bool turned(const TileTensor& t) {
  return t.type == Type::kF32 && t.row_stride == 1;
}

// `rows` x `columns` numbers into rows of `pitch`.
inline void stage(const TileTensor& t, Index rows, Index columns, float* to, Index pitch) {
  if (t.column_stride == 1 && t.type == Type::kBf16) {
    for (Index r = 0; r < rows; ++r) {
      const std::uint16_t* from = static_cast<const std::uint16_t*>(t.data) + r * t.row_stride;
      each_vector(columns, [&](Index i, int n) { put(to + r * pitch + i, take(from + i, n), n); });
    }
    return;
  }
  Index row = 0;
  if (turned(t)) {
    const float* from = static_cast<const float*>(t.data);
    for (; row + kLanes <= rows; row += kLanes) {
      Index column = 0;
      for (; column + kLanes <= columns; column += kLanes) {
        U block[kLanes];
        for (int l = 0; l < kLanes; ++l) block[l] = as_bits(load(from + (column + l) * t.column_stride + row));
        transpose(block);
        for (int l = 0; l < kLanes; ++l) store(to + (row + l) * pitch + column, as_float(block[l]));
      }
      for (; column < columns; ++column)
        for (int l = 0; l < kLanes; ++l) to[(row + l) * pitch + column] = from[column * t.column_stride + row + l];
    }
  }
  for (; row < rows; ++row)
    for (Index i = 0; i < columns; ++i) to[row * pitch + i] = number_at(t, row * t.row_stride + i * t.column_stride);
}

inline void unstage(const TileTensor& t, Index rows, Index columns, const float* from, Index pitch, bool streamed) {
  if (t.column_stride == 1 && t.type == Type::kBf16) {
    for (Index r = 0; r < rows; ++r) {
      std::uint16_t* to = static_cast<std::uint16_t*>(t.data) + r * t.row_stride;
      each_vector(columns, [&](Index i, int n) { put(to + i, take(from + r * pitch + i, n), n); });
    }
    return;
  }
  Index row = 0;
  if (turned(t)) {
    float* to = static_cast<float*>(t.data);
    constexpr Index kVector = kLanes * sizeof(float);
    const bool past = streamed && reinterpret_cast<std::uintptr_t>(to) % kVector == 0 && t.column_stride % kLanes == 0;
    for (; row + kLanes <= rows; row += kLanes) {
      Index column = 0;
      for (; column + kLanes <= columns; column += kLanes) {
        U block[kLanes];
        for (int l = 0; l < kLanes; ++l) block[l] = as_bits(load(from + (row + l) * pitch + column));
        transpose(block);
        for (int l = 0; l < kLanes; ++l) {
          float* at = to + (column + l) * t.column_stride + row;
          past ? stream(at, as_float(block[l])) : store(at, as_float(block[l]));
        }
      }
      for (; column < columns; ++column)
        for (int l = 0; l < kLanes; ++l) to[column * t.column_stride + row + l] = from[(row + l) * pitch + column];
    }
  }
  for (; row < rows; ++row)
    for (Index i = 0; i < columns; ++i) set_number(t, row * t.row_stride + i * t.column_stride, from[row * pitch + i]);
}

// A part of a tile that is computed at once: a row of one whose sums run along it, some columns of another.
struct Part {
  Index row, end_row, column, end_column;
};

// f(row, column, lanes)
template <class Function>
__attribute__((always_inline)) inline void each(const Part& part, Function f) {
  for (Index r = part.row; r < part.end_row; ++r)
    each_vector(part.end_column - part.column, [&](Index i, int n) { f(r, part.column + i, n); });
}

// Numbers for each row or for each column of a part.
template <bool kAlong>
struct PerLine {
  float* data;

  F at(Index row, Index column, int n) const { return kAlong ? all(data[row]) : take(data + column, n); }
  // Combines f(row, column, lanes) of the whole part, beginning with what is there.
  template <class Combine, class Fold, class Function>
  __attribute__((always_inline)) void gather(const Part& part, Combine combine, Fold fold, F idle, Function f) const {
    if constexpr (kAlong) {
      for (Index r = part.row; r < part.end_row; ++r) {
        F sum = idle;
        each_vector(part.end_column - part.column, [&](Index i, int n) {
          const F x = f(r, part.column + i, n);
          sum = combine(sum, n == kLanes ? x : where_bits((1U << n) - 1U, x, idle));
        });
        data[r] = lane_of(combine(all(data[r]), all(fold(sum))));
      }
    } else {
      each(part, [&](Index r, Index i, int n) { put(data + i, combine(take(data + i, n), f(r, i, n)), n); });
    }
  }
  static Index begin(const Part& part) { return kAlong ? part.row : part.column; }
  static Index end(const Part& part) { return kAlong ? part.end_row : part.end_column; }
  void set(const Part& part, float x) const {
    for (Index i = begin(part); i < end(part); ++i) data[i] = x;
  }
  // Each number x becomes f(x).
  template <class Function>
  void each_line(const Part& part, Function f) const {
    float* from = data + begin(part);
    each_vector(end(part) - begin(part), [&](Index i, int n) { put(from + i, f(take(from + i, n)), n); });
  }
  template <class Function>
  __attribute__((always_inline)) void add(const Part& part, Function f) const {
    gather(
        part, [](F a, F b) { return a + b; }, sum_of, F{}, f);
  }
};

struct StridedRun {
  const StridedTile& x;
  View v[kStridedTensors];
  Index pitch;
  View temporary;
  float* lines[4];
  U ramp;

  explicit StridedRun(const StridedTile& tile)
      : x(tile), pitch((tile.columns + kLanes - 1) / kLanes * kLanes + kLanes) {
    std::uint32_t numbers[kLanes];
    for (int i = 0; i < kLanes; ++i) numbers[i] = static_cast<std::uint32_t>(i);
    ramp = load(numbers);
    float* free = x.scratch;
    temporary = {free, pitch};
    free += x.rows * pitch;
    for (float*& line : lines) {
      line = free;
      free += x.columns + x.rows;
    }
    for (int i = 0; i < kStridedTensors; ++i) {
      const TileTensor& t = x.tensors[i];
      if (t.data == nullptr) continue;
      v[i] = {free, pitch};
      if (direct(t)) {
        const Index vector = kLanes * static_cast<Index>(sizeof(float));
        v[i] = {static_cast<float*>(t.data), t.row_stride, t.column_stride == 0};
        v[i].streamed = x.streamed &&
                        reinterpret_cast<std::uintptr_t>(t.data) % static_cast<std::size_t>(vector) == 0 &&
                        t.row_stride % kLanes == 0;
      } else if (t.column_stride == 0) {
        v[i].pitch = 1, v[i].splat = true;
        free += x.rows;
      } else if (t.row_stride == 0) {
        v[i].pitch = 0;
        free += pitch;
      } else {
        free += x.rows * pitch;
      }
    }
  }

  static bool direct(const TileTensor& t) {
    return t.type == Type::kF32 && (t.column_stride == 1 || t.column_stride == 0);
  }
  // How many rows and columns of it there are.
  Index rows_of(const TileTensor& t) const { return t.row_stride == 0 ? 1 : x.rows; }
  Index columns_of(const TileTensor& t) const { return t.column_stride == 0 ? 1 : x.columns; }
  void bring(std::uint32_t which) const {
    for (int i = 0; i < kStridedTensors; ++i) {
      const TileTensor& t = x.tensors[i];
      if ((which >> i & 1U) != 0 && t.data != nullptr && !direct(t))
        stage(t, rows_of(t), columns_of(t), v[i].data, v[i].pitch);
    }
  }
  void bring_back(std::uint32_t which) const {
    for (int i = 0; i < kStridedTensors; ++i) {
      const TileTensor& t = x.tensors[i];
      if ((which >> i & 1U) != 0 && t.data != nullptr && !direct(t))
        unstage(t, rows_of(t), columns_of(t), v[i].data, v[i].pitch, x.streamed);
    }
    if (x.streamed) streams_done();
  }

  F in(int i, Index row, Index column, int n) const { return v[i].at(row, column, n); }
  void out(int i, Index row, Index column, F value, int n) const {
    if (v[i].data != nullptr) v[i].put(row, column, value, n);
  }

  F factors(Index row, Index column) const {
    if (x.threshold == 0) return all(x.keep);
    const std::uint64_t number =
        x.first + static_cast<std::uint64_t>(row) * x.row_step + static_cast<std::uint64_t>(column) * x.column_step;
    U h = ramp * static_cast<std::uint32_t>(x.column_step) + static_cast<std::uint32_t>(number);
    h ^= all_bits(x.keys[0] + static_cast<std::uint32_t>(number >> 32) * 0x9e3779b9U);
    h ^= h >> 17;
    h *= 0xed5ad4bbU;
    h ^= h >> 11;
    h ^= all_bits(x.keys[1]);
    h *= 0xac4c1b51U;
    h ^= h >> 15;
    h *= 0x31848babU;
    h ^= h >> 14;
    return where_bits(below(h, x.threshold), F{}, all(x.keep));
  }

  Part whole() const { return {0, x.rows, 0, x.columns}; }
  // What one sum needs, at a time: it stays in the first-level cache from pass to pass.
  template <bool kAlong, class Function>
  void by_parts(Function f) const {
    constexpr Index kColumns = 64;
    if constexpr (kAlong) {
      for (Index r = 0; r < x.rows; ++r) f(Part{r, r + 1, 0, x.columns});
    } else {
      for (Index c = 0; c < x.columns; c += kColumns)
        f(Part{0, x.rows, c, c + kColumns < x.columns ? c + kColumns : x.columns});
    }
  }

  void add_bias() const {
    bring(0b011);
    each(whole(), [&](Index r, Index i, int n) { out(2, r, i, in(0, r, i, n) + in(1, r, i, n), n); });
    bring_back(0b100);
  }

  void bias_relu_drop() const {
    bring(0b00011);
    each(whole(), [&](Index r, Index i, int n) {
      const F linear = in(0, r, i, n) + in(1, r, i, n), m = factors(r, i);
      out(4, r, i, linear, n);
      out(3, r, i, m, n);
      out(2, r, i, larger(F{}, linear) * m, n);
    });
    bring_back(0b11100);
  }

  template <bool kAlong>
  void softmax() const {
    bring(0b0001);
    const PerLine<kAlong> top{lines[0]}, sum{lines[1]};
    by_parts<kAlong>([&](const Part& part) {
      const F least = all(-__builtin_inff());
      top.set(part, -__builtin_inff());
      top.gather(
          part, [](F a, F b) { return largest(a, b); }, maximum_of, least,
          [&](Index r, Index i, int n) { return in(0, r, i, n); });
      sum.set(part, 0);
      sum.add(part, [&](Index r, Index i, int n) {
        const F e = exponential(in(0, r, i, n) - top.at(r, i, n));
        temporary.put(r, i, e, n);
        return e;
      });
      sum.each_line(part, [](F total) { return all(1.0F) / total; });
      each(part, [&](Index r, Index i, int n) {
        const F y = temporary.at(r, i, n) * sum.at(r, i, n), m = factors(r, i);
        out(1, r, i, y, n);
        out(2, r, i, m, n);
        out(3, r, i, y * m, n);
      });
    });
    bring_back(0b1110);
  }

  template <bool kAlong>
  void softmax_back() const {
    bring(0b0111);
    const PerLine<kAlong> sum{lines[0]};
    by_parts<kAlong>([&](const Part& part) {
      sum.set(part, 0);
      sum.add(part, [&](Index r, Index i, int n) { return in(0, r, i, n) * (in(1, r, i, n) * in(2, r, i, n)); });
      each(part, [&](Index r, Index i, int n) {
        const F g = in(1, r, i, n) * in(2, r, i, n);
        out(3, r, i, in(0, r, i, n) * (g - sum.at(r, i, n)), n);
      });
    });
    bring_back(0b1000);
  }

  template <bool kAlong>
  void norm() const {
    bring(0b00000011111);
    const PerLine<kAlong> mean{lines[0]}, squares{lines[1]};
    const float share = 1.0F / static_cast<float>(kAlong ? x.columns : x.rows);
    by_parts<kAlong>([&](const Part& part) {
      mean.set(part, 0);
      mean.add(part, [&](Index r, Index i, int n) {
        const F linear = in(0, r, i, n) + in(4, r, i, n), m = factors(r, i);
        out(7, r, i, linear, n);
        out(10, r, i, m, n);
        const F sum = fma(m, linear, in(1, r, i, n));
        temporary.put(r, i, sum, n);
        return sum;
      });
      squares.set(part, 0);
      squares.add(part, [&](Index r, Index i, int n) {
        const F off = temporary.at(r, i, n) - mean.at(r, i, n) * share;
        return off * off;
      });
      squares.each_line(part, [&](F sum) { return all(1.0F) / square_root(fma(sum, all(share), all(x.epsilon))); });
      for (Index i = squares.begin(part); v[9].data != nullptr && i < squares.end(part); ++i)
        v[9].data[kAlong ? i * v[9].pitch : i] = lines[1][i];
      each(part, [&](Index r, Index i, int n) {
        const F off = temporary.at(r, i, n) - mean.at(r, i, n) * share, standard = off * squares.at(r, i, n);
        out(8, r, i, off, n);
        out(6, r, i, standard, n);
        out(5, r, i, fma(standard, in(2, r, i, n), in(3, r, i, n)), n);
      });
    });
    bring_back(0b11111100000);
  }

  template <bool kAlong>
  void norm_back() const {
    bring(0b001111);
    const PerLine<kAlong> sum{lines[0]}, slope{lines[1]};
    const float share = 1.0F / static_cast<float>(kAlong ? x.columns : x.rows);
    by_parts<kAlong>([&](const Part& part) {
      sum.set(part, 0);
      sum.add(part, [&](Index r, Index i, int n) { return in(0, r, i, n); });
      slope.set(part, 0);
      slope.add(part, [&](Index r, Index i, int n) { return in(0, r, i, n) * in(2, r, i, n); });
      each(part, [&](Index r, Index i, int n) {
        const F s = in(1, r, i, n);
        const F fall = in(2, r, i, n) * (s * s * share) * slope.at(r, i, n);
        const F dx = s * (in(0, r, i, n) - sum.at(r, i, n) * share - fall);
        out(4, r, i, dx, n);
        out(5, r, i, in(3, r, i, n) * dx, n);
      });
    });
    bring_back(0b110000);
  }

  template <bool kAlong>
  void scale_sums() const {
    bring(0b0111);
    const PerLine<kAlong> scale{x.sums[0]}, shift{x.sums[1]};
    by_parts<kAlong>([&](const Part& part) {
      scale.add(part, [&](Index r, Index i, int n) {
        const F d = in(2, r, i, n);
        out(3, r, i, d * in(1, r, i, n), n);
        return d * in(0, r, i, n);
      });
      shift.add(part, [&](Index r, Index i, int n) { return in(2, r, i, n); });
    });
    bring_back(0b1000);
  }

  template <bool kAlong>
  void relu_sums() const {
    bring(0b0111);
    PerLine<kAlong>{x.sums[0]}.add(whole(), [&](Index r, Index i, int n) {
      const F linear = in(2, r, i, n), d = in(0, r, i, n) * in(1, r, i, n);
      const F through = linear > F{} ? d : F{};
      out(3, r, i, through, n);
      return through;
    });
    bring_back(0b1000);
  }

  template <bool kAlong>
  void join_sums() const {
    bring(0b011111);
    const PerLine<kAlong> scale{x.sums[0]}, shift{x.sums[1]}, other{x.sums[2]};
    by_parts<kAlong>([&](const Part& part) {
      scale.add(part, [&](Index r, Index i, int n) {
        const F d = in(2, r, i, n) + in(3, r, i, n);
        out(5, r, i, d * in(1, r, i, n), n);
        return d * in(0, r, i, n);
      });
      shift.add(part, [&](Index r, Index i, int n) { return in(2, r, i, n) + in(3, r, i, n); });
      other.add(part, [&](Index r, Index i, int n) { return in(4, r, i, n); });
    });
    bring_back(0b100000);
  }

  template <bool kAlong>
  void sums() const {
    bring(0b1);
    PerLine<kAlong>{x.sums[0]}.add(whole(), [&](Index r, Index i, int n) { return in(0, r, i, n); });
  }

  template <bool kAlong>
  void run() const {
    switch (x.kernel) {
      case StridedKernel::kAddBias:
      case StridedKernel::kAdd:
        return add_bias();
      case StridedKernel::kBiasReluDrop:
        return bias_relu_drop();
      case StridedKernel::kSoftmax:
        return softmax<kAlong>();
      case StridedKernel::kSoftmaxBack:
        return softmax_back<kAlong>();
      case StridedKernel::kNorm:
        return norm<kAlong>();
      case StridedKernel::kNormBack:
        return norm_back<kAlong>();
      case StridedKernel::kScaleSums:
        return scale_sums<kAlong>();
      case StridedKernel::kReluSums:
        return relu_sums<kAlong>();
      case StridedKernel::kJoinSums:
        return join_sums<kAlong>();
      case StridedKernel::kSums:
        return sums<kAlong>();
    }
  }
};

inline void strided(const StridedTile& tile) {
  const StridedRun run(tile);
  tile.along ? run.run<true>() : run.run<false>();
}

}  // namespace
}  // namespace orrery::kernels
