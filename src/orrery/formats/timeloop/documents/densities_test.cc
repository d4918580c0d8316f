#include "orrery/formats/timeloop/documents/densities.h"

#include <gtest/gtest.h>

#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

struct Read {
  std::vector<nest::Density> densities;
  base::Diagnostics found;
};

Read read(const std::string& densities) {
  Read result;
  const yaml::Node problem = testing::parse("instance: {D: 8, E: 4, L: 8, half: 0.5, " + densities + "}");
  const workload::Einsum einsum = workload::matmul("m", 8, 4, 8);  // Weights E x D, Inputs E x L, Outputs D x L
  result.densities = read_densities(problem, einsum, Scope(), {}, result.found);
  return result;
}

using Kind = nest::Density::Kind;

TEST(Densities, AreNumbersOrDistributions) {
  const Read all = read(
      "densities: {Weights: half, Inputs: {distribution: hypergeometric, density: 0.25}, "
      "Outputs: {distribution: banded, band_width: 1}}");
  EXPECT_FALSE(all.found.has_errors());
  EXPECT_EQ(all.densities[0].kind(), Kind::kStructured);
  EXPECT_EQ(all.densities[0].share(), 0.5);
  EXPECT_EQ(all.densities[1].kind(), Kind::kHypergeometric);
  EXPECT_EQ(all.densities[1].share(), 0.25);
  EXPECT_EQ(all.densities[2].kind(), Kind::kPattern);
  EXPECT_EQ(all.densities[2].share(), 22.0 / 64);
}

TEST(Densities, OneMayHoldForAllAndNoneIsDense) {
  for (const nest::Density& density : read("commonDensity: 0.125").densities) EXPECT_EQ(density.share(), 0.125);
  for (const nest::Density& density : read("densities: {Weights: null}").densities) EXPECT_TRUE(density.dense());
}

TEST(Densities, OfATensorOfAnotherSizeRoundUpToWholeWords) {
  const Read one = read("densities: {Weights: {distribution: hypergeometric, density: 0.3, workload_tensor_size: 64}}");
  EXPECT_EQ(one.densities[0].share(), 20.0 / 64);  // ceil(19.2)
}

TEST(Densities, ThatCannotBeAreErrors) {
  for (const char* const text :
       {"densities: {Weights: 0}", "densities: {Weights: -0.5}", "densities: {Weights: 1.25}",
        "densities: {Weigths: 0.5}", "densities: [0.5]", "densities: {Weights: {distribution: uniform, density: 0.5}}",
        "densities: {Weights: {distribution: hypergeometric}}",
        "densities: {Weights: {distribution: hypergeometric, density: 0.5, workload_tensor_size: 8}}",
        "densities: {Weights: {distribution: banded, band_width: -1}}", "densities: {Weights: {distribution: table}}",
        "densities: {Weights: {distribution: table, nonzeros: [[0, 0], [0, 0]]}}",
        "densities: {Weights: {distribution: table, nonzeros: [[0, 8]]}}",
        "densities: {Weights: {distribution: table, nonzeros: [[1]]}}"})
    EXPECT_TRUE(read(text).found.has_errors()) << text;
}

}  // namespace
}  // namespace orrery::formats::timeloop
