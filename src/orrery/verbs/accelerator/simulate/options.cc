#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/accelerator/array_options.h"
#include "orrery/verbs/accelerator/simulate/report.h"
#include "orrery/verbs/prune/sparse_verbs.h"
#include "orrery/verbs/sweep/request_options.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kMostEvents = 1'000'000;  // some 100 MB of trace; Perfetto opens no more with ease

struct Options {
  SimulateRequest request;
  ArrayInputOptions input;
  OutputFolder output;
  std::string trace;
};

bool read(const Arguments& arguments, Console& console, Options& options) {
  SimulateRequest& request = options.request;
  CommandLine line(
      "sparse simulate",
      "Pruned attention on an accelerator, cycle by cycle: Sanger's array with all that was not published; "
      "time, utilisation, waits, bytes, energy, area and the error of its fixed-point numbers",
      "orrery sparse simulate --q Q.npy --k K.npy --v V.npy --threshold 0.002 --array 64x16x64");
  declare_array_input(line, request.input, options.input);
  line.meant("--bits", "N", "Of codes of queries and keys: 2, 4 (default), 6, 8",
             [&](const std::string& text) { request.input.bits = code_bits_of(text); });
  line.group("Accelerator");
  accelerator::Instance& instance = request.choice.instance;
  line.meant("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64",
             [&](const std::string& text) { instance.array = verbs::pack_array(text); });
  line.meant("--frequency", "F", "Of the clock, in GHz where no unit is given; default 1GHz",
             [&](const std::string& text) { instance.frequency = frequency_of(text); });
  line.meant("--bandwidth", "B", "Of DRAM, in GB/s where no unit is given; default 128GB/s; unlimited",
             [&](const std::string& text) { instance.bandwidth = bandwidth_of(text); });
  line.meant("--packing", "NAME", "pack: in the machine (default); orrery: blocks packed before, loaded from DRAM",
             [&](const std::string& text) { request.choice.packing = array_packing_of(text); });
  line.offer("--packing", {"pack", "orrery"});
  line.count("--block-slots", request.choice.block_slots, "Packed blocks that wait; default 16", 1 << 16);
  declare_machine(line, request.choice, request.effort);
  line.group("Run");
  line.toggle("--cpu", request.cpu, "Also measure attention on this machine");
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop then and keep the masks or layers that are done");
  line.memory(request.limits.memory);
  line.text("--trace", options.trace, "FILE", "Write what each unit does when there, for Perfetto");
  declare(line, options.output, "Write result.json there");
  return line.read(arguments, console);
}

}  // namespace

SimulateRequest simulate_request(const Arguments& arguments) {
  Options options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  settle(options.input, options.request.input);
  check_effort(options.request.effort, {options.request.choice.packing});
  return options.request;
}

int run_sparse_simulate(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  SimulateRequest& request = options.request;
  settle(options.input, request.input);
  check_effort(request.effort, {request.choice.packing});
  const base::Stopwatch clock;
  check_folder(options.output.directory, options.output.force, {"result.json"});
  check_file(options.trace);
  if (!options.trace.empty()) request.most_events = kMostEvents;
  const InterruptGuard interrupt;
  request.limits.stop = interrupt.flag();
  SparseSimulate answer;
  {
    ProgressLine progress(console);
    request.progress = [&](std::size_t done, std::size_t all) {
      if (progress.wanted()) progress.show(fmt::format("{} of {} simulated", done, all));
    };
    answer = verbs::simulate_sparse(request);
  }
  const int cut_short = interrupt.flag()->load() ? kInterrupted : kLimit;
  if (answer.cases.empty()) {
    refuse(console, answer.warnings.all());
    return cut_short;
  }
  report(console, answer.warnings.all());
  const std::string json = verbs::sparse_simulate_json({kVersion, &answer, clock.seconds()});
  if (!options.trace.empty()) write_file(options.trace, verbs::array_trace(answer));
  if (!options.output.directory.empty()) write_files(options.output.directory, {{"result.json", json}});
  console.out << (console.json ? json : verbs::sparse_simulate_table(answer));
  return answer.unfinished.empty() && !answer.interrupted ? kDone : cut_short;
}

}  // namespace orrery::verbs
