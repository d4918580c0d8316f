#include "orrery/runtime/tuning/kernel_space.h"
#include "orrery/base/text/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/text/files_test_util.h"
#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {
namespace {

using base::Count;

TEST(KernelSpace, HasAsManyConfigurationsAsSubstationCompiles) {
  ORRERY_NEEDS_SHARED();
  const auto golden = nlohmann::json::parse(base::contents(base::kShared / "goldens/layer/kernel_config_space.json"));
  Count total = 0;
  EXPECT_EQ(kernel_spaces().size(), golden["per_kernel"].size());
  for (const KernelSpace& space : kernel_spaces()) {
    EXPECT_EQ(configurations(space), golden["per_kernel"][space.kernel]["configs"].get<Count>()) << space.kernel;
    total += configurations(space);
  }
  EXPECT_EQ(total, golden["total"].get<Count>());
}

TEST(KernelSpace, NumbersEachConfigurationOnce) {
  for (const char* kernel : {"bsb", "baob", "bei", "aib"}) {
    const KernelSpace& space = *kernel_space(kernel);
    std::set<std::pair<std::vector<char>, std::vector<std::string>>> seen;
    for (Count number = 0; number < configurations(space); ++number) {
      const KernelConfiguration one = configuration(space, number);
      ASSERT_EQ(one.layouts.size(), space.columns.size());
      for (std::size_t i = 0; i < one.layouts.size(); ++i)
        EXPECT_TRUE(std::is_permutation(one.layouts[i].begin(), one.layouts[i].end(), space.columns[i].dims.begin(),
                                        space.columns[i].dims.end()));
      EXPECT_TRUE(seen.insert({one.specials, one.layouts}).second) << kernel << " " << number;
    }
  }
}

// Each operator of the graph finds its columns and choices in its kernel's file, and no column is left over.
TEST(KernelSpace, HasTheColumnsThatTheGraphReads) {
  const auto sorted = [](std::string text) {
    std::sort(text.begin(), text.end());
    return text;
  };
  for (const Operator& op : encoder_graph(Sizes::encoder(8, 512, 16, 1024, 4096)).operators) {
    if (op.kind != Kind::kKernel) continue;
    const KernelSpace* space = kernel_space(op.benchmark());
    ASSERT_NE(space, nullptr) << op.name;
    std::set<std::pair<std::string, std::string>> of_file, of_graph;
    for (const KernelColumn& column : space->columns) of_file.insert({base::lower(column.name), sorted(column.dims)});
    for (const std::vector<Use>* uses : {&op.inputs, &op.outputs})
      for (const Use& use : *uses) of_graph.insert({use.column, sorted(use.dims)});
    EXPECT_EQ(of_file, of_graph) << op.name;
    std::set<std::string> choices, wanted;
    for (const KernelSpecial& special : space->specials) choices.insert(special.name);
    for (const Special& special : op.specials) wanted.insert(special.column);
    EXPECT_EQ(choices, wanted) << op.name;
  }
}

}  // namespace
}  // namespace orrery::tuning
