#include "orrery/verbs/sparse/simulate/options.h"

#include <fmt/format.h>

#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/sparse/array_options.h"
#include "orrery/verbs/sparse/simulate/report.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kMostEvents = 1'000'000;  // some 100 MB of trace; Perfetto opens no more with ease

struct SimulateGiven {
  SimulateRequest request;
  ArrayInputOptions input;
  OutputFolder output;
  std::string trace;
};

bool read_simulate(const Arguments& arguments, Console& console, SimulateGiven& options) {
  SimulateRequest& request = options.request;
  CommandLine line(
      "sparse simulate",
      "Pruned attention on an accelerator, cycle by cycle: Sanger's array with all that was not published; "
      "time, utilisation, waits, bytes, energy, area and the error of its fixed-point numbers",
      "orrery sparse simulate --q Q.npy --k K.npy --v V.npy --threshold 0.002 --array 64x16x64");
  declare_array_input(line, request.input, options.input);
  line.meant("--bits", "N", "Bits of the codes of queries and keys: 2, 4 (default), 6, 8",
             [&](const std::string& text) { request.input.bits = code_bits_of(text); });
  line.group("Accelerator");
  accelerator::Instance& instance = request.choice.instance;
  line.meant("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64",
             [&](const std::string& text) { instance.array = verbs::pack_array(text); });
  line.meant("--frequency", "F", "Frequency of the clock, in GHz where no unit is given; default 1GHz",
             [&](const std::string& text) { instance.frequency = frequency_of(text); });
  line.meant("--bandwidth", "B", "Bandwidth of DRAM, in GB/s where no unit is given, or `unlimited`; default 128GB/s",
             [&](const std::string& text) { instance.bandwidth = bandwidth_of(text); });
  line.meant("--packing", "NAME",
             "Where masks are packed: pack on the accelerator (default), orrery before, loaded from DRAM",
             [&](const std::string& text) { request.choice.packing = array_packing_of(text); });
  line.offer("--packing", {"pack", "orrery"});
  line.count("--block-slots", request.choice.block_slots, "Packed blocks that can wait; default 16", 1 << 16);
  declare_machine(line, request.choice, request.effort);
  line.group("Run");
  line.toggle("--cpu", request.cpu, "Also measure attention on this machine");
  declare_search(line, request.limits, "Threads; they change the time only; default: one for each core",
                 "Seconds; the run stops then and keeps the masks or layers that are done");
  line.memory(request.limits.memory);
  line.output_file("--trace", options.trace, "FILE", "Write the timeline of every unit there, for Perfetto");
  declare(line, options.output, "Write result.json there");
  line.pictures();
  return line.read(arguments, console);
}

}  // namespace

SimulateRequest simulate_request(const Arguments& arguments) {
  SimulateGiven options;
  QuietConsole console;
  if (!read_simulate(arguments, console, options)) refuse_help();
  settle(options.input, options.request.input);
  check_effort(options.request.effort, {options.request.choice.packing});
  return options.request;
}

int run_sparse_simulate(const Arguments& arguments, Console& console) {
  SimulateGiven options;
  if (!read_simulate(arguments, console, options)) return kDone;
  SimulateRequest& request = options.request;
  settle(options.input, request.input);
  check_effort(request.effort, {request.choice.packing});
  if (!options.trace.empty()) request.most_events = kMostEvents;
  return run_verb<SparseSimulate>(
      console, {.answer =
                    [&](Run& run) {
                      request.limits.stop = run.stop();
                      request.progress = [&](std::size_t done, std::size_t all) {
                        run.show("{} of {} simulated", done, all);
                      };
                      return simulate_sparse(request);
                    },
                .document = sparse_simulate_document,
                .table = sparse_simulate_table,
                .folder = options.output,
                .names = {"result.json"},
                .files = {{options.trace, array_trace}},
                .outcome = [](const SparseSimulate& answer, const Run& run) -> Outcome {
                  if (answer.cases.empty()) return {run.cut_short(), answer.warnings.all(), true};
                  return {answer.unfinished.empty() && !answer.interrupted ? kDone : run.cut_short()};
                }});
}

}  // namespace orrery::verbs
