#include "orrery/verbs/train/plan_options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/number_text.h"

namespace orrery::verbs {
namespace {

using base::Count;
using cluster::Metric;

constexpr Count kMostSize = cluster::kMostInPlan;
constexpr std::size_t kMostBatches = 1000;

std::optional<Count> whole(const std::string& text) {
  return base::parse_number<Count>(text, 1, kMostSize);
}

Count size_of(const std::string& option, const std::string& text) {
  if (const std::optional<Count> value = whole(text)) return *value;
  misuse("O1102", fmt::format("{}: `{}` is not a whole number from 1 to {}", option, text, kMostSize),
         fmt::format("write `{} 64`, or a range as `64..4096`", option));
}

struct Range {
  Count least = 1, most = 1;
};

// "64..4096"; nothing where there are no dots.
std::optional<Range> range_of(const std::string& option, const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  const Range range{size_of(option, text.substr(0, dots)), size_of(option, text.substr(dots + 2))};
  if (range.least > range.most)
    misuse("O1102", fmt::format("`{} {}` ends before it begins", option, text),
           fmt::format("write `{} {}..{}`", option, range.most, range.least));
  return range;
}

void choose_gpus(const std::string& text, TrainRequest& request) {
  if (const std::optional<Range> range = range_of("--gpus", text)) {
    request.gpus = range->least;
    request.plans.most_gpus = range->most;
    return;
  }
  request.gpus = size_of("--gpus", text);
}

// A range doubles from its least, or steps by what follows a colon.
std::vector<Count> batches_of(const std::string& text) {
  const std::string option = "--global-batch";
  const std::size_t colon = std::min(text.find(':'), text.size());
  if (const std::optional<Range> range = range_of(option, text.substr(0, colon))) {
    const Count step = colon < text.size() ? size_of(option, text.substr(colon + 1)) : 0;
    std::vector<Count> batches;
    for (Count batch = range->least; batch <= range->most; batch += step > 0 ? step : batch) {
      batches.push_back(batch);
      if (batches.size() > kMostBatches)
        misuse("O1102", fmt::format("`{} {}` means more than {} batches", option, text, kMostBatches),
               "take a larger step");
    }
    if (batches.size() == 1 && range->most > range->least)
      misuse("O1102", fmt::format("`{} {}` doubles from {}, and so means that alone", option, text, range->least),
             fmt::format("give a step, such as `{}..{}:1`, or a list", range->least, range->most));
    return batches;
  }
  std::vector<Count> batches;
  for (const std::string_view batch : base::split(text, ',')) batches.push_back(size_of(option, std::string(batch)));
  return batches;
}

void choose_batches(const std::string& text, TrainRequest& request) {
  const std::vector<Count> batches = batches_of(text);
  request.global_batch = batches.front();
  if (batches.size() > 1) request.plans.batches = batches;
}

const std::vector<std::pair<std::string, Metric>> kMetrics = {
    {"time", Metric::kTime},     {"cost", Metric::kCost},       {"energy", Metric::kEnergy},
    {"memory", Metric::kMemory}, {"goodput", Metric::kGoodput}, {"accelerators", Metric::kAccelerators}};

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const auto& [name, metric] : kMetrics) names.push_back(name);
  return names;
}

void add_metric(const std::string& name, PlanQuestion& question) {
  for (const auto& [known, metric] : kMetrics) {
    if (known != name) continue;
    if (std::find(question.objective.begin(), question.objective.end(), metric) != question.objective.end())
      misuse("O1102", fmt::format("`{}` is given twice", name), "give each objective once");
    question.objective.push_back(metric);
    return;
  }
  misuse("O1102", fmt::format("`{}` is not an objective", name),
         base::did_you_mean(name, metric_names(),
                            fmt::format("objectives are {}; several are compared in the order given",
                                        base::joined(metric_names(), ", "))));
}

double positive(const std::string& option, const std::string& text, const std::string& what) {
  const auto [value, rest] = decimal(text);
  if (!rest.empty() || !std::isfinite(value) || value <= 0)
    misuse("O1102", fmt::format("{}: `{}` is not {} above 0", option, text, what),
           fmt::format("write `{} 100`", option));
  return value;
}

// "5%", "0.05" or "4GiB"; 0 for none.
void choose_margin(const std::string& text, PlanQuestion& question) {
  const auto [number, rest] = decimal(text);
  const double share = rest == "%" ? number / 100 : number;
  if ((rest == "%" || rest.empty()) && share >= 0 && share < 1) {
    question.margin = {share, 0};
    return;
  }
  const double bytes = rest == "%" ? 0 : static_cast<double>(amount_of_memory(text));
  if (bytes == 0)
    misuse("O1102", fmt::format("`--memory-margin {}` is neither a share nor an amount of memory", text),
           "write `--memory-margin 5%`, `0.05` or `4GiB`");
  question.margin = {0, bytes};
}

}  // namespace

void declare_sizes(CommandLine& line, TrainRequest& request) {
  line.meant("--gpus", "N|N..M",
             "Accelerators that there are; a plan may leave some idle. A range: as many as are best. Default: the "
             "product of the degrees, or the fewest that hold the model",
             [&request](const std::string& text) { choose_gpus(text, request); });
  line.meant("--global-batch", "N|N,M|N..M",
             "Sequences per iteration; several, or a range that doubles (or steps: 256..2048:64), are compared by the "
             "sequence",
             [&request](const std::string& text) { choose_batches(text, request); });
}

void declare_plan_question(CommandLine& line, PlanQuestion& question) {
  line.group("Best plan");
  line.meant_each("--objective", "NAME[,NAME]",
                  "Objective: time (default), cost, energy, memory, goodput (useful work in the least time), "
                  "accelerators; or several to compare in turn",
                  true, [&question](const std::string& name) { add_metric(name, question); });
  line.offer("--objective", metric_names());
  line.meant_each("--pareto", "NAME,NAME[,NAME]", "All plans that no other one beats in these, side by side", true,
                  [&question](const std::string& name) {
                    if (!question.front && !question.objective.empty())
                      misuse("O1103", "`--objective` and `--pareto` exclude each other", "leave one of the two out");
                    question.front = true;
                    add_metric(name, question);
                  });
  line.offer("--pareto", metric_names());
  line.count("--top", question.top, "Number of best plans to print; default 5", 1000);
  line.meant("--max-memory", "SIZE", "Most memory of an accelerator to use, such as 64GiB; default: all it has",
             [&question](const std::string& text) {
               const std::size_t bytes = amount_of_memory(text);
               if (bytes == 0)
                 misuse("O1102", fmt::format("`--max-memory {}` is not an amount of memory from 1M on", text),
                        "write `--max-memory 64GiB`, or GB for powers of ten");
               question.most_memory = static_cast<double>(bytes);
             });
  line.meant("--memory-margin", "SHARE|SIZE",
             "Memory of an accelerator that the best plan leaves free, such as 5%, 0.05 or 4GiB; default: 10%, if any "
             "plan does",
             [&question](const std::string& text) { choose_margin(text, question); });
  line.meant("--space", "usual|all",
             "Plans that are searched: as recipes are (default), or all that the software runs, offloading too",
             [&question](const std::string& text) {
               if (text != "usual" && text != "all")
                 misuse("O1102", fmt::format("`--space {}` names no space of plans", text),
                        "write `--space usual` or `--space all`");
               question.scope = text == "all" ? PlanScope::kAll : PlanScope::kUsual;
             });
  line.offer("--space", {"usual", "all"});
  line.meant("--max-cost", "USD",
             "Most US dollars of an iteration; with --tokens of the whole training, with several batches of a sequence",
             [&question](const std::string& text) {
               question.most_dollars = positive("--max-cost", text, "a number of dollars");
             });
  line.meant("--max-time", "S",
             "Most seconds of an iteration; with --tokens of the whole training, with several batches of a sequence",
             [&question](const std::string& text) {
               question.most_seconds = positive("--max-time", text, "a number of seconds");
             });
  line.meant("--mtbf", "HOURS", "Hours between two failures of one accelerator, for goodput",
             [&question](const std::string& text) {
               question.reliability.mtbf_s = 3600 * positive("--mtbf", text, "a number of hours");
             });
  line.seconds("--checkpoint-time", question.reliability.checkpoint_s,
               "Seconds to write a checkpoint, for goodput; default 0");
  line.seconds("--restart-time", question.reliability.restart_s,
               "Seconds from a failure to the next step, for goodput; default 0");
  line.text("--why", question.why, "CHOICE",
            "Force a choice, such as tp=4 or recompute=full,zero=3, and say what it costs");
  line.toggle("--certify", question.certify, "Evaluate every plan, without bounds");
  line.toggle("--map", question.map, "Also list the best plan of every tp x pp");
}

}  // namespace orrery::verbs
