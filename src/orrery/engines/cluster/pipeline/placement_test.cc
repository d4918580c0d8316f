#include "orrery/engines/cluster/pipeline/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {
namespace {

// Every rank by its place: its coordinates, counted up in the order of the plan.
struct Rank {
  base::Count tp = 0, cp = 0, dp = 0, pp = 0;
};

std::vector<Rank> ranks_of(const Plan& plan) {
  const std::string name = name_of(plan.order, orders());
  std::vector<Rank> all;
  for (base::Count place = 0; place < plan.gpus; ++place) {
    Rank rank;
    base::Count left = place;
    for (std::size_t at = 0; at < name.size(); at += 3) {
      const auto take = [&](const char* degree, base::Count size, base::Count& into) {
        if (name.compare(at, 2, degree) != 0) return;
        into = left % size;
        left /= size;
      };
      take("tp", plan.tp, rank.tp), take("cp", plan.cp, rank.cp), take("dp", plan.dp, rank.dp);
      take("pp", plan.pp, rank.pp);
    }
    all.push_back(rank);
  }
  return all;
}

// Members of the first rank's group in each unit that it touches, of nodes of so many; the most.
template <typename Same>
int most_in_a_node(const Plan& plan, base::Count node, const Same& same) {
  const std::vector<Rank> all = ranks_of(plan);
  std::vector<int> members(static_cast<std::size_t>((plan.gpus + node - 1) / node));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (same(all[0], all[i])) ++members[i / static_cast<std::size_t>(node)];
  return *std::max_element(members.begin(), members.end());
}

TEST(Placement, GroupsStandWhereTheirRanksAreNumbered) {
  for (const auto& [name, order] : orders())
    for (const base::Count tp : {1, 2, 8})
      for (const base::Count cp : {1, 2, 4})
        for (const base::Count dp : {1, 2, 4})
          for (const base::Count pp : {1, 2, 4}) {
            Plan plan;
            plan.order = order;
            plan.tp = tp, plan.cp = cp, plan.dp = dp, plan.pp = pp;
            plan.gpus = tp * cp * dp * pp;
            const System system = a100(1600);
            const base::Count node = system.fabric.levels[0].size;
            const collective::Group contexts = context_ranks(system, plan);
            EXPECT_EQ(contexts.ranks, cp);
            EXPECT_EQ(contexts.joined[0], most_in_a_node(plan, node,
                                                         [](const Rank& a, const Rank& b) {
                                                           return a.tp == b.tp && a.dp == b.dp && a.pp == b.pp;
                                                         }))
                << name << " tp " << tp << " cp " << cp << " dp " << dp << " pp " << pp;
            const collective::Group replicas = of_stage(system, plan, cp * dp, tp);
            EXPECT_EQ(replicas.ranks, cp * dp);
            EXPECT_EQ(
                replicas.joined[0],
                most_in_a_node(plan, node, [](const Rank& a, const Rank& b) { return a.tp == b.tp && a.pp == b.pp; }))
                << name << " tp " << tp << " cp " << cp << " dp " << dp << " pp " << pp;
            const std::vector<Rank> all = ranks_of(plan);
            const auto next = std::find_if(
                all.begin(), all.end(), [](const Rank& r) { return r.pp == 1 && r.tp == 0 && r.cp == 0 && r.dp == 0; });
            if (pp > 1) {
              EXPECT_EQ(stage_stride(plan), next - all.begin()) << name;
            }
          }
}

TEST(Placement, OrdersThatPlaceDegreesAlikeAreListedOnce) {
  for (const base::Count cp : {1, 2})
    for (const base::Count dp : {1, 2})
      for (const base::Count pp : {1, 2}) {
        std::set<std::string> places, listed;
        for (const auto& [name, order] : orders()) {
          std::string own;
          Plan plan;
          plan.order = order;
          plan.tp = 2, plan.cp = cp, plan.dp = dp, plan.pp = pp;
          plan.gpus = 2 * cp * dp * pp;
          for (const Rank& rank : ranks_of(plan))
            own += std::to_string(rank.cp) + std::to_string(rank.dp) + std::to_string(rank.pp) + " ";
          places.insert(own);
          for (const Order each : different_orders(cp, dp, pp)) {
            if (each != order) continue;
            EXPECT_TRUE(listed.insert(own).second) << name;
          }
        }
        EXPECT_EQ(listed, places) << cp << dp << pp;
      }
}

}  // namespace
}  // namespace orrery::cluster
