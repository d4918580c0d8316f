// Every valid layout of every contraction against sums written out.
#include "orrery/runtime/tuning/contractions/contraction_run.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace orrery::tuning {
namespace {

Sizes small() {
  Sizes sizes = Sizes::encoder(2, 3, 2, 10, 7);
  sizes['k'] = 4;
  return sizes;
}

using At = std::map<char, std::size_t>;

std::size_t offset(const Sizes& sizes, const std::string& layout, const At& at) {
  std::size_t out = 0;
  for (const char letter : layout) out = out * static_cast<std::size_t>(sizes[letter]) + at.at(letter);
  return out;
}

template <class Function>
void over(const Sizes& sizes, const std::string& letters, At& at, const Function& f) {
  if (letters.empty()) return f();
  for (std::size_t n = 0; n < static_cast<std::size_t>(sizes[letters[0]]); ++n) {
    at[letters[0]] = n;
    over(sizes, letters.substr(1), at, f);
  }
}

void expect_einsum(kernels::Context& context, const NamedContraction& contraction, kernels::Type type) {
  const Sizes sizes = small();
  const EinsumTensors dims = tensors_of(contraction.einsum);
  const ContractionGroups groups = groups_of(contraction.einsum);
  std::mt19937 random(7);
  const auto drawn = [&](const std::string& letters) {
    std::vector<float> out(static_cast<std::size_t>(sizes.words(letters)));
    for (float& x : out) x = static_cast<float>(static_cast<int>(random() % 9) - 4);  // sums are exact, in bf16, too
    return out;
  };
  const std::vector<float> a = drawn(dims.a), b = drawn(dims.b);
  std::vector<float> c(static_cast<std::size_t>(sizes.words(dims.c)));
  At at;
  over(sizes, groups.batch + groups.first + groups.second, at, [&] {
    float sum = 0;
    over(sizes, groups.sum, at, [&] { sum += a[offset(sizes, dims.a, at)] * b[offset(sizes, dims.b, at)]; });
    c[offset(sizes, dims.c, at)] = sum / 2;
  });
  const auto moved = [&](const std::vector<float>& from, const std::string& canonical, const std::string& layout) {
    std::vector<float> out(from.size());
    over(sizes, canonical, at, [&] { out[offset(sizes, layout, at)] = from[offset(sizes, canonical, at)]; });
    return out;
  };
  const auto rounded = [](const std::vector<float>& from) {
    std::vector<kernels::Bf16> out;
    for (const float x : from) out.push_back(kernels::to_bf16(x));
    return out;
  };
  for (const ContractionLayout& layout : contraction_space(contraction.einsum, sizes).layouts) {
    const std::vector<float> first = moved(a, dims.a, layout.a), second = moved(b, dims.b, layout.b);
    const std::vector<float> want = moved(c, dims.c, layout.c);
    const std::string where = std::string(contraction.name) + " " + layout.a + "," + layout.b + "->" + layout.c;
    if (type == kernels::Type::kF32) {
      std::vector<float> got(want.size(), -99);
      multiply(context, product_of(layout.call, layout.swapped, first.data(), second.data(), got.data(), type, 0.5));
      ASSERT_EQ(got, want) << where;
    } else {
      std::vector<kernels::Bf16> got(want.size());
      multiply(context, product_of(layout.call, layout.swapped, rounded(first).data(), rounded(second).data(),
                                   got.data(), type, 0.5));
      ASSERT_EQ(got, rounded(want)) << where;
    }
  }
}

TEST(ContractionRun, ComputesAllTwentyFourContractionsInEveryValidLayout) {
  kernels::Context context(2);
  for (const NamedContraction& contraction : named_contractions())
    expect_einsum(context, contraction, kernels::Type::kF32);
}

TEST(ContractionRun, ComputesThemInBf16) {
  kernels::Context context(1);
  for (const NamedContraction& contraction : named_contractions())
    expect_einsum(context, contraction, kernels::Type::kBf16);
}

}  // namespace
}  // namespace orrery::tuning
