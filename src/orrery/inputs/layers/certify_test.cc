#include "orrery/inputs/layers/certify.h"

#include <gtest/gtest.h>

#include <utility>

namespace orrery::verbs {
namespace {

// A buffer between DRAM and 4 multipliers.
machine::Chip buffer_and_dram() {
  machine::Chip out;
  machine::Storage buffer, dram;
  buffer.name = "Buffer";
  buffer.capacity_words = 64;
  buffer.read_words_per_cycle = 4;
  buffer.energy = {1.5, 1.25, 1.25, 0};
  dram.name = "DRAM";
  dram.is_dram = true;
  dram.read_words_per_cycle = 2;
  dram.energy = {64, 64, 64, 0};
  out.storages = {buffer, dram};
  out.compute.instances = 4;
  out.compute.mesh_x = 4;
  out.compute.compute_pj = 0.25;
  return out;
}

class Certify : public ::testing::Test {
 protected:
  const nest::Model model{workload::matmul("product", 24, 36, 16), buffer_and_dram(), {}, {}};
  const std::vector<nest::Metric> objective{nest::Metric::kEdp};
  nest::Mapspace space;
  nest::Optimum optimum = nest::optimize(model, space, objective);

  Certified check() { return certify(model, space, objective, optimum, {}); }
};

TEST_F(Certify, AgreesWithAProvenOptimum) {
  ASSERT_TRUE(optimum.certificate.optimal);
  const Certified found = check();
  EXPECT_TRUE(found.finished);
  EXPECT_TRUE(found.agrees) << found.complaint;
}

TEST_F(Certify, RefusesAMappingThatIsNotTheBest) {
  nest::Constraint worse;
  worse.kind = nest::Constraint::Kind::kKeep;
  worse.level = 0;
  worse.dataspace = 0;
  worse.keep = false;
  nest::Mapspace narrower;
  narrower.constraints.push_back(worse);
  optimum = nest::optimize(model, narrower, objective);
  const Certified found = check();
  EXPECT_TRUE(found.finished);
  EXPECT_FALSE(found.agrees);
  EXPECT_NE(found.complaint.find("that of a slower search"), std::string::npos) << found.complaint;
}

TEST_F(Certify, RefusesACostThatTheMappingDoesNotHave) {
  optimum.evaluation.energy_pj *= 1 - 1e-9;
  EXPECT_FALSE(check().agrees);
}

TEST_F(Certify, RefusesAMappingThatCannotRunOrIsForbidden) {
  nest::Constraint forbidden;
  forbidden.level = 1;
  forbidden.value = 24;
  space.constraints.push_back(forbidden);
  ASSERT_NE(optimum.mapping->levels[1].temporal[0], 24);
  EXPECT_NE(check().complaint.find("breaks a constraint"), std::string::npos);
  optimum.mapping->levels[1].temporal[0] *= 2;
  EXPECT_NE(check().complaint.find("cannot run"), std::string::npos);
}

TEST_F(Certify, RefusesAnEmptySpaceThatIsNotEmpty) {
  optimum = {};
  optimum.infeasible = true;
  const Certified found = check();
  EXPECT_TRUE(found.finished);
  EXPECT_FALSE(found.agrees);
}

TEST_F(Certify, HasNothingToCheckWithoutAProof) {
  optimum.certificate.optimal = false;
  EXPECT_FALSE(check().finished);
}

}  // namespace
}  // namespace orrery::verbs
