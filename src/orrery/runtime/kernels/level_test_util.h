// For tests: every instruction set of the machine, random matrices, and how far sums of floats may be off.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "orrery/runtime/kernels/context.h"

namespace orrery::kernels::testing {

inline std::vector<Level> all_levels() {
  std::vector<Level> all = levels();
  all.push_back(Level::kAmxEmulated);
  return all;
}

// A context of each level that this machine has, and of the emulated one, with two threads so that dealing blocks is
// tested everywhere.
inline std::vector<std::unique_ptr<Context>> contexts(int threads = 2) {
  std::vector<std::unique_ptr<Context>> all;
  for (const Level level : all_levels()) all.push_back(std::make_unique<Context>(threads, level));
  return all;
}

inline std::string name_of(const Context& context) {
  return std::string(kernels::name_of(context.table().level));
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  // From low to high, both included.
  Index operator()(Index low, Index high) {
    return low + static_cast<Index>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(Index n) { return (*this)(1, n) == 1; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[(*this)(0, static_cast<Index>(of.size()) - 1)];
  }
  float normal() { return static_cast<float>(std::normal_distribution<double>()(engine_)); }
  // Sizes at which tiles, vectors and blocks begin and end, primes, and anything up to `most`.
  Index size(Index most) {
    for (;;) {
      const Index n =
          one_in(2)
              ? pick<Index>({1,  2,  3,  4,  5,  6,  7,  8,   12,  13,  14,  15,  16,  17,  27,  28,  29,  31,  32, 33,
                             47, 48, 49, 63, 64, 65, 97, 111, 112, 113, 127, 128, 129, 255, 256, 257, 511, 512, 513})
              : (*this)(1, most);
      if (n <= most) return n;
    }
  }

 private:
  std::mt19937_64 engine_;
};

// A matrix in memory of any element type, with gaps between rows that must not change, behind an odd address.
class Tensor {
 public:
  Tensor(Type type, Index count, Random& random, float scale = 1)
      : type_(type), bytes_(kFront + count * bytes_of(type)) {
    for (Index i = 0; i < count; ++i) {
      if (type == Type::kInt8) {
        reinterpret_cast<std::int8_t*>(data())[i] = static_cast<std::int8_t>(random(-128, 127));
      } else if (type == Type::kUint8) {
        reinterpret_cast<std::uint8_t*>(data())[i] = static_cast<std::uint8_t>(random(0, 255));
      } else if (type == Type::kInt32) {
        put_bits(i, static_cast<std::uint32_t>(random(-1000000, 1000000)));
      } else {
        set(i, random.normal() * scale);
      }
    }
  }
  void* data() { return bytes_.data() + kFront; }
  const void* data() const { return bytes_.data() + kFront; }
  const float* floats() const { return reinterpret_cast<const float*>(data()); }
  float* floats() { return reinterpret_cast<float*>(data()); }
  Type type() const { return type_; }
  double operator[](Index i) const {
    const unsigned char* p = bytes_.data() + kFront + i * bytes_of(type_);
    switch (type_) {
      case Type::kInt8:
        return *reinterpret_cast<const std::int8_t*>(p);
      case Type::kUint8:
        return *p;
      case Type::kBf16:
        return from_bf16(*reinterpret_cast<const Bf16*>(p));
      case Type::kInt32:
        return read<std::int32_t>(p);
      case Type::kF16:
        return from_half({read<std::uint16_t>(p)});
      case Type::kF64:
        return read<double>(p);
      case Type::kF32:
        return read<float>(p);
    }
    return 0;
  }
  void set(Index i, float x) {
    unsigned char* p = bytes_.data() + kFront + i * bytes_of(type_);
    if (type_ == Type::kBf16) {
      const Bf16 half = to_bf16(x);
      std::memcpy(p, &half, sizeof half);
    } else if (type_ == Type::kF16) {
      const Half half = to_half(x);
      std::memcpy(p, &half, sizeof half);
    } else if (type_ == Type::kF64) {
      const double wide = x;
      std::memcpy(p, &wide, sizeof wide);
    } else {
      std::memcpy(p, &x, sizeof x);
    }
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  static constexpr Index kFront = 8;  // elements lie at multiples of their size, vectors and cache lines do not
  template <class T>
  static T read(const unsigned char* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  void put_bits(Index i, std::uint32_t bits) { std::memcpy(bytes_.data() + kFront + i * 4, &bits, 4); }

  Type type_;
  std::vector<unsigned char> bytes_;
};

// Half a unit in the last place of a result of this type, relative.
inline double rounding_of(Type type) {
  return type == Type::kBf16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -24);
}

// Whether a equals b up to `bound`; NaN equals NaN, infinities equal themselves.
inline bool near(double a, double b, double bound) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= bound;
}

}  // namespace orrery::kernels::testing
