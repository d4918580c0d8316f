// A library's product is Orrery's, in every layout of every contraction.
#include "orrery/runtime/tuning/contractions/blas_library.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/contractions/contraction_run.h"
#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {
namespace {

TEST(BlasLibrary, ComputesEveryLayoutOfEveryContractionAsOrreryDoes) {
  if (BlasLibrary::installed().empty()) GTEST_SKIP() << "neither OpenBLAS nor oneDNN is installed";
  kernels::Context context(2);
  const Graph graph = encoder_graph(Sizes::encoder(3, 8, 2, 10, 12));
  std::size_t compared = 0;
  for (const Operator& op : graph.operators) {
    if (op.kind != Kind::kContraction) continue;
    for (const ContractionLayout& layout : contraction_space(op.einsum, graph.sizes).layouts) {
      const BlasCall& c = layout.call;
      std::vector<float> a(static_cast<std::size_t>(c.m * c.k * c.batch)),
          b(static_cast<std::size_t>(c.k * c.n * c.batch));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) - 5;
      std::vector<float> ours(static_cast<std::size_t>(c.m * c.n * c.batch)), theirs(ours.size());
      const kernels::Product product = product_of(c, false, a.data(), b.data(), ours.data(), kernels::Type::kF32, 0.5);
      kernels::multiply(context, product);
      for (const BlasLibrary& library : BlasLibrary::installed()) {
        kernels::Product other = product;
        other.c.data = theirs.data();
        ASSERT_TRUE(BlasLibrary::takes(other));
        library.multiply(context, other);
        // Sums of halves of small whole numbers: exact in any order.
        ASSERT_EQ(ours, theirs) << library.name() << " " << op.name << " " << layout.a << "," << layout.b;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 1248U);
}

TEST(BlasLibrary, TakesBareProductsOfFloatsOnly) {
  float x = 1, y = 2, z = 0;
  kernels::Product product;
  product.rows = product.columns = product.depth = 1;
  product.a = {&x, kernels::Type::kF32, 1, 1, 0}, product.b = {&y, kernels::Type::kF32, 1, 1, 0};
  product.c = {&z, kernels::Type::kF32, 1, 0};
  EXPECT_TRUE(BlasLibrary::takes(product));
  kernels::Product added = product, halved = product, biased = product;
  added.add = true;
  halved.a.type = kernels::Type::kBf16;
  biased.bias = &x;
  EXPECT_FALSE(BlasLibrary::takes(added));
  EXPECT_FALSE(BlasLibrary::takes(halved));
  EXPECT_FALSE(BlasLibrary::takes(biased));
}

}  // namespace
}  // namespace orrery::tuning
