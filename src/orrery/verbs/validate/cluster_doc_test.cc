// docs/model/cluster.md shows what the program computes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/formats/orrery/system_figures.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/verbs/validate/calibrate_test_util.h"
#include "orrery/verbs/validate/run.h"

namespace orrery::verbs {
namespace {

using collective::Operation;
using testing::fitted_constants;
using testing::FittedConstants;

const std::string kClusterDocDirectory = ORRERY_SOURCE_DIR "/catalog";

std::string page() {
  std::ostringstream text;
  text << std::ifstream(ORRERY_SOURCE_DIR "/docs/model/cluster.md").rdbuf();
  return text.str();
}

void expect_line(const std::string& line) {
  EXPECT_NE(page().find(line), std::string::npos) << "the page lacks:\n" << line;
}

TEST(ClusterPage, ShowsTheValidationTable) {
  for (const ValidatedSet& set : validate_training(kClusterDocDirectory)) {
    const ErrorSummary& held = set.held_out;
    const std::string fitted =
        set.fitted.points > 0 ? fmt::format("{:.1f}", 100 * set.fitted.mean_absolute) : std::string("-");
    const std::string held_out = held.points > 0
                                     ? fmt::format("{:.1f} | {:.1f} | {:+.1f} | {:.1f}", 100 * held.mean_absolute,
                                                   100 * held.median_absolute, 100 * held.bias, 100 * held.worst)
                                     : std::string("- | - | - | -");
    expect_line(fmt::format("| {} | {} | {} | {} | {} |", set.name, held.points, held_out, set.fitted.points, fitted));
  }
}

TEST(ClusterPage, ListsTheFieldsOfPlanModelAndSystem) {
  cluster::Plan plan;
  cluster::Description model;
  cluster::System system;
  expect_line(base::field_table(cluster::fields(plan), "plan."));
  expect_line(base::field_table(cluster::fields(model), "model."));
  using namespace formats::orrery;
  for (const auto& figures :
       {accelerator_figures(system), network_figures(system.fabric.levels[0]), calibration_figures(system)})
    for (const Figure& figure : figures) expect_line("." + figure.key + "`");
}

TEST(ClusterPage, ShowsTheFittedConstants) {
  const FittedConstants constants =
      fitted_constants(formats::orrery::load_system(kClusterDocDirectory, "vtrain-a100").system);
  expect_line(fmt::format("| matrix efficiency e | {:.3g} |", constants[0]));
  expect_line(fmt::format("| fill depth K0 | {:.3g} |", constants[1]));
  expect_line(fmt::format("| host time of an operator | {:.3g} us |", 1e6 * constants[2]));
  expect_line(fmt::format("| cost of a collective | {:.3g} us |", 1e6 * constants[3]));
  expect_line(fmt::format("| jitter | {:.3g} us |", 1e6 * constants[4]));
  expect_line(fmt::format("| loss bytes a logit | {:.3g} |", constants[5]));
}

TEST(ClusterPage, ShowsWhatTheCollectivesOfTheExamplesTake) {
  const collective::Fabric fabric = formats::orrery::load_system(kClusterDocDirectory, "vtrain-a100").system.fabric;
  const auto us = [&](Operation operation, int ranks, int stride) {
    return 1e6 * collective::seconds(operation, fabric, collective::place(fabric, ranks, stride), 1e8);
  };
  expect_line(
      fmt::format("| all-reduce of 100 MB over 8 ranks of one node | {:.1f} |", us(Operation::kAllReduce, 8, 1)));
  expect_line(fmt::format("| all-reduce of 100 MB over 16 ranks of two nodes, all their accelerators | {:.1f} |",
                          us(Operation::kAllReduce, 16, 1)));
  expect_line(fmt::format("| all-reduce of 100 MB over 16 ranks, two in each of eight nodes | {:.1f} |",
                          us(Operation::kAllReduce, 16, 4)));
  expect_line(
      fmt::format("| all-to-all of 100 MB over 16 ranks of two nodes | {:.1f} |", us(Operation::kAllToAll, 16, 1)));
  expect_line(
      fmt::format("| message of 10 MB to the next node | {:.1f} |", 1e6 * collective::message_seconds(fabric, 1, 1e7)));
}

}  // namespace
}  // namespace orrery::verbs
