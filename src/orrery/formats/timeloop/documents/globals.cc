#include "orrery/formats/timeloop/documents/globals.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

struct Variable {
  std::string_view name;
  std::string_view effect;  // empty: on what is printed only
  std::string_view way_out;
  bool when_off = false;  // it is on unless it is "0"
};

// Of Timeloop's master. Each is off where it is "0".
constexpr auto kVariables = std::to_array<Variable>({
    {"TIMELOOP_DISABLE_LINK_TRANSFERS", "neighbours hand no words to each other",
     "leave out `--compat timeloop`, which has them do so, or bring back single differences by name"},
    {"TIMELOOP_ENABLE_TOROIDAL_LINKS", "the last instance of a row hands words to the first", ""},
    {"TIMELOOP_ENABLE_FIRST_READ_ELISION", "the first update of an output reads, too",
     "`rmw_first_update` in the constraints brings that about", true},
    {"TIMELOOP_ENABLE_UPDATED_RMW", "outputs are read and filled by another rule", ""},
    {"TIMELOOP_MULTICAST_MODEL", "hops of a multicast are counted by another rule", ""},
    {"TIMELOOP_USE_ISL", "tiles are analysed as polyhedra, with overlaps that boxes do not have", ""},
    {"TIMELOOP_RUN_LAST_ITERATION", "the step after a loop is seen from its last iteration", ""},
    {"TIMELOOP_DISABLE_TEMPORAL_EXTRAPOLATION", "every iteration is walked", ""},
    {"TIMELOOP_DISABLE_SPATIAL_EXTRAPOLATION", "every instance is walked", ""},
    {"TIMELOOP_DISABLE_FIRST_ELEMENT_ONLY_SPATIAL_EXTRAPOLATION", "instances are walked otherwise", ""},
    {"TIMELOOP_ENABLE_RUBY_CYCLE_COUNT", "", ""},
    {"TIMELOOP_ENABLE_TRACING", "", ""},
    {"TIMELOOP_DUMP_ISL_IR", "", ""},
    {"TIMELOOP_LOG_ISL_IR", "", ""},
    {"TIMELOOP_HIDE_INCONSEQUENTIAL_STATS", "", ""},
    {"TIMELOOP_OUTPUT_STAT_DEFAULT_FLOAT", "", ""},
    {"TIMELOOP_OUTPUT_STAT_SCIENTIFIC", "", ""},
    {"TIMELOOP_PRINT_NEST_ANALYSIS_RESULT", "", ""},
    {"TIMELOOP_DIR", "", ""},
    {"TIMELOOP_PROBLEM_SHAPE_DIR", "", ""},
    {"TIMELOOP_PROBLEM_SHAPE_DIRS", "", ""},
});

}  // namespace

void warn_of_environment(const yaml::Node& globals, base::Diagnostics& found) {
  const yaml::Node* variables = globals.is_map() ? globals.find("environment_variables") : nullptr;
  if (!variables || !variables->is_map()) return;
  for (const yaml::Node::Entry& entry : variables->entries) {
    if (!entry.key.starts_with("TIMELOOP_")) continue;
    const auto known = std::find_if(kVariables.begin(), kVariables.end(),
                                    [&](const Variable& variable) { return variable.name == entry.key; });
    if (known == kVariables.end()) {
      std::vector<std::string> names;
      for (const Variable& variable : kVariables) names.emplace_back(variable.name);
      suggest(found.warning("O1951", fmt::format("the variable `{}` is not known and does nothing here", entry.key),
                            entry.key_where),
              entry.key, names, "Timeloop's variables");
      continue;
    }
    if (known->effect.empty() || !entry.value.is_scalar() || (entry.value.scalar == "0") != known->when_off) continue;
    base::Diagnostic& warning = found.warning(
        "O1951",
        fmt::format("`{}: {}` does nothing here: in Timeloop, {}", entry.key, entry.value.scalar, known->effect),
        entry.key_where);
    if (!known->way_out.empty()) warning.hint(std::string(known->way_out));
  }
}

}  // namespace orrery::formats::timeloop
