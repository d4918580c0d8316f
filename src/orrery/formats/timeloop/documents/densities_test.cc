#include "orrery/formats/timeloop/documents/densities.h"

#include <gtest/gtest.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

struct Read {
  std::vector<nest::Density> densities;
  std::vector<base::Input> read;
  base::Diagnostics found;
};

Read read(const std::string& densities) {
  Read result;
  const yaml::Node problem = testing::parse("instance: {D: 8, E: 4, L: 8, half: 0.5, " + densities + "}");
  const workload::Einsum einsum = workload::matmul("m", 8, 4, 8);  // Weights E x D, Inputs E x L, Outputs D x L
  result.densities = read_densities(problem, einsum, Scope(), {}, result.read, result.found);
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

TEST(Densities, ABandWithoutAWidthOrWithAnotherDensityIsWarnedOf) {
  const auto said = [](const std::string& band) {
    const Read one = read("densities: {Weights: {" + band + "}}");
    EXPECT_FALSE(one.found.has_errors());
    return one.found.all().size();
  };
  EXPECT_EQ(said("distribution: banded, band_width: 1"), 0u);
  EXPECT_EQ(said("distribution: diagonal"), 0u);
  EXPECT_EQ(said("distribution: banded"), 1u);
  EXPECT_EQ(said("distribution: banded, band_width: 0, density: 0.125"), 0u);  // 4 of 32
  EXPECT_EQ(said("distribution: banded, band_width: 0, density: 0.5"), 1u);
}

// Nonzeros of the Weights, 4 x 8, in a file of that name.
std::vector<nest::Density> of_file(const std::string& text, base::Diagnostics& found) {
  const base::Folder folder;
  folder.write("places", text);
  folder.write("problem.yaml",
               "instance: {D: 8, E: 4, L: 8, densities: {Weights: {distribution: table, file: places}}}\n");
  const auto file = base::read_file((folder.path() / "problem.yaml").string());
  const yaml::Node problem = yaml::parse(file, base::Severity::kWarning, found).at(0);
  std::vector<base::Input> read;
  return read_densities(problem, workload::matmul("m", 8, 4, 8), Scope(), {}, read, found);
}

double share_in(const std::string& text) {
  base::Diagnostics found;
  const auto densities = of_file(text, found);
  EXPECT_FALSE(found.has_errors()) << text << (found.all().empty() ? "" : found.all()[0].message);
  EXPECT_EQ(densities[0].kind(), Kind::kPattern);
  return densities[0].share();
}

TEST(Densities, AFileOfPlacesIsTheListOfThem) {
  EXPECT_EQ(share_in("0 0\n3,7\n\n# a remark\n1, 2  # another\n"), 3.0 / 32);
  EXPECT_EQ(share_in("\xEF\xBB\xBF"
                     "0 0\r\n1 1\r\n"),
            2.0 / 32);
}

TEST(Densities, MatrixMarketCountsFromOneAndLeavesZerosOut) {
  const std::string of = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(share_in(of + "pattern general\n% remark\n4 8 2\n1 1\n4 8\n"), 2.0 / 32);
  EXPECT_EQ(share_in(of + "real general\n4 8 3\n1 1 0.5\n2 2 0.0\n4 8 -1e-3\n"), 2.0 / 32);
  EXPECT_EQ(share_in(of + "Complex General\n4 8 2\n1 1 0 2\n2 2 0 0\n"), 1.0 / 32);
  EXPECT_EQ(share_in(of + "integer symmetric\n4 8 3\n1 1 7\n3 1 2\n4 2 1\n"), 5.0 / 32);  // the mirror image, too
}

TEST(Densities, FilesThatCannotBeAreErrors) {
  const std::string of = "%%MatrixMarket matrix coordinate ";
  for (const std::string& text : {std::string("4 0\n"),
                                  std::string("0 8\n"),
                                  std::string("-1 0\n"),
                                  std::string("0\n"),
                                  std::string("0 0 0\n"),
                                  std::string("0 0\n0 0\n"),
                                  std::string("x y\n"),
                                  std::string("0.5 1\n"),
                                  std::string("# nothing\n"),
                                  std::string("0 9223372036854775808\n"),
                                  of + "pattern general\n8 4 1\n1 1\n",
                                  of + "pattern general\n4 8 2\n1 1\n",
                                  of + "pattern general\n4 8 1\n0 1\n",
                                  of + "real general\n4 8 1\n1 1\n",
                                  of + "real general\n4 8 1\n1 1 x\n",
                                  of + "pattern general\n",
                                  of + "unreal general\n4 8 1\n1 1\n",
                                  std::string("%%MatrixMarket matrix array real general\n4 8\n1\n"),
                                  of + "pattern general\n4 8 1\n-9223372036854775808 1\n",
                                  of + "pattern symmetric\n4 8 2\n1 2\n2 1\n"}) {
    base::Diagnostics found;
    of_file(text, found);
    EXPECT_TRUE(found.has_errors()) << text;
    EXPECT_EQ(found.all()[0].code, "O0407") << text;
  }
}

}  // namespace
}  // namespace orrery::formats::timeloop
