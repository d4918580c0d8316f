#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/number_text.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/accelerator/array_options.h"
#include "orrery/verbs/accelerator/design/report.h"
#include "orrery/verbs/prune/sparse_verbs.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr double kMostPoints = 10'000;

struct Options {
  DesignRequest request;
  ArrayInputOptions input;
  OutputFolder output;
  std::optional<DesignObjective> objective;
  bool resume = false;
};

// A value given twice is tried once.
template <class Value>
void add(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}
template <class Value>
void default_to(std::vector<Value>& values, Value value) {
  if (values.empty()) values.push_back(value);
}

Count slots_of(const std::string& text) {
  const auto [value, rest] = decimal(text);
  if (rest.empty() && value >= 1 && value <= 65536 && value == static_cast<double>(static_cast<Count>(value)))
    return static_cast<Count>(value);
  misuse("O1102", fmt::format("`--block-slots {}` is no number of blocks", text),
         "give a whole number from 1 to 65536");
}

void declare_choices(CommandLine& line, Options& options) {
  DesignChoices& c = options.request.choices;
  line.group("Choices: each is repeatable, or a list with commas");
  line.meant_each("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64", true,
                  [&](const std::string& text) { add(c.arrays, verbs::pack_array(text)); });
  line.meant_each("--bits", "N", "Of codes: 2, 4 (default), 6, 8", true,
                  [&](const std::string& text) { add(c.bits, code_bits_of(text)); });
  line.meant_each("--packing", "NAME", "pack (default): in the machine; orrery: blocks packed before", true,
                  [&](const std::string& text) { add(c.packings, array_packing_of(text)); });
  line.offer("--packing", {"pack", "orrery"});
  line.meant_each("--block-slots", "N", "Packed blocks that wait; default 16", true,
                  [&](const std::string& text) { add(c.block_slots, slots_of(text)); });
  line.meant_each("--bandwidth", "B", "Of DRAM, in GB/s where no unit is given; default 128GB/s; unlimited", true,
                  [&](const std::string& text) { add(c.bandwidths, bandwidth_of(text)); });
  line.meant_each("--frequency", "F", "Of the clock, in GHz where no unit is given; default 1GHz", true,
                  [&](const std::string& text) { add(c.frequencies, frequency_of(text)); });
  line.group("Choice");
  line.choice("--objective", options.objective, verbs::design_objectives(),
              "Of the best: time, energy, energy-delay (default), area-delay");
  line.meant("--most-error", "SHARE", "That the best may have, against dense attention; default: any",
             [&](const std::string& text) {
               const auto [value, rest] = decimal(text);
               if (!rest.empty() || !(value > 0 && value <= 1))
                 misuse("O1102", fmt::format("`--most-error {}` must be above 0 and at most 1", text),
                        "give a share such as 0.05");
               options.request.most_error = value;
             });
}

void settle(Options& options) {
  DesignRequest& request = options.request;
  DesignChoices& c = request.choices;
  if (!c.bits.empty()) request.input.bits = c.bits.front();  // as if one were given
  settle(options.input, request.input);
  default_to(c.arrays, masks::PackArray{});
  default_to(c.packings, std::string("pack"));
  check_effort(request.effort, c.packings);
  default_to(c.block_slots, Count{16});
  default_to(c.bandwidths, 128e9);
  default_to(c.frequencies, 1e9);
  request.objective = options.objective.value_or(request.objective);
  if (c.points() > kMostPoints)
    misuse("O1103", fmt::format("{:.0f} points are more than {:.0f}", c.points(), kMostPoints), "give fewer choices");
  if (request.most_error && request.input.texts.checkpoint.empty() && request.input.arrays.query.empty())
    misuse("O1103", "`--most-error` means nothing to masks alone, which have no numbers",
           "give `--q FILE --k FILE --v FILE`, or leave it out");
  if (!options.resume) return;
  if (options.output.directory.empty())
    misuse("O1103", "`--resume` goes on in the folder of `-o`",
           "give `-o DIR`, the folder of the run that was stopped");
  const std::string csv = options.output.directory + "/design.csv";
  std::error_code failed;
  if (std::filesystem::exists(csv, failed)) request.resume = csv;
  options.output.force = true;
}

}  // namespace

int run_sparse_design(const Arguments& arguments, Console& console) {
  Options options;
  DesignRequest& request = options.request;
  CommandLine line("sparse design",
                   "Accelerators of many proportions on the same masks or attentions: time, energy, area and error of "
                   "each, which are worth it, and the best",
                   "orrery sparse design masks/ --array 64x16x64,128x8x64 --packing pack,orrery --bandwidth "
                   "64GB/s,128GB/s --objective energy-delay");
  declare_array_input(line, request.input, options.input);
  declare_choices(line, options);
  line.group("The same for all");
  declare_machine(line, request.choice, request.effort);
  line.group("Run");
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop then and keep what is done");
  line.memory(request.limits.memory);
  declare(line, options.output, "Write design.csv and result.json there");
  line.toggle("--resume", options.resume, "Take the points that the folder of -o has, and go on");
  if (!line.read(arguments, console)) return kDone;
  settle(options);
  const base::Stopwatch clock;
  check_folder(options.output.directory, options.output.force, {"design.csv", "result.json"});
  const InterruptGuard interrupt;
  request.limits.stop = interrupt.flag();
  SparseDesign answer;
  {
    ProgressLine progress(console);
    request.progress = [&](std::size_t done, std::size_t all) {
      if (progress.wanted()) progress.show(fmt::format("{} of {} points", done, all));
    };
    answer = verbs::design_sparse(request);
  }
  report(console, answer.warnings.all());
  const std::string json = verbs::sparse_design_json({kVersion, &answer, clock.seconds()});
  if (!options.output.directory.empty())
    write_files(options.output.directory, {{"design.csv", verbs::design_csv(answer)}, {"result.json", json}});
  console.out << (console.json ? json : verbs::sparse_design_table(answer));
  return answer.interrupted ? kInterrupted : answer.out_of_time ? kLimit : kDone;
}

}  // namespace orrery::verbs
