#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/break_even/report.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr Count kMostTokens = 16384, kMostHeads = 1024, kMostTurns = 1000;

template <class Value>
Value number_of(const std::string& option, const std::string& text, Value least, Value most, const std::string& what) {
  if (const auto value = base::parse_number<Value>(text, least, most)) return *value;
  misuse("O1102", fmt::format("`{} {}` must be {}", option, text, what), "give " + what);
}

// Adds what is not there yet: a value given twice is measured once.
template <class Value>
void add(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

std::vector<std::string> structure_names() {
  std::vector<std::string> names;
  for (const SparseStructure one : BreakEvenRequest().structures) names.push_back(name_of(one));
  return names;
}

SparseStructure structure_named(const std::string& text) {
  for (const SparseStructure one : BreakEvenRequest().structures)
    if (name_of(one) == text) return one;
  misuse(
      "O1102", fmt::format("`--structures {}` is none", text),
      base::did_you_mean(text, structure_names(), fmt::format("there are {}", base::joined(structure_names(), ", "))));
}

struct Given {
  std::vector<Count> lengths;
  std::vector<double> densities;
  std::vector<SparseStructure> structures;
  std::optional<Count> heads, size, batch, turns;
  std::optional<kernels::Type> type;
};

void declare_questions(CommandLine& line, Given& given, std::string& pytorch) {
  line.group("What is measured: lists with commas");
  line.meant_each("--lengths", "N,N", "Lengths of the sequences, in tokens; default 128,256,512,1024,2048", true,
                  [&](const std::string& text) {
                    add(given.lengths,
                        number_of<Count>("--lengths", text, 1, kMostTokens, fmt::format("1 to {}", kMostTokens)));
                  });
  line.meant_each("--densities", "SHARE,SHARE", "Shares of the pairs that are kept; default 0.05,0.12,0.25,0.5", true,
                  [&](const std::string& text) {
                    add(given.densities, number_of<double>("--densities", text, 1e-4, 1, "a share from 0.0001 to 1"));
                  });
  line.meant_each("--structures", "NAME,NAME", "element, block16, block32, block64, window; default all", true,
                  [&](const std::string& text) { add(given.structures, structure_named(text)); });
  line.offer("--structures", structure_names());
  line.count("--heads", given.heads, "Heads of each sequence; default 12", kMostHeads);
  line.count("--size", given.size, "Elements of a head; default 64", 512);
  line.count("--batch", given.batch, "Sequences of a batch; default 1", 1024);
  line.choice<kernels::Type>("--dtype", given.type, {{"fp32", kernels::Type::kF32}, {"bf16", kernels::Type::kBf16}},
                             "Number format of queries, keys and values: fp32 (default) or bf16");
  line.text("--pytorch", pytorch, "PYTHON",
            "Python interpreter with PyTorch, whose dense attention is measured as well");
  line.count("--turns", given.turns, "Paired runs of dense and pruned attention; default 5", kMostTurns);
}

void settle(const Given& given, BreakEvenRequest& request) {
  if (!given.lengths.empty()) request.lengths = given.lengths;
  if (!given.densities.empty()) request.densities = given.densities;
  if (!given.structures.empty()) request.structures = given.structures;
  request.heads = given.heads.value_or(request.heads);
  request.size = given.size.value_or(request.size);
  request.batch = given.batch.value_or(request.batch);
  request.turns = given.turns.value_or(request.turns);
  request.type = given.type.value_or(request.type);
  const Count longest = *std::max_element(request.lengths.begin(), request.lengths.end());
  const double bits = static_cast<double>(request.batch * request.heads) * static_cast<double>(longest * longest);
  if (bits > static_cast<double>(masks::kMostMaskBits))
    misuse("O1102",
           fmt::format("a mask of {} x {} heads and {} tokens has {:.3g} bits, more than {}", request.batch,
                       request.heads, longest, bits, masks::kMostMaskBits),
           "give fewer heads, or shorter sequences");
}

}  // namespace

int run_sparse_break_even(const Arguments& arguments, Console& console) {
  BreakEvenRequest request;
  Given given;
  std::string picture;
  CommandLine line("sparse break-even",
                   "From which length and density on attention that predicts and prunes is faster than dense attention "
                   "on this machine",
                   "orrery sparse break-even --lengths 512,2048 --densities 0.05,0.12,0.25 -o where.svg");
  declare_questions(line, given, request.pytorch);
  line.group("Run");
  declare_search(line, request.limits, "Threads; default: one for each core",
                 "Seconds; the run stops then and keeps what is done", true);
  line.output_file("-o,--output", picture, "FILE.svg",
                   "Draw there at which lengths and densities pruned attention pays");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  settle(given, request);
  return run_verb<BreakEven>(console,
                             {.answer =
                                  [&](Run& run) {
                                    request.limits.stop = run.stop();
                                    request.progress = [&](std::size_t done, std::size_t all) {
                                      run.show("{} of {} points", done, all);
                                    };
                                    return break_even(request);
                                  },
                              .document = break_even_document,
                              .table = break_even_table,
                              .files = {{picture, break_even_svg}},
                              .outcome = [](const BreakEven& answer, const Run&) -> Outcome {
                                return {answer.interrupted ? kInterrupted : answer.out_of_time ? kLimit : kDone};
                              }});
}

}  // namespace orrery::verbs
