#include "orrery/engines/dataflow/search/infeasibility.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/search/contradictions.h"
#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::dataflow {
namespace {

bool says(const base::Diagnostic& diagnostic, const std::string& text) {
  return std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

Placement nothing_for(const dataflow::Setup& setup, const Defects& defects) {
  Placement found = optimize(setup, defects);
  EXPECT_FALSE(found.mapping);
  EXPECT_TRUE(found.infeasible);
  EXPECT_FALSE(found.interrupted);
  EXPECT_EQ(found.reasons.size(), found.blamed.size());
  EXPECT_FALSE(found.reasons.empty());
  if (found.reasons.empty()) found.reasons.emplace_back();
  return found;
}

TEST(Infeasibility, AKernelTooLargeForSramIsToldWithItsBuffers) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.system.accelerator.on_chip_bytes = 1e5;
  const Placement found = nothing_for(setup, kGen2);
  const base::Diagnostic& first = found.reasons[0];
  EXPECT_EQ(first.code, "O1447");
  // One token a tile: 12,288 x 2 bytes in, and three readers' worth of them out.
  EXPECT_NE(first.message.find("bytes of SRAM by itself, but a chip has 100,000"), std::string::npos) << first.message;
  EXPECT_TRUE(says(first, "2 x 24,576 bytes of")) << first.notes[0];
  EXPECT_TRUE(says(first, "2,048 tiles of 1 token"));
  EXPECT_EQ(found.blamed[0][0].part, Part::kKernel);
}

TEST(Infeasibility, WeightsTooLargeForDramAreToldWithTheLargest) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.system.accelerator.memory_bytes = 1e9;
  const Placement found = nothing_for(setup, kGen2);
  const base::Diagnostic& first = found.reasons.back();
  EXPECT_EQ(first.code, "O1448");
  // 12 h^2 parameters a layer, 2 bytes each, 96 layers over 8 chips.
  EXPECT_EQ(first.message, "weights and tables take 43,486,543,872 bytes of DRAM, but a chip has 1,000,000,000");
  EXPECT_TRUE(says(first, "14,495,514,624 bytes for kernel 14 `FFN0`"));
}

TEST(Infeasibility, TablesTooLargeForDramAreTold) {
  dataflow::Setup setup = cases::dlrm_i();
  std::get<Recommendation>(setup.execution.workload).rows *= 1000;
  const Placement found = nothing_for(setup, kGen2);
  EXPECT_EQ(found.reasons.back().code, "O1448");
  EXPECT_TRUE(says(found.reasons.back(), "with the workload's tables"));
}

// The largest of the published DLRM setups: 24 TB of tables on 128 chips of 40 GiB, and of 80.
TEST(Infeasibility, TablesOf24TerabytesFitNeither40Nor80GigabytesAChip) {
  dataflow::Setup setup = cases::dlrm_i();
  auto& dlrm = std::get<Recommendation>(setup.execution.workload);
  dlrm.tables = 100, dlrm.embedding = 128, dlrm.rows = 937'500'000;
  for (const double gigabytes : {40, 80}) {
    setup.system.accelerator.memory_bytes = gigabytes * (1 << 30);
    for (const Defects& defects : {kCorrected, kGen1, kGen2, kHead}) {
      const Placement found = nothing_for(setup, defects);
      EXPECT_EQ(found.reasons.back().code, "O1448");
      // The generations count weights once in each direction.
      const char* const bytes = defects.weights_of_both_directions ? "187,579,935,000" : "187,539,967,500";
      EXPECT_EQ(found.reasons.back().message.substr(0, 55),
                fmt::format("weights and tables take {} bytes of DRAM, ", bytes));
    }
  }
  setup.system.accelerator.memory_bytes = 200.0 * (1 << 30);
  EXPECT_TRUE(optimize(setup, kCorrected).mapping);
}

TEST(Infeasibility, TheMatrixOfLinpackAndTheLineOfAnFftMustFitInDram) {
  for (dataflow::Setup setup : {cases::hpl_circe(), cases::fft_1024()}) {
    double bytes = 0;
    if (const auto* hpl = std::get_if<Linpack>(&setup.execution.workload)) {
      bytes = static_cast<double>(hpl->n) * static_cast<double>(hpl->n);
    } else {
      bytes = static_cast<double>(std::get<FourierTransform>(setup.execution.workload).length);
    }
    bytes *= static_cast<double>(setup.execution.word_bytes) / static_cast<double>(setup.system.chips);
    setup.system.accelerator.memory_bytes = bytes * 0.99;
    EXPECT_EQ(nothing_for(setup, kCorrected).reasons.back().code, "O1448");
    setup.system.accelerator.memory_bytes = 0;
    EXPECT_TRUE(optimize(setup, kCorrected).mapping) << "0: unlimited";
  }
}

TEST(Infeasibility, AChipWithoutCoresRunsNothing) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.system.cores.cores = 0;
  EXPECT_EQ(nothing_for(setup, kGen2).reasons[0].code, "O1449");
}

TEST(Infeasibility, TooFewConfigurationsAreToldWithHowManyWouldDo) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.execution.configurations = 1;
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 128;
  const Placement found = nothing_for(setup, kGen2);
  const base::Diagnostic& first = found.reasons[0];
  EXPECT_EQ(first.code, "O1450");
  EXPECT_EQ(first.message, "no partition of 18 kernels into 1 configuration respects all limits");
  EXPECT_TRUE(says(first, "a chip has 335,544,320 bytes of SRAM"));
  EXPECT_TRUE(says(first, "there is 1 configuration; 2 would suffice"));
  EXPECT_FALSE(says(first, "DRAM"));
  EXPECT_FALSE(says(first, "cores"));
}

TEST(Infeasibility, PinsThatDoNotFitTogetherAreBlamedAndConfigurationsAreNot) {
  dataflow::Setup setup = cases::gpt3_8x1();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 128;
  for (workload::Kernel& kernel : setup.graph.kernels) kernel.configuration = 2;
  const Placement found = nothing_for(setup, kGen2);
  EXPECT_EQ(found.reasons[0].code, "O1450");
  EXPECT_TRUE(says(found.reasons[0], "kernels are pinned: 1 `Add_Prev_Layer` to 2"));
  EXPECT_FALSE(says(found.reasons[0], "there are 4 configurations"));
}

TEST(Infeasibility, LiftingAnyLimitThatIsToldMakesAPlacementPossible) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.execution.configurations = 1;
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 128;
  nothing_for(setup, kGen2);
  dataflow::Setup roomy = setup;
  roomy.system.accelerator.on_chip_bytes *= 10;
  EXPECT_TRUE(optimize(roomy, kGen2).mapping);
  setup.execution.configurations = 2;
  EXPECT_TRUE(optimize(setup, kGen2).mapping);
}

TEST(Infeasibility, CountsThatOverflowAreRefused) {
  dataflow::Setup setup = cases::gpt3_8x1();
  setup.graph.kernels[2].outer = Count{1} << 40;
  setup.graph.kernels[2].m = Count{1} << 40;
  EXPECT_THROW(optimize(setup, kGen2), base::InputError);
  setup = cases::gpt3_4x2();
  std::get<LanguageModelRun>(setup.execution.workload).micro_batch = Count{1} << 62;  // times DP beyond 64 bits
  EXPECT_EQ(base::refused([&] { optimize(setup, kGen2); }).at(0).code, "O1443");
  try {
    base::checked_multiply(Count{1} << 62, 2);
    FAIL();
  } catch (const base::OverflowError& error) {
    EXPECT_EQ(too_large_to_count(error).diagnostic.code, "O1453");
  }
}

}  // namespace
}  // namespace orrery::dataflow
