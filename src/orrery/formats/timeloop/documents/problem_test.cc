#include "orrery/formats/timeloop/documents/problem.h"

#include <filesystem>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

struct ProblemResult {
  workload::Einsum einsum;
  base::Diagnostics found;
};

ProblemResult read_problem_text(const std::string& text, const std::string& variables = "{}") {
  ProblemResult result;
  const yaml::Node document = parse(text);
  const yaml::Node names = parse(variables);
  Scope scope;
  scope.define_all(names);
  result.einsum = read_problem(*document.find("problem"), scope, result.found);
  return result;
}

// A matrix product; `instance` is the text of its last line.
std::string matmul(const std::string& instance) {
  return "problem:\n"
         "  version: 0.4\n"
         "  shape:\n"
         "    name: product\n"
         "    dimensions: [L, E, D]\n"
         "    data_spaces:\n"
         "    - {name: Weights, projection: [[[D]], [[E]]]}\n"
         "    - {name: Inputs, projection: [[[E]], [[L]]]}\n"
         "    - {name: Outputs, projection: [[[D]], [[L]]], read_write: True}\n"
         "  instance: " +
         instance + "\n";
}

TEST(Problem, BoundsAreExpressionsOverVariablesAndEarlierEntries) {
  const ProblemResult result =
      read_problem_text(matmul("{L: SEQ, E: EMB//HEADS, D: E*3}"), "{SEQ: 512, EMB: 768, HEADS: 12}");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.einsum.name, "product");
  EXPECT_EQ(result.einsum.dimensions[0].bound, 512);
  EXPECT_EQ(result.einsum.dimensions[1].bound, 64);
  EXPECT_EQ(result.einsum.dimensions[2].bound, 192);
  EXPECT_TRUE(result.einsum.dataspaces[2].read_write);
  EXPECT_FALSE(result.einsum.dataspaces[0].read_write);
  EXPECT_TRUE(result.einsum.relevant(0, 2));
  EXPECT_FALSE(result.einsum.relevant(0, 0));
}

TEST(Problem, ConvolutionTermsTakeTheirCoefficientsFromTheInstance) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [R, P]\n"
      "    coefficients: [{name: stride, default: 1}, {name: dilation, default: 1}]\n"
      "    data_spaces:\n"
      "    - {name: W, projection: [[[R]]]}\n"
      "    - {name: I, projection: [[[R, dilation], [P, stride]]]}\n"
      "    - {name: O, projection: [[[P]]], read_write: true}\n"
      "  instance: {R: 3, P: 8, stride: 2}\n");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.einsum.volume(1, {3, 8}), 1 + 1 * 2 + 2 * 7);
}

TEST(Problem, ShorterProjectionsMeanTheSame) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.3\n"
      "  shape:\n"
      "    dimensions: [A, B]\n"
      "    dataspaces:\n"
      "    - {name: X, projection: A}\n"
      "    - {name: Y, projection: [[A], [B]]}\n"
      "    - {name: Z, projection: [[A, 2], [[B]]], read-write: true}\n"
      "  instance: {A: 3, B: 5}\n");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.einsum.volume(0, {3, 5}), 3);
  EXPECT_EQ(result.einsum.volume(1, {3, 5}), 15);
  EXPECT_EQ(result.einsum.volume(2, {3, 5}), 25);
}

TEST(Problem, TheConvolutionThatTimeloopShipsIsKnownByName) {
  const ProblemResult result = read_problem_text(
      "problem: {version: 0.3, shape: cnn-layer, C: 4, M: 8, R: 3, S: 3, N: 1, P: 7, Q: 7, Wstride: 2, Hstride: 1}");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.einsum.operations(), 4 * 8 * 9 * 49);
  EXPECT_EQ(result.einsum.volume(1, {4, 8, 3, 3, 1, 7, 7}), 4 * (3 + 12) * (3 + 6));
}

TEST(Problem, AnUnknownShapeNameIsAnError) {
  EXPECT_EQ(places(read_problem_text("problem: {version: 0.3, shape: mttkrp, I: 2}").found), Places{"O0413@1:32"});
}

TEST(Problem, AMissingBoundNamesTheDimensionAndWhereItWasDeclared) {
  const ProblemResult result = read_problem_text(matmul("{L: 8, E: 8}"));
  EXPECT_EQ(places(result.found), Places{"O0401@10:13"});
  EXPECT_TRUE(says(result.found, "5:24: dimension named here"));
}

TEST(Problem, BoundsMustBeWholeAndAtLeastOne) {
  EXPECT_EQ(places(read_problem_text(matmul("{L: 0, E: 8, D: -3}")).found), (Places{"O0402@10:17", "O0402@10:29"}));
  EXPECT_EQ(places(read_problem_text(matmul("{L: 2.5, E: 8, D: 4}")).found), Places{"O0211@10:17"});
  EXPECT_EQ(places(read_problem_text(matmul("{L: LEN, E: 8, D: 4}")).found), Places{"O0201@10:17"});
}

TEST(Problem, AProjectionOnlyUsesDimensionsOfTheShape) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [rows]\n"
      "    data_spaces:\n"
      "    - {name: X, projection: [[[row]]], read_write: true}\n"
      "  instance: {rows: 3}\n");
  EXPECT_EQ(places(result.found)[0], "O0403@6:32");
  EXPECT_TRUE(says(result.found, "did you mean `rows`?"));
}

TEST(Problem, WithoutAnOutputThereIsNothingToCompute) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [A]\n"
      "    data_spaces: [{name: X, projection: [[[A]]]}]\n"
      "  instance: {A: 3}\n");
  EXPECT_EQ(places(result.found), Places{"O0404@5:18"});
}

TEST(Problem, NamesAreUniqueAndBothPlacesAreShown) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [A, A]\n"
      "    coefficients: [{name: c}, {name: c}]\n"
      "    data_spaces:\n"
      "    - {name: X, projection: [[[A]]], read_write: true}\n"
      "    - {name: X, projection: [[[A]]]}\n"
      "  instance: {A: 3}\n");
  EXPECT_EQ(places(result.found), (Places{"O0405@4:21", "O0405@5:38", "O0405@8:14"}));
  EXPECT_TRUE(says(result.found, "4:18: first here"));
  EXPECT_TRUE(says(result.found, "7:14: first here"));
}

TEST(Problem, ADimensionThatNoDataspaceUsesIsWorthAWord) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [A, B]\n"
      "    data_spaces: [{name: X, projection: [[[A]]], read_write: true}]\n"
      "  instance: {A: 3, B: 2}\n");
  EXPECT_EQ(places(result.found), Places{"O0406@4:21w"});
}

TEST(Problem, CoefficientsAreNotNegativeAndAreKnown) {
  const std::string shape =
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [A]\n"
      "    coefficients: [{name: c, default: -1}]\n"
      "    data_spaces: [{name: X, projection: [[[A, k]]], read_write: true}]\n"
      "  instance: {A: 3}\n";
  const ProblemResult result = read_problem_text(shape);
  EXPECT_EQ(places(result.found), (Places{"O0408@5:39", "O0412@6:47"}));
}

TEST(Problem, TheConvolutionKnownByNameCallsItsChannelsAsTheInstanceDoes) {
  const ProblemResult older =
      read_problem_text("problem: {shape: cnn-layer, R: 3, S: 3, P: 4, Q: 4, C: 8, K: 16, N: 1}");
  const ProblemResult newer =
      read_problem_text("problem: {shape: cnn-layer, R: 3, S: 3, P: 4, Q: 4, C: 8, M: 16, N: 1}");
  EXPECT_EQ(older.einsum.dimension_index("K"), newer.einsum.dimension_index("M"));
  EXPECT_EQ(older.einsum.operations(), newer.einsum.operations());
  EXPECT_EQ(older.einsum.operations(), 3 * 3 * 4 * 4 * 8 * 16);
}

TEST(Problem, AVersionMayBeMissingButMustBeKnown) {
  EXPECT_EQ(read_problem_text(
                "problem: {shape: {dimensions: [A], data_spaces: [{name: X, projection: A, read_write: true}]}, "
                "instance: {A: 3}}")
                .einsum.dimensions[0]
                .bound,
            3);
  EXPECT_EQ(
      places(read_problem_text("problem: {version: 5, shape: {dimensions: [A], data_spaces: [{name: X, projection: A, "
                               "read_write: true}]}, instance: {A: 1}}")
                 .found),
      Places{"O0409@1:20"});
}

TEST(Problem, UnknownKeysAreWarnings) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimension: [A]\n"
      "    dimensions: [A]\n"
      "    data_spaces: [{name: X, projection: A, read_write: true}]\n"
      "  instance: {A: 3}\n");
  EXPECT_EQ(places(result.found), Places{"O0410@4:5w"});
  EXPECT_TRUE(says(result.found, "did you mean `dimensions`?"));
}

TEST(Problem, ConvolutionKeysThatTheShapeDoesNotUseAreSilent) {
  EXPECT_EQ(places(read_problem_text(matmul("{L: 8, E: 8, D: 8, H: 1, W: 1, Hstride: 1}")).found), Places{});
}

TEST(Problem, ANumberThatTheShapeHasNoUseForIsNotIgnoredSilently) {
  const ProblemResult more = read_problem_text(matmul("{L: 8, E: 8, D: 8, Q: 3}"));
  EXPECT_EQ(places(more.found), Places{"O0410@10:32w"});
  EXPECT_TRUE(says(more.found, "dimensions of `product`: `L`, `E`, `D`"));
  EXPECT_EQ(places(read_problem_text(matmul("{L: 8, E: 8, D: 8, Wstride: 1+1}")).found), Places{"O0410@10:32w"});
  const ProblemResult dense = read_problem_text(matmul("{L: 8, E: 8, D: 8, density: 0.1}"));
  EXPECT_EQ(places(dense.found), Places{"O0410@10:32w"});
  EXPECT_TRUE(says(dense.found, "did you mean `densities`?"));
}

// By a number that others are computed from; by 1, which changes nothing; by a text; by sizes of a convolution's input.
TEST(Problem, ANumberThatDecidesNothingMoreIsSilent) {
  EXPECT_EQ(places(read_problem_text(matmul("{half: 4, L: 2*half, E: 8, D: 8, Q: 1, note: first}")).found), Places{});
  EXPECT_EQ(places(read_problem_text(
                       "problem: {version: 0.4, shape: cnn-layer, instance: {C: 1, M: 2, R: 3, S: 3, N: 1, P: 8, "
                       "Q: 8, H: 10, W: 10}}")
                       .found),
            Places{});
}

TEST(Problem, DensitiesUnderAnotherNameAreNotIgnoredSilently) {
  const ProblemResult result = read_problem_text(matmul("{L: 8, E: 8, D: 8, density: {Inputs: 0.1}}"));
  EXPECT_EQ(places(result.found), Places{"O0410@10:32w"});
  EXPECT_TRUE(says(result.found, "an instance has bounds, coefficients and `densities`"));
}

TEST(Problem, ABoundUnderANearlyRightNameIsNotIgnoredSilently) {
  const ProblemResult lower = read_problem_text(matmul("{L: 8, E: 8, D: 8, e: 16}"));
  EXPECT_EQ(places(lower.found), Places{"O0410@10:32w"});
  EXPECT_TRUE(says(lower.found, "did you mean `E`?"));
  const ProblemResult strides = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [P, R]\n"
      "    coefficients: [{name: Wstride, default: 1}, {name: Wdilation, default: 1}]\n"
      "    data_spaces:\n"
      "    - {name: I, projection: [[[R, Wdilation], [P, Wstride]]]}\n"
      "    - {name: O, projection: [[[P]]], read_write: true}\n"
      "  instance: {R: 3, P: 8, Wstrid: 2, Wdilation: 2, Hdilation: 1, H: 1}\n");
  EXPECT_EQ(places(strides.found), Places{"O0410@9:26w"});
  EXPECT_TRUE(says(strides.found, "did you mean `Wstride`?"));
}

TEST(Problem, PartsThatAreMissingOrOfTheWrongKindAreErrors) {
  EXPECT_EQ(places(read_problem_text("problem: 3").found), Places{"O0400@1:10"});
  EXPECT_EQ(places(read_problem_text("problem: {version: 0.4, instance: {A: 1}}").found), Places{"O0400@1:10"});
  EXPECT_EQ(places(read_problem_text("problem: {version: 0.4, shape: [1], instance: {A: 1}}").found),
            Places{"O0400@1:32"});
  EXPECT_EQ(places(read_problem_text(matmul("7")).found), Places{"O0400@10:13"});
}

TEST(Problem, AProjectionMustBeThere) {
  const ProblemResult result = read_problem_text(
      "problem:\n"
      "  version: 0.4\n"
      "  shape:\n"
      "    dimensions: [A]\n"
      "    data_spaces: [{name: X, read_write: true}, {name: Y, projection: [[[[A]]]]}]\n"
      "  instance: {A: 3}\n");
  EXPECT_EQ(places(result.found), (Places{"O0411@5:19", "O0411@5:72"}));
}

TEST(Problem, ProductsBeyond64BitsAreErrorsThatShowTheNumbers) {
  const ProblemResult result = read_problem_text(matmul("{L: 4000000000, E: 4000000000, D: 4}"));
  EXPECT_EQ(places(result.found), Places{"O0414@4:5"});
  EXPECT_TRUE(says(result.found, "E = 4000000000"));
}

TEST(Problem, EveryLayerOfTheSeedsIsReadWithoutErrors) {
  const std::filesystem::path seeds = base::kShared / "seeds/timeloop-experiments";
  ORRERY_NEEDS_SHARED();
  const yaml::Node variables = parse(
      "{EMBEDDING: 1024, SEQ_LENGTH: 4096, HEADS: 16, FF_DIM: 4096, EMBEDDING_HEADS: 64, EMBEDDING_3: 3072, "
      "MB_D: 8, MB_E: 8, MB_L: 8}");
  Scope scope;
  scope.define_all(variables);
  int read_files = 0;
  for (const char* folder : {"transformer_gemmini/layers", "transformer_pim/layers", "transformer_aimc/problems",
                             "transformer_dimc/problems", "transformer_os_gemmini/inputs"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(seeds / folder)) {
      if (file.path().extension() != ".yaml") continue;
      base::Diagnostics found;
      const auto documents = yaml::parse(yaml::read_file(file.path().string()), base::Severity::kWarning, found);
      const yaml::Node* problem = documents.empty() ? nullptr : documents[0].find("problem");
      if (!problem) continue;
      const workload::Einsum einsum = read_problem(*problem, scope, found);
      EXPECT_EQ(places(found), Places{}) << file.path();
      EXPECT_EQ(einsum.dataspaces.size(), 3u) << file.path();
      ++read_files;
    }
  EXPECT_GT(read_files, 90);
}

}  // namespace
}  // namespace orrery::formats::timeloop
