#include "orrery/formats/amped/output_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "orrery/formats/amped/amped_test_util.h"
#include "orrery/formats/amped/gemms.h"

namespace orrery::formats::amped {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(AmpedOutputFiles, TheSummaryHasThreeColumnsAndEveryCategory) {
  const std::vector<std::string> lines = lines_of(config_summary(resolved(kConfig)));
  EXPECT_EQ(lines.at(0), "FULL CONFIGURATION");
  EXPECT_EQ(lines.at(2), "Transformer: small | Accelerator: A100");
  EXPECT_EQ(lines.at(4), "1: NEURAL NETWORK TRAINING PARAMETERS");
  int categories = 0, parameters = 0;
  for (std::size_t i = 3; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    if (lines[i][0] >= '1' && lines[i][0] <= '4') {
      ++categories;
      continue;
    }
    ++parameters;
    std::istringstream words(lines[i]);
    std::string key, value, hash;
    words >> key >> value >> hash;
    EXPECT_EQ(key.back(), ':') << lines[i];
    EXPECT_EQ(hash, "#") << lines[i];
  }
  EXPECT_EQ(categories, 4);
  EXPECT_GT(parameters, 60);
  EXPECT_NE(config_summary(resolved(kConfig)).find("# inner width\n"), std::string::npos);
}

TEST(AmpedOutputFiles, TheBreakdownSumsToTheTotal) {
  for (const equations::Model& model : {equations::Model{}, equations::Model::original()}) {
    Resolved found =
        resolved(replaced(kConfig, R"("number_of_experts": {"value": 1})", R"("number_of_experts": {"value": 8})"));
    const equations::Times times = equations::times_of(found.quantities, model);
    std::map<std::string, double> value;
    for (const BreakdownLine& line : training_time_lines(found.quantities, times)) value[line.label] = line.value;
    EXPECT_EQ(value.size(), 31u);
    const double total = value["Total time to train (s)"];
    EXPECT_NEAR(value["Total computation time (s)"] + value["Total communication time (s)"] +
                    value["Waiting Time due to pipeline bubbles (s)"],
                total, 1e-12 * total);
    double forward = 2 * times.forward.experts * found.quantities.batches * found.quantities.layers;
    for (const char* part : {"tensor parallelism intra node (s)", "tensor parallelism inter node (s)",
                             "pipeline parallelism (s)", "Zero-DP (ad-hoc model gathering) (s)"})
      forward += value[std::string("Communication time forward pass: ") + part];
    EXPECT_NEAR(forward, value["Total communication time forward pass (s)"], 1e-9 * forward);
  }
}

TEST(AmpedOutputFiles, BreakdownLabelsArePaddedWithDashesToOneColumn) {
  const Resolved found = resolved(kConfig);
  const auto lines = lines_of(training_time_breakdown(found.quantities, equations::times_of(found.quantities, {})));
  EXPECT_EQ(lines.at(0), "TRAINING TIME BREAKDOWN");
  EXPECT_EQ(lines.at(1), "");
  const std::size_t column = lines.at(2).rfind(' ');
  for (std::size_t i = 2; i < lines.size(); ++i) EXPECT_EQ(lines[i].rfind(' '), column) << lines[i];
  EXPECT_EQ(lines.at(2).substr(0, 26), "Total time to train (s)---");
}

TEST(AmpedOutputFiles, MatDimsAreDeepFlowsSixLinesAndTheBatchIsExplicitWhenMended) {
  const equations::Quantities q = resolved(kConfig).quantities;  // B 512, S 1024, D 768, H 12, dp 8, pp 2
  EXPECT_EQ(mat_dims(q, base::defects_of(equations::kDefects, "amped")),
            "98304  768  768\n"
            "32768  64  12288\n"
            "32768  1024  768\n"
            "32768  768  768\n"
            "32768  768  3072\n"
            "32768  3072  3072\n");
  EXPECT_EQ(mat_dims(q, {}),
            "98304  768  768  1\n"
            "1024  64  1024  384\n"
            "1024  1024  64  384\n"
            "32768  768  768  1\n"
            "32768  768  3072  1\n"
            "32768  3072  768  1\n");
}

TEST(AmpedOutputFiles, TheProductsMacsAreTheEquationsMacs) {
  const equations::Quantities q = resolved(kConfig).quantities;
  double macs = 0;
  for (const Gemm& gemm : gemms(q, {})) macs += gemm.macs();
  EXPECT_NEAR(macs * q.dp * q.pp, q.attention_macs + q.mlp_macs, 1e-9 * macs);
}

TEST(AmpedOutputFiles, BreakdownOfProductsAndGraphNameEveryProduct) {
  const equations::Quantities q = resolved(kConfig).quantities;
  const std::string breakdown = gemm_breakdown(q, {}), graph = compute_graph(q, {});
  for (const Gemm& gemm : gemms(q, {})) {
    EXPECT_NE(breakdown.find(gemm.name), std::string::npos);
    EXPECT_NE(graph.find("gemm " + gemm.name), std::string::npos);
  }
  EXPECT_NE(graph.find("all-reduce"), std::string::npos);
}

}  // namespace
}  // namespace orrery::formats::amped
