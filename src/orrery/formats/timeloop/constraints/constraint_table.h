// All that the constraints of one chip say, level by level, before it becomes a nest::Mapspace.
//
// Timeloop attaches constraints to nodes from several places (inside the node, in `constraints.targets`) and its
// macros read what all of them said together; this table is where they meet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/constraints/directive_text.h"

namespace orrery::formats::timeloop {

struct GivenCount {
  base::Count value = 1;
  std::string text;
  base::Location where;
};

struct GivenKeep {
  bool keep = true;
  std::string text;
  base::Location where;
};

struct LoopConstraints {
  std::map<std::pair<int, nest::Comparison>, GivenCount> factors;  // by dimension and comparison
  std::optional<Permutation> order;
  std::optional<GivenCount> split;

  bool names(int dimension) const;  // any factor of it, whatever the comparison
  bool empty() const { return factors.empty() && !order && !split; }
};

struct LevelConstraints {
  LoopConstraints temporal, spatial;
  std::vector<std::optional<GivenKeep>> keep;  // per dataspace
  nest::ReuseRules reuse;

  LoopConstraints& loops(bool is_spatial) { return is_spatial ? spatial : temporal; }
};

class ConstraintTable {
 public:
  ConstraintTable(const Architecture& architecture, const workload::Einsum& einsum, base::Diagnostics& found);

  const Architecture& architecture;
  const workload::Einsum& einsum;
  base::Diagnostics& found;
  std::vector<LevelConstraints> levels;  // as Chip::storages
  std::vector<nest::Constraint> parallelism;

  struct JointShare {
    double fraction;
    base::Location where;
  };
  std::optional<JointShare> joint;  // the least share in use of several fan-outs together

  // Each may meet what is there already. The v3 form forbids any repetition, v4 one that says something else (O0508,
  // O0509, both places shown); then the first stays.
  // Two permutations say the same when they agree on the loops that may iterate; v4 waits for `check_orders`.
  void add_factor(int level, bool spatial, Factor factor);
  void add_order(int level, bool spatial, Permutation order);
  void add_split(int level, GivenCount split);
  void add_keep(int level, int dataspace, GivenKeep keep);

  void check_orders();

  // The same for what a macro or a default says: gives way silently to what is there.
  void add_factor_if_absent(int level, bool spatial, int dimension, base::Count value, const std::string& text,
                            const base::Location& where);
  void add_keep_if_absent(int level, int dataspace, bool keep, const std::string& text, const base::Location& where);

  // How much of each dimension the `=` factors of all levels leave, each division rounded up.
  std::vector<base::Count> left_over() const;

  const std::string& level_name(int level) const { return architecture.chip.storages[level].name; }
  std::string place(int level, bool spatial) const;  // "the spatial loops of `PERows`"
  base::Count fanout(int level) const;               // instances inside one of `level`; at least 1

  // Factors with `=` above the bound are left out, with a warning (O0510).
  nest::Mapspace mapspace() const;

 private:
  struct LaterOrder {
    int level;
    bool spatial;
    Permutation order;
  };
  void report_second_order(const LaterOrder& later);
  // The loops of `order` that may iterate more than once; the outer ones follow -1.
  std::vector<int> iterating(int level, bool spatial, const Permutation& order) const;

  std::vector<LaterOrder> later_orders_;
};

}  // namespace orrery::formats::timeloop
