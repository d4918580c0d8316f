#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/cli/grid_options.h"
#include "orrery/cli/number_text.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/sparse/array_options.h"
#include "orrery/verbs/sparse/design/report.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr double kMostDesigns = 10'000;

struct DesignGiven {
  DesignRequest request;
  ArrayInputOptions input;
  OutputFolder output;
  std::optional<DesignObjective> objective;
  bool resume = false;
};

Count slots_of(const std::string& text) {
  const auto [value, rest] = decimal(text);
  if (rest.empty() && value >= 1 && value <= 65536 && value == static_cast<double>(static_cast<Count>(value)))
    return static_cast<Count>(value);
  misuse("O1102", fmt::format("`--block-slots {}` is not a number of blocks", text),
         "give a whole number from 1 to 65536");
}

void declare_choices(CommandLine& line, DesignGiven& options) {
  DesignChoices& c = options.request.choices;
  line.group("Choices: each is repeatable, or a list with commas");
  line.meant_each("--array", "RxPxW", "Array: PE rows, PEs of a row and column ports; default 64x16x64", true,
                  [&](const std::string& text) { add_choice(c.arrays, verbs::pack_array(text)); });
  line.meant_each("--bits", "N", "Bits of the codes that predict: 2, 4 (default), 6 or 8", true,
                  [&](const std::string& text) { add_choice(c.bits, code_bits_of(text)); });
  line.meant_each("--packing", "NAME",
                  "Where blocks are packed: pack (default): in the machine; orrery: before the run", true,
                  [&](const std::string& text) { add_choice(c.packings, array_packing_of(text)); });
  line.offer("--packing", {"pack", "orrery"});
  line.meant_each("--block-slots", "N", "Packed blocks that the machine's queue holds; default 16", true,
                  [&](const std::string& text) { add_choice(c.block_slots, slots_of(text)); });
  line.meant_each("--bandwidth", "B", "Bandwidth of DRAM, in GB/s if without a unit, or unlimited; default 128GB/s",
                  true, [&](const std::string& text) { add_choice(c.bandwidths, bandwidth_of(text)); });
  line.meant_each("--frequency", "F", "Frequency of the clock, in GHz if without a unit; default 1GHz", true,
                  [&](const std::string& text) { add_choice(c.frequencies, frequency_of(text)); });
  line.group("The best point");
  line.choice("--objective", options.objective, verbs::design_objectives(),
              "What the best point has least of: time, energy, energy-delay (default), area-delay");
  line.meant("--most-error", "SHARE",
             "Largest error against dense attention that the best point may have; default: any",
             [&](const std::string& text) {
               const auto [value, rest] = decimal(text);
               if (!rest.empty() || !(value > 0 && value <= 1))
                 misuse("O1102", fmt::format("`--most-error {}` must be above 0 and at most 1", text),
                        "give a share such as 0.05");
               options.request.most_error = value;
             });
}

void settle_design(DesignGiven& options) {
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
  refuse_more_points(c.points(), kMostDesigns);
  if (request.most_error && request.input.texts.checkpoint.empty() && request.input.arrays.query.empty())
    misuse("O1103", "`--most-error` needs numbers, which masks alone do not have",
           "give `--q FILE --k FILE --v FILE`, or leave it out");
  if (!options.resume) return;
  if (options.output.directory.empty())
    misuse("O1103", "`--resume` needs the folder that it continues",
           "give `-o DIR`, the folder of the run that was stopped");
  const std::string csv = options.output.directory + "/design.csv";
  std::error_code failed;
  if (std::filesystem::exists(csv, failed)) request.resume = csv;
  options.output.force = true;
}

}  // namespace

int run_sparse_design(const Arguments& arguments, Console& console) {
  DesignGiven options;
  DesignRequest& request = options.request;
  CommandLine line(
      "sparse design",
      "Simulate accelerators of many sizes on the same masks or attentions: time, energy, area and error of "
      "each, their Pareto front, and the best",
      "orrery sparse design masks/ --array 64x16x64,128x8x64 --packing pack,orrery --bandwidth "
      "64GB/s,128GB/s --objective energy-delay");
  declare_array_input(line, request.input, options.input);
  declare_choices(line, options);
  line.group("Machine: the same at every point");
  declare_machine(line, request.choice, request.effort);
  line.group("Run");
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop after this time and keep the points that are done");
  line.memory(request.limits.memory);
  declare(line, options.output, "Write design.csv and result.json there");
  line.toggle("--resume", options.resume, "Continue a stopped run: take the points in design.csv of the -o folder");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  settle_design(options);
  return run_grid<DesignRequest, SparseDesign>(console, request, design_sparse, sparse_design_document,
                                               sparse_design_table, options.output, {"design.csv", design_csv});
}

}  // namespace orrery::verbs
