// The layer against the same equations in fp64, dropout included; its gradients against finite differences of these.
#include "orrery/runtime/layer/encoder.h"

#include <gtest/gtest.h>

#include "orrery/runtime/layer/layer_test_util.h"

namespace orrery::layer {
namespace {

using namespace testing;

// How far a result may be off, of the largest there is.
double bound_of(Type type) {
  switch (type) {
    case Type::kF64:
      return 1e-11;
    case Type::kF32:
      return 3e-5;
    default:  // single errors grow where a norm is taken of a few numbers close together: rms only
      return std::numeric_limits<double>::infinity();
  }
}
double rms_of(Type type) {
  return type == Type::kF64 ? 1e-12 : type == Type::kF32 ? 1e-5 : type == Type::kF16 ? 6e-3 : 2.5e-2;
}

// Errors of all elements that are not padding; zeros where they are.
void compare(const Setting& s, const Tensor& y, const Matrix& exact, const std::string& what) {
  double largest = 1, squares = 0;
  for (const double v : exact) largest = std::max(largest, std::fabs(v));
  for (Index i = 0; i < static_cast<Index>(exact.size()); ++i) {
    squares += std::pow(y[i] - exact[i], 2);
    ASSERT_FALSE(std::isnan(y[i])) << what << " at " << i;
    ASSERT_LE(std::fabs(y[i] - exact[i]), bound_of(s.shape.type) * largest) << what << " at " << i;
    if (!s.valid(i / s.shape.width)) {
      ASSERT_EQ(y[i], 0) << what << " at " << i;
    }
  }
  ASSERT_LE(std::sqrt(squares / static_cast<double>(exact.size())), rms_of(s.shape.type) * largest) << what;
}

TEST(Encoder, AgreesWithFp64WhateverItsShape) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16, Type::kF32, Type::kBf16, Type::kF64, Type::kF16});
      Setting s = random_setting(random, type, 40);
      const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
      Tensor y = x, inferred = x;
      const Input in = input_of(s, x, &memory);
      Encoder layer(*context, s.shape, s.weights, true), plain(*context, s.shape, s.weights, false);
      layer.forward(in, y.data(), s.dropout, s.seed);
      plain.infer(in, inferred.data());
      const std::string what = "seed " + std::to_string(seed) + " " + kernels::testing::name_of(*context);
      compare(s, y, reference(s), what);
      if (HasFatalFailure()) return;
      s.dropout = {};
      compare(s, inferred, reference(s), what + " inferred");
      if (HasFatalFailure()) return;
    }
  }
}

double tolerance_of(Type type) {
  return type == Type::kF64 ? 2e-6 : type == Type::kF32 ? 2e-4 : type == Type::kF16 ? 3e-2 : 1e-1;
}

// Of sum(y dy) over tokens that are no padding: the same sums in fp64, moved by a small step in one number.
TEST(Encoder, HasTheGradientsThatFiniteDifferencesOfFp64Give) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kF32, Type::kBf16, Type::kF64, Type::kF64, Type::kF16});
      Setting s = random_setting(random, type, 9);
      if (s.shape.activation == Activation::kRelu) s.shape.activation = Activation::kGelu;  // has no corner
      const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
      Tensor y = x, dx = x, dmemory = memory;
      Matrix dy_exact;
      const Tensor dy = random_rows(s, random, dy_exact);
      Weights gradients(s.shape);
      Encoder layer(*context, s.shape, s.weights, true);
      const Input in = input_of(s, x, &memory);
      layer.forward(in, y.data(), s.dropout, s.seed);
      layer.backward(dy.data(), {dx.data(), s.shape.cross ? dmemory.data() : nullptr, false}, gradients);
      const auto loss = [&] {
        const Matrix out = reference(s);
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i)
          sum += s.valid(static_cast<Index>(i) / s.shape.width) ? out[i] * dy_exact[i] : 0;
        return sum;
      };
      const std::string what = "seed " + std::to_string(seed) + " " + kernels::testing::name_of(*context) + " type " +
                               std::to_string(static_cast<int>(type));
      // The slope where `number` moves by a step; an fp32 number moves by what it can.
      const auto slope_at = [&](auto& number, double step) {
        const auto old = number;
        number = static_cast<std::decay_t<decltype(number)>>(old + step);
        const double up = number, high = loss();
        number = static_cast<std::decay_t<decltype(number)>>(old - step);
        const double slope = (high - loss()) / (up - static_cast<double>(number));
        number = old;
        return slope;
      };
      const auto parts = s.weights.all(), found = gradients.all();
      for (std::size_t part = 0; part < parts.size(); ++part) {
        double largest = 1;
        for (const float g : *found[part]) largest = std::max(largest, std::fabs(static_cast<double>(g)));
        for (int trial = 0; trial < 5 && !parts[part]->empty(); ++trial) {
          const auto i = static_cast<std::size_t>(random(0, static_cast<Index>(parts[part]->size()) - 1));
          ASSERT_NEAR((*found[part])[i], slope_at((*parts[part])[i], 0x1p-13), tolerance_of(type) * largest)
              << what << " part " << part;
        }
      }
      const auto check_input = [&](Matrix& numbers, const Tensor& gradient, auto is_padding) {
        double largest = 1;
        for (std::size_t i = 0; i < numbers.size(); ++i)
          largest = std::max(largest, std::fabs(gradient[static_cast<Index>(i)]));
        for (int trial = 0; trial < 8; ++trial) {
          const Index i = random(0, static_cast<Index>(numbers.size()) - 1);
          if (is_padding(i)) {
            ASSERT_EQ(gradient[i], 0) << what;
          } else {
            ASSERT_NEAR(gradient[i], slope_at(numbers[i], 1e-5), tolerance_of(type) * largest) << what;
          }
        }
      };
      check_input(s.x, dx, [&](Index i) { return !s.valid(i / s.shape.width); });
      if (s.shape.cross) {
        check_input(s.memory, dmemory, [&](Index i) {
          const Index row = i / s.shape.memory();
          return row % s.shape.memory_length >= s.memory_of(row / s.shape.memory_length);
        });
      }
      if (HasFatalFailure()) return;
    }
  }
}

// Every gradient, element by element: the kernels' against those of the plain loops in fp64, which finite differences
// hold.
TEST(Encoder, HasTheGradientsOfFp64InEveryElement) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 500; seed < 560; ++seed) {
      Random random(seed);
      Setting s = random_setting(random, Type::kF32, 40);
      if (s.shape.activation == Activation::kRelu) s.shape.activation = Activation::kSilu;
      Setting wide = s;
      wide.shape.type = Type::kF64;
      const auto both = [&](Matrix& numbers, bool of_memory) {
        Tensor narrow = random_rows(s, random, numbers, of_memory);
        Tensor copy(Type::kF64, static_cast<Index>(numbers.size()), random);
        for (std::size_t i = 0; i < numbers.size(); ++i)
          copy.set(static_cast<Index>(i), static_cast<float>(narrow[static_cast<Index>(i)]));
        return std::make_pair(std::move(narrow), std::move(copy));
      };
      Matrix unused;
      const auto x = both(s.x, false), memory = both(s.memory, true), dy = both(unused, false);
      const auto run = [&](const Setting& t, const Tensor& in_x, const Tensor& in_memory, const Tensor& in_dy,
                           Tensor& dx, Tensor& dmemory) {
        Encoder layer(*context, t.shape, s.weights, true);
        Tensor y = in_x;
        Weights gradients(t.shape);
        layer.forward(input_of(t, in_x, &in_memory), y.data(), s.dropout, s.seed);
        layer.backward(in_dy.data(), {dx.data(), t.shape.cross ? dmemory.data() : nullptr, false}, gradients);
        return gradients;
      };
      Tensor dx = x.first, dx_wide = x.second, dm = memory.first, dm_wide = memory.second;
      const Weights found = run(s, x.first, memory.first, dy.first, dx, dm);
      const Weights exact = run(wide, x.second, memory.second, dy.second, dx_wide, dm_wide);
      const std::string what = "seed " + std::to_string(seed) + " " + kernels::testing::name_of(*context);
      for (std::size_t part = 0; part < Weights::kParts; ++part) {
        const auto &a = *found.all()[part], &b = *exact.all()[part];
        double largest = 1;
        for (const float g : b) largest = std::max(largest, std::fabs(static_cast<double>(g)));
        for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4 * largest) << what << " part " << part;
      }
      const auto check = [&](const Tensor& a, const Tensor& b, std::size_t count) {
        double largest = 1;
        for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(b[static_cast<Index>(i)]));
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_NEAR(a[static_cast<Index>(i)], b[static_cast<Index>(i)], 1e-4 * largest) << what;
      };
      check(dx, dx_wide, s.x.size());
      if (s.shape.cross) check(dm, dm_wide, s.memory.size());
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace orrery::layer
