// Macros -> plain constraints.
//
// Idea: a macro says something about all dimensions or all dataspaces at once.
//   factors_only: F                 the factors F; 1 for every dimension that no factor names
//   no_iteration_over_dataspaces    1 for every dimension that one of these dataspaces depends on
//   must_iterate_over_dataspaces    1 for every dimension that none of them depends on
//   maximize_dims: [[A, B], [C]]    `=` factors that fill the fan-out (spatial) or maximize_dims_capacity (temporal),
//                                   group by group; a later group fills what the earlier ones left
// Source: the constraint macros of Timeloop's v4 front end. Cost: levels x dimensions, and the search of
// maximize_dims.cc.
#include "orrery/formats/timeloop/constraints/macros.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "orrery/formats/timeloop/constraints/maximize_dims.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::Comparison;

void set_to_one(const LoopMacro& macro, int d, const std::string& macro_name, ConstraintTable& table) {
  const std::string text = fmt::format("{}=1 ({})", table.einsum.dimensions[d].name, macro_name);
  table.add_factor(macro.level, macro.spatial, {d, Comparison::kEqual, 1, text, macro.where});
}

void expand_factors_only(const LoopMacro& macro, const Scope& variables, ConstraintTable& table) {
  for (Factor& factor : read_factors(*macro.value, table.einsum, variables, table.found))
    table.add_factor(macro.level, macro.spatial, std::move(factor));
  const LoopConstraints& loops = table.levels[macro.level].loops(macro.spatial);
  for (std::size_t d = 0; d < table.einsum.dimensions.size(); ++d)
    if (!loops.names(static_cast<int>(d))) set_to_one(macro, static_cast<int>(d), "factors_only", table);
}

void expand_iteration(const LoopMacro& macro, ConstraintTable& table) {
  const bool forbid = macro.kind == LoopMacro::Kind::kNoIterationOver;
  const std::vector<DataspaceName> dataspaces = read_dataspaces(*macro.value, table.einsum, table.found);
  for (std::size_t d = 0; d < table.einsum.dimensions.size(); ++d) {
    const int dimension = static_cast<int>(d);
    const bool touched = std::any_of(dataspaces.begin(), dataspaces.end(), [&](const DataspaceName& name) {
      return table.einsum.relevant(name.dataspace, dimension);
    });
    if (touched == forbid)
      set_to_one(macro, dimension, forbid ? "no_iteration_over_dataspaces" : "must_iterate_over_dataspaces", table);
  }
}

class Maximiser {
 public:
  Maximiser(const LoopMacro& macro, const LoopMacro* capacity, const Scope& variables, ConstraintTable& table,
            std::vector<Count>& left)
      : macro_(macro), table_(table), loops_(table.levels[macro.level].loops(macro.spatial)), left_(left) {
    if (capacity) {
      capacity_ = as_count(*capacity->value, variables, "maximize_dims_capacity", table.found);
    } else if (macro.spatial) {
      capacity_ = table.fanout(macro.level);
    } else {
      table.found.error("O0514", "`maximize_dims` of temporal loops needs `maximize_dims_capacity`", macro.where)
          .hint("add the number of iterations that fit, such as `maximize_dims_capacity: 64`");
    }
  }

  void run() {
    if (!capacity_ || macro_.value->is_null()) return;
    const yaml::Node& groups = *macro_.value;
    if (!groups.is_sequence()) {
      bad_shape(groups);
      return;
    }
    if (groups.items.empty()) return;
    if (groups.items[0].is_scalar()) {
      run_group(groups);
      return;
    }
    for (const yaml::Node& group : groups.items) run_group(group);
  }

 private:
  void bad_shape(const yaml::Node& node) {
    table_.found.error("O0514", "`maximize_dims` is a list of dimensions, or a list of such lists", node.where)
        .hint("write `maximize_dims: [[E], [L]]`");
  }

  void run_group(const yaml::Node& group) {
    if (!group.is_sequence()) {
      bad_shape(group);
      return;
    }
    std::vector<int> dimensions;
    std::vector<Count> sizes;
    for (const yaml::Node& item : group.items) {
      if (!item.is_scalar()) {
        bad_shape(item);
        return;
      }
      const int d = table_.einsum.dimension_index(item.scalar);
      if (d < 0) {
        const std::vector<std::string> names = dimension_names(table_.einsum);
        suggest(
            table_.found.error(
                "O0505", fmt::format("`{}` is not a dimension of the problem `{}`", item.scalar, table_.einsum.name),
                item.where),
            item.scalar, names, "its dimensions");
        return;
      }
      if (loops_.names(d) || std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end()) {
        report_constrained(item, d);
        return;
      }
      dimensions.push_back(d);
      sizes.push_back(left_[d]);
    }
    allocate(group, dimensions, sizes);
  }

  void report_constrained(const yaml::Node& item, int d) {
    base::Diagnostic& error = table_.found.error("O0514",
                                                 fmt::format("`{}` cannot be maximised: {} already fix it", item.scalar,
                                                             table_.place(macro_.level, macro_.spatial)),
                                                 item.where);
    for (const auto& [key, given] : loops_.factors)
      if (key.first == d) error.also(given.where, fmt::format("`{}` here", given.text));
  }

  void allocate(const yaml::Node& group, const std::vector<int>& dimensions, const std::vector<Count>& sizes) {
    Count capacity = *capacity_;
    for (const auto& [key, given] : loops_.factors)
      if (key.second != Comparison::kAtMost && given.value > 0) capacity /= given.value;
    const std::optional<Maximised> best = maximise(sizes, capacity);
    if (!best) {
      table_.found.error("O0514", "`maximize_dims` has too many divisors to try", group.where)
          .hint("maximise fewer dimensions in one group");
      return;
    }
    std::string chosen;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const std::string& name = table_.einsum.dimensions[dimensions[i]].name;
      const Count factor = best->factors[i];
      chosen += fmt::format("{}{}={}", i ? ", " : "", name, factor);
      table_.add_factor(
          macro_.level, macro_.spatial,
          {dimensions[i], Comparison::kEqual, factor, fmt::format("{}={} (maximize_dims)", name, factor), group.where});
      left_[dimensions[i]] = base::ceil_divide(left_[dimensions[i]], factor);
    }
    if (best->with_remainder.empty()) return;
    std::string other;
    for (std::size_t i = 0; i < dimensions.size(); ++i)
      other +=
          fmt::format("{}{}={}", i ? ", " : "", table_.einsum.dimensions[dimensions[i]].name, best->with_remainder[i]);
    table_.found
        .warning("O0515",
                 fmt::format("`maximize_dims` takes {}: the largest whole divisors within {}", chosen, capacity),
                 group.where)
        .note(fmt::format("Timeloop takes {}, which leaves a remainder; Orrery tiles by whole divisors", other))
        .hint("choose a problem size, or a capacity, that divide each other");
  }

  const LoopMacro& macro_;
  ConstraintTable& table_;
  LoopConstraints& loops_;
  std::vector<Count>& left_;
  std::optional<Count> capacity_;
};

void expand_maximisations(const std::vector<LoopMacro>& macros, const Scope& variables, ConstraintTable& table) {
  std::vector<Count> left = table.left_over();
  for (bool spatial : {true, false})
    for (int level = 0; level < static_cast<int>(table.levels.size()); ++level) {
      const LoopMacro* dims = nullptr;
      const LoopMacro* capacity = nullptr;
      for (const LoopMacro& macro : macros) {
        if (macro.level != level || macro.spatial != spatial) continue;
        if (macro.kind == LoopMacro::Kind::kMaximizeDimsCapacity) capacity = &macro;
        if (macro.kind != LoopMacro::Kind::kMaximizeDims) continue;
        if (dims)
          table.found
              .error("O0508", fmt::format("{} are given `maximize_dims` twice", table.place(level, spatial)),
                     macro.where)
              .also(dims->where, "first here");
        dims = &macro;
      }
      if (dims) Maximiser(*dims, capacity, variables, table, left).run();
    }
}

struct BranchKeeps {
  std::uint32_t keeps = 0;
  std::vector<base::Location> where;  // per dataspace: what says so
};

BranchKeeps keeps_of(const ParallelGroup::Branch& branch, const ConstraintTable& table, base::Diagnostics& found) {
  BranchKeeps result;
  result.where.resize(table.einsum.dataspaces.size());
  for (int level : branch.levels)
    for (std::size_t s = 0; s < table.einsum.dataspaces.size(); ++s)
      if (const auto& given = table.levels[level].keep[s]; given && given->keep) {
        result.keeps |= std::uint32_t{1} << s;
        result.where[s] = given->where;
      }
  const yaml::Node* dataspace = branch.nothing ? branch.nothing->find("dataspace") : nullptr;
  for (const char* key : {"keep", "keep_only"})
    if (const yaml::Node* keep = dataspace ? dataspace->find(key) : nullptr)
      for (const DataspaceName& name : read_dataspaces(*keep, table.einsum, found)) {
        result.keeps |= std::uint32_t{1} << name.dataspace;
        result.where[name.dataspace] = name.where;
      }
  return result;
}

std::vector<int> levels_of(const ParallelGroup& group) {
  std::vector<int> levels;
  for (const ParallelGroup::Branch& branch : group.branches)
    levels.insert(levels.end(), branch.levels.begin(), branch.levels.end());
  return levels;
}

// A group inside a branch of another one deals only with what that branch keeps.
std::uint32_t dataspaces_to_place(std::size_t g, const ConstraintTable& table, base::Diagnostics& ignored) {
  const std::vector<ParallelGroup>& groups = table.architecture.parallel;
  const std::vector<int> mine = levels_of(groups[g]);
  std::uint32_t all = 0;
  for (std::size_t s = 0; s < table.einsum.dataspaces.size(); ++s) all |= std::uint32_t{1} << s;
  for (std::size_t other = 0; other < groups.size(); ++other) {
    if (other == g || mine.empty()) continue;
    for (const ParallelGroup::Branch& branch : groups[other].branches) {
      const bool holds = !branch.levels.empty() && std::all_of(mine.begin(), mine.end(), [&](int level) {
        return std::find(branch.levels.begin(), branch.levels.end(), level) != branch.levels.end();
      });
      const bool same = levels_of(groups[other]).size() == mine.size();
      if (holds && !same) all &= keeps_of(branch, table, ignored).keeps;
    }
  }
  return all;
}

}  // namespace

void expand_loop_macros(const std::vector<LoopMacro>& macros, const Scope& variables, ConstraintTable& table) {
  for (const LoopMacro& macro : macros) {
    if (macro.kind == LoopMacro::Kind::kFactorsOnly) expand_factors_only(macro, variables, table);
    if (macro.kind == LoopMacro::Kind::kNoIterationOver || macro.kind == LoopMacro::Kind::kMustIterateOver)
      expand_iteration(macro, table);
  }
  expand_maximisations(macros, variables, table);
}

void complete_parallel_branches(ConstraintTable& table) {
  const std::vector<ParallelGroup>& groups = table.architecture.parallel;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ParallelGroup& group = groups[g];
    base::Diagnostics ignored;
    const std::uint32_t to_place = dataspaces_to_place(g, table, ignored);
    std::vector<BranchKeeps> branches;
    for (const ParallelGroup::Branch& branch : group.branches) branches.push_back(keeps_of(branch, table, table.found));
    for (std::size_t s = 0; s < table.einsum.dataspaces.size(); ++s) {
      const std::uint32_t bit = std::uint32_t{1} << s;
      const std::string& name = table.einsum.dataspaces[s].name;
      std::vector<std::size_t> keepers;
      for (std::size_t b = 0; b < branches.size(); ++b)
        if (branches[b].keeps & bit) keepers.push_back(b);
      if (keepers.empty() && (to_place & bit))
        table.found.error("O0516", fmt::format("no branch of this `!Parallel` keeps `{}`", name), group.where)
            .hint(fmt::format("let one branch keep it: `constraints: {{dataspace: {{keep: [{}]}}}}`", name))
            .hint(fmt::format("or let it pass them all: `- !Nothing {{constraints: {{dataspace: {{keep: [{}]}}}}}}`",
                              name));
      if (keepers.size() > 1)
        table.found
            .error("O0516", fmt::format("two branches of this `!Parallel` keep `{}`", name),
                   branches[keepers[1]].where[s])
            .label("one branch")
            .also(branches[keepers[0]].where[s], "another branch")
            .also(group.where, "the `!Parallel`");
      for (std::size_t b = 0; b < branches.size(); ++b) {
        if (branches[b].keeps & bit) continue;
        for (int level : group.branches[b].levels)
          table.add_keep_if_absent(
              level, static_cast<int>(s), false,
              fmt::format("`{}` passes `{}`: another branch keeps it", name, table.level_name(level)),
              keepers.empty() ? group.where : branches[keepers[0]].where[s]);
      }
    }
  }
}

}  // namespace orrery::formats::timeloop
