// The chips on which mappers are compared: FactorFlow's four and three with nothing constrained.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <source_dir.h>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/products_test_util.h"

namespace orrery::verbs {
namespace {

using base::Count;
using formats::timeloop::Documents;
using formats::timeloop::Specification;
using testing::kGemms;
using testing::NamedGemm;

const std::string kMapperChipsCatalogue = ORRERY_SOURCE_DIR "/catalog";
const std::vector<std::string> kFactorFlow = {"factorflow-eyeriss", "factorflow-gemmini", "factorflow-simba",
                                              "factorflow-tpu"};
const std::vector<std::string> kFree = {"edge-npu", "many-core", "tpu-v4i"};

Specification specification(const std::string& chip, const NamedGemm& gemm) {
  const ChipFile file = load_chip(kMapperChipsCatalogue, chip);
  return Documents::gather({file.for_role(workload::OperatorRole::kMatmul).file}, {})
      .read_for(workload::matmul(gemm.name, gemm.m, gemm.k, gemm.n));
}

bool awkward(const NamedGemm& gemm) {
  return std::string_view(gemm.name).starts_with("Harsh");
}

TEST(MapperChips, ReadWithoutAWordForEachGemm) {
  for (const std::vector<std::string>& chips : {kFactorFlow, kFree})
    for (const std::string& chip : chips)
      for (const NamedGemm& gemm : kGemms) {
        const Specification read = specification(chip, gemm);
        EXPECT_TRUE(read.chip && read.problem && read.has_energy_tables) << gemm.name << " on " << chip;
        for (const base::Diagnostic& said : read.diagnostics.all())
          EXPECT_TRUE(awkward(gemm) && said.code == "O0515") << gemm.name << " on " << chip << ": " << said.message;
      }
}

TEST(MapperChips, FactorFlowsMapEachGemmWithProof) {
  for (const std::string& chip : kFactorFlow)
    for (const NamedGemm& gemm : kGemms) {
      const Specification read = specification(chip, gemm);
      const nest::Optimum optimum = nest::optimize(nest::Model(read.problem->einsum, *read.chip), read.problem->space);
      EXPECT_TRUE(optimum.mapping.has_value()) << gemm.name << " on " << chip;
      EXPECT_TRUE(optimum.certificate.optimal) << gemm.name << " on " << chip;
    }
}

TEST(MapperChips, FactorFlowsFixedFactorsShrinkToSmallGemms) {
  struct ExpectedLevel {
    const char* chip;
    NamedGemm gemm;
    std::string_view dimension;
    bool spatial;
    Count factor;
  };
  const ExpectedLevel cases[] = {
      {"factorflow-gemmini", {"large", 4096, 1024, 4096}, "D", true, 16},
      {"factorflow-gemmini", {"MB3", 8, 8192, 8}, "D", true, 8},
      {"factorflow-gemmini", {"large", 4096, 1024, 4096}, "L", false, 16},
      {"factorflow-gemmini", {"MB3", 8, 8192, 8}, "L", false, 8},
      {"factorflow-tpu", {"KTQ", 4096, 64, 4096}, "E", true, 64},
      {"factorflow-tpu", {"KQV", 3072, 1024, 4096}, "D", true, 256},
  };
  for (const ExpectedLevel& expected : cases) {
    const Specification read = specification(expected.chip, expected.gemm);
    const int dimension = read.problem->einsum.dimension_index(expected.dimension);
    bool found = false;
    for (const nest::Constraint& constraint : read.problem->space.constraints)
      found |= constraint.kind == nest::Constraint::Kind::kFactor && constraint.spatial == expected.spatial &&
               constraint.dimension == dimension && constraint.value == expected.factor;
    EXPECT_TRUE(found) << expected.gemm.name << " on " << expected.chip << ": " << expected.dimension << "="
                       << expected.factor;
  }
}

// Measured runs of FactorFlow itself.
struct Measured {
  const char* chip;
  const char* gemm;
  double edp_j_cycles;
};

TEST(MapperChips, FactorFlowIsNeverBelowTheOptimumUnderItsOwnModel) {
  const Measured runs[] = {
      {"factorflow-gemmini", "KQV", 912218.2},     {"factorflow-gemmini", "KTQ", 9231.908},
      {"factorflow-gemmini", "FF1", 1615193},      {"factorflow-gemmini", "MB1", 1.718855e+09},
      {"factorflow-gemmini", "MB6", 7.79001},      {"factorflow-eyeriss", "KQV", 1.084996e+07},
      {"factorflow-eyeriss", "KTQ", 122704.7},     {"factorflow-eyeriss", "FF1", 2.935392e+07},
      {"factorflow-eyeriss", "MB1", 2.988668e+10}, {"factorflow-eyeriss", "MB6", 111.9014},
  };
  for (const Measured& run : runs)
    for (const NamedGemm& gemm : kGemms) {
      if (std::string_view(gemm.name) != run.gemm) continue;
      const Specification read = specification(run.chip, gemm);
      const nest::Model model(read.problem->einsum, *read.chip, nest::ModelOptions::factorflow());
      const nest::Optimum optimum = nest::optimize(model, read.problem->space);
      ASSERT_TRUE(optimum.mapping && optimum.certificate.optimal) << run.gemm << " on " << run.chip;
      const double edp = optimum.evaluation.energy_pj * 1e-12 * static_cast<double>(optimum.evaluation.cycles);
      EXPECT_LE(edp, run.edp_j_cycles * (1 + 1e-6)) << run.gemm << " on " << run.chip;
      EXPECT_GE(edp, run.edp_j_cycles * 0.9) << run.gemm << " on " << run.chip << ": that far below is another model";
    }
}

TEST(MapperChips, FreeOnesHaveThreeStoragesOnChipAndTwoFanOutsWithoutConstraints) {
  for (const std::string& chip : kFree) {
    const Specification read = specification(chip, kGemms[0]);
    const std::vector<machine::Storage>& storages = read.chip->storages;
    int memories = 0, fan_outs = 0;
    for (const machine::Storage& storage : storages) ++(storage.pass_through ? fan_outs : memories);
    EXPECT_GE(memories, 4) << chip << ": three on chip and one behind";
    EXPECT_GE(fan_outs, 2) << chip;
    for (const nest::Constraint& constraint : read.problem->space.constraints)
      EXPECT_TRUE(storages[constraint.level].pass_through || constraint.level + 1 == static_cast<int>(storages.size()))
          << chip << ": " << constraint.text << " at " << storages[constraint.level].name;
  }
}

}  // namespace
}  // namespace orrery::verbs
