#include "orrery/formats/timeloop/documents/mapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Metric;

constexpr base::Count kMostThreads = 4096;

const std::vector<std::string>& mapper_keys() {
  static const std::vector<std::string> kKeys = {"version",
                                                 "optimization_metrics",
                                                 "optimization_metric",
                                                 "num_threads",
                                                 "algorithm",
                                                 "timeout",
                                                 "victory_condition",
                                                 "search_size",
                                                 "sync_interval",
                                                 "log_interval",
                                                 "log_oaves",
                                                 "log_oaves_mappings",
                                                 "log_stats",
                                                 "log_suboptimal",
                                                 "log_all",
                                                 "live_status",
                                                 "diagnostics",
                                                 "diagnostics_only",
                                                 "emit_whoop_nest",
                                                 "filter_revisits",
                                                 "out_prefix",
                                                 "random_seed",
                                                 "max_permutations_per_if_visit",
                                                 "penalize_consecutive_bypass_fails",
                                                 "max_temporal_loops_in_a_mapping"};
  return kKeys;
}

std::optional<Metric> metric_named(const std::string& name) {
  if (name == "edp") return Metric::kEdp;
  if (name == "energy") return Metric::kEnergy;
  if (name == "delay") return Metric::kDelay;
  return std::nullopt;
}

bool is_access_count(const std::string& name) {
  return name == "last_level_accesses" || name == "ordered_accesses" || name.rfind("accesses_", 0) == 0;
}

class ObjectiveReader {
 public:
  explicit ObjectiveReader(base::Diagnostics& found) : found_(found) {}

  void read(const yaml::Node& node) {
    if (node.is_null()) return;
    if (node.is_scalar()) {
      add(node);
    } else if (node.is_sequence()) {
      for (const yaml::Node& item : node.items) {
        if (item.is_scalar())
          add(item);
        else
          bad(item);
      }
    } else {
      bad(node);
    }
  }

  std::vector<Metric> objective;

 private:
  void bad(const yaml::Node& node) {
    found_.error("O0800", "`optimization_metrics` must be a list of names", node.where)
        .hint("write `optimization_metrics: [edp, delay, energy]`");
  }

  void add(const yaml::Node& node) {
    const std::string name = plain_key(node.scalar);
    if (const auto metric = metric_named(name)) {
      if (std::find(objective.begin(), objective.end(), *metric) == objective.end()) objective.push_back(*metric);
      return;
    }
    static const std::vector<std::string> kMetrics = {"edp", "energy", "delay"};
    if (is_access_count(name)) {
      // As a tie-break it decides among equals only; as the first metric it is the question itself.
      const std::string message = fmt::format("the metric `{}` is not supported", node.scalar);
      base::Diagnostic& diagnostic = objective.empty()
                                         ? found_.error("O0804", message, node.where)
                                         : found_.warning("O0804", message + "; it is left out", node.where);
      diagnostic.note(fmt::format("supported metrics: {}", quoted_list(kMetrics)));
      if (objective.empty())
        diagnostic.hint(
            "the fewest accesses to one storage are the least energy where nothing else costs any: set its "
            "`vector_access_energy` to 1 and that of every other storage to 0, and minimise `energy`");
      return;
    }
    suggest(found_.error("O0801", fmt::format("`{}` is not an optimization metric", node.scalar), node.where), name,
            kMetrics, "supported metrics");
  }

  base::Diagnostics& found_;
};

}  // namespace

MapperOptions read_mapper(const yaml::Node& mapper, const Scope& variables, base::Diagnostics& found) {
  MapperOptions options;
  if (mapper.is_null()) return options;
  if (!mapper.is_map()) {
    found.error("O0800", "`mapper` must be a map", mapper.where);
    return options;
  }
  warn_unknown_keys(mapper, mapper_keys(), "O0802", "`mapper`", found);
  ObjectiveReader objective(found);
  if (const yaml::Node* metrics = mapper.find("optimization_metrics")) objective.read(*metrics);
  if (const yaml::Node* metric = mapper.find("optimization_metric"); metric && objective.objective.empty())
    objective.read(*metric);
  options.objective = objective.objective;
  if (const yaml::Node* threads = mapper.find("num_threads"); threads && !threads->is_null()) {
    const std::optional<base::Count> count = as_count(*threads, variables, "num_threads", found);
    if (count && (*count < 1 || *count > kMostThreads))
      found.error("O0803", fmt::format("`num_threads` must lie between 1 and {}, but is {}", kMostThreads, *count),
                  threads->where);
    else if (count)
      options.threads = static_cast<int>(*count);
  }
  return options;
}

}  // namespace orrery::formats::timeloop
