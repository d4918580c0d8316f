#include "orrery/verbs/train/table.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "orrery/present/schema_check_test_util.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/train/json.h"
#include "orrery/verbs/train/perfetto_trace.h"

namespace orrery::verbs {
namespace {

TrainedModel trained(cluster::PipelineChoice schedule) {
  TrainRequest request;
  request.model = "megatron-18.4b";
  request.system = "a100-selene";
  request.gpus = 64;
  request.global_batch = 64;
  request.tp = 8, request.pp = 4, request.dp = 2;
  request.schedule = schedule;
  request.tokens = 1e9;
  return verbs::train(request);
}

TEST(ShownSeconds, TakesTheUnitThatSuits) {
  EXPECT_EQ(shown_seconds(0), "0 s");
  EXPECT_EQ(shown_seconds(2e-5), "20.00 us");
  EXPECT_EQ(shown_seconds(0.1234), "123.4 ms");
  EXPECT_EQ(shown_seconds(59.5), "59.50 s");
  EXPECT_EQ(shown_seconds(3 * 3600.0), "3.000 h");
  EXPECT_EQ(shown_seconds(30 * 86400.0), "30.00 d");
}

TEST(TrainJson, BreakdownSumsToTheIterationAndMemoryToItsTotal) {
  const auto run = trained(cluster::PipelineChoice::kOneFOneB);
  const auto result = checked(train_document(), run).at("result");
  double seconds = 0, bytes = 0;
  for (const auto& [name, value] : result.at("breakdown").items()) seconds += value.get<double>();
  for (const auto& [name, value] : result.at("memory_bytes").items())
    if (name != "total") bytes += value.get<double>();
  const double iteration_s = result.at("iteration_s");
  EXPECT_NEAR(seconds, iteration_s, 1e-12 * iteration_s);
  EXPECT_NEAR(bytes, result.at("memory_bytes").at("total").get<double>(), 1);
  EXPECT_EQ(result.at("breakdown").size(), 10U);
  EXPECT_NEAR(result.at("training").at("seconds").get<double>() * result.at("tokens_per_s").get<double>(), 1e9, 1);
}

TEST(TrainJson, CostsAreThoseOfThePriceAndThePowerAndNullWithout) {
  auto run = trained(cluster::PipelineChoice::kOneFOneB);
  run.system.price_per_gpu_hour = 2;
  run.system.watts_per_gpu = 400;
  const auto priced = checked(train_document(), run).at("result");
  const double hours = run.iteration.iteration_s * 64 / 3600;
  EXPECT_DOUBLE_EQ(priced.at("cost").at("accelerator_hours"), hours);
  EXPECT_DOUBLE_EQ(priced.at("cost").at("usd"), 2 * hours);
  EXPECT_DOUBLE_EQ(priced.at("cost").at("kwh"), 0.4 * hours);
  EXPECT_DOUBLE_EQ(priced.at("training").at("usd"), 2 * run.training_s * 64 / 3600);
  EXPECT_NE(train_table(run).find("Wh at rated power"), std::string::npos);
  EXPECT_NE(train_table(run).find("dollars"), std::string::npos);
  run.system.price_per_gpu_hour = run.system.watts_per_gpu = 0;
  const auto plain = checked(train_document(), run).at("result");
  EXPECT_TRUE(plain.at("cost").at("usd").is_null());
  EXPECT_TRUE(plain.at("training").at("kwh").is_null());
  EXPECT_EQ(train_table(run).find("dollars"), std::string::npos);
}

TEST(PerfettoTrace, StagesDoOneThingAtATimeAndAllOfIt) {
  for (const auto& [name, schedule] : cluster::schedules()) {
    const auto run = trained(schedule);
    const auto events = nlohmann::json::parse(perfetto_trace(run)).at("traceEvents");
    std::vector<double> busy_until(static_cast<std::size_t>(run.plan.pp), 0);
    base::Count passes = 0;
    for (const auto& event : events) {
      if (event.at("ph").get<std::string>() != "X") continue;
      double& until = busy_until.at(event.at("tid").get<std::size_t>());
      EXPECT_GE(event.at("ts").get<double>(), until - 0.002) << name << ": " << event;
      until = event.at("ts").get<double>() + event.at("dur").get<double>();
      passes += event.at("name").get<std::string>() != "end of iteration" ? 1 : 0;
    }
    EXPECT_EQ(passes, trace_events(run.plan)) << name;
    for (const double until : busy_until)
      EXPECT_NEAR(until * 1e-6, run.iteration.iteration_s, 0.05 * run.iteration.iteration_s) << name;
  }
}

}  // namespace
}  // namespace orrery::verbs
