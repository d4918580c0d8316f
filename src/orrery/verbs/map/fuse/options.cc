#include "orrery/verbs/map/fuse/options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/cli/shared_options.h"
#include "orrery/verbs/map/fuse/json.h"
#include "orrery/verbs/map/fuse/native_block.h"
#include "orrery/verbs/map/fuse/run.h"
#include "orrery/verbs/map/fuse/table.h"
#include "orrery/verbs/map/fuse/tree_picture.h"
#include "orrery/verbs/map/infeasible_text.h"

namespace orrery::verbs {
namespace {

constexpr std::string_view kBlockCompat = "accelforge";

struct BlockOptions : OutputFolder {
  BlockRequest request;
  bool fuse = false, apart = false;
  std::string svg;  // picture of the tree; empty: none
};

Softmax softmax(const std::string& name) {
  static const std::vector<std::string> names = {"auto", "multipass", "online", "elementwise"};
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    misuse("O1102", fmt::format("`{}` is no way to compute a softmax", name),
           base::did_you_mean(name, names, fmt::format("ways are {}", fmt::join(names, ", "))));
  return static_cast<Softmax>(at - names.begin());
}

fused::Goal goal(const std::string& name) {
  static const std::vector<std::string> names = {"edp", "energy", "delay"};
  if (name == names[0]) return fused::Goal::kEdp;
  if (name == names[1]) return fused::Goal::kEnergy;
  if (name == names[2]) return fused::Goal::kDelay;
  misuse("O1102", fmt::format("`{}` is not an objective", name),
         base::did_you_mean(name, names, fmt::format("objectives are {}", fmt::join(names, ", "))));
}

int fused_loops(const std::string& text) {
  if (text == "unlimited") return -1;
  const auto number = base::parse_number<int>(text, 0, fused::kMostFusedLoops);
  if (!number)
    misuse("O1102", fmt::format("`--fused-loops {}` is no number of loops", text),
           fmt::format("write a whole number from 0 to {}, the most that an einsum may share, or `--fused-loops "
                       "unlimited`",
                       fused::kMostFusedLoops));
  return *number;
}

// A block of a model, in place of files.
void declare_model(CommandLine& line, BlockRequest& request) {
  MapRequest& native = request.native;
  line.text("--model", native.model, "NAME|FILE", "Model from the catalogue, or its config.json");
  declare_chips(line, native);
  declare_ignored(line, native.ignored);
  declare_like(line, native.like);
  line.count("--seq", native.sequence, "Tokens in a sequence, of --phase decode those in the cache; as of `map`");
  line.count("--cache", native.cached, "Tokens in the cache of --phase, the new ones included; default: as --seq");
  line.count("--batch", native.batch, "Sequences at a time; default 1");
  line.meant("--phase", "NAME", "Phase of a model: prefill (default), decode, verify",
             [&native](const std::string& name) {
               static const std::vector<std::string> names = {"prefill", "decode", "verify"};
               if (std::find(names.begin(), names.end(), name) == names.end())
                 misuse("O1102", fmt::format("`{}` is no phase of a model", name),
                        base::did_you_mean(name, names, fmt::format("phases are {}", fmt::join(names, ", "))));
               native.phase = name;
             });
  line.offer("--phase", {"prefill", "decode", "verify"});
  line.meant("--softmax", "NAME",
             "auto (default: the better of both), multipass (over whole columns), online (over parts of them), "
             "elementwise (one sweep that needs no sums)",
             [&request](const std::string& name) { request.softmax = softmax(name); });
  line.offer("--softmax", {"auto", "multipass", "online", "elementwise"});
  line.toggle("--overlap", request.overlap, "Tiles of operators that are fused may run side by side");
  line.texts("--hand-on", request.handed_on, "TENSOR=STORAGE",
             "Where a tensor has to be handed on: KTQ=HBM (repeatable)");
  line.text("--weights-stay", request.weights_stay, "STORAGE",
            "Weights of all blocks that have room there stay from run to run, and are not read again");
  line.text("--why", request.why, "TENSOR=STORAGE", "What becomes of the best with a tensor handed on elsewhere");
  line.text("--tree", request.tree, "FILE", "Price this tree, of result.json, in place of a search");
  line.count("--draft", native.drafted, "Tokens to verify at a time; default 4");
  line.settings(native.overrides, "Of a model: replace or add a value of its chips' documents (repeatable)");
}

// Throws Misuse O2111 for what goes with the other kind of block.
void demand_one_kind(const BlockOptions& options, bool compat) {
  const BlockRequest& request = options.request;
  const MapRequest& native = request.native;
  const std::pair<bool, const char*> of_a_model[] = {{!native.model.empty(), "--model"},
                                                     {!native.chips.empty(), "--chip"},
                                                     {!native.overrides.empty(), "--set"},
                                                     {native.sequence.has_value(), "--seq"},
                                                     {native.cached.has_value(), "--cache"},
                                                     {native.batch.has_value(), "--batch"},
                                                     {!native.phase.empty(), "--phase"},
                                                     {native.drafted.has_value(), "--draft"},
                                                     {!native.ignored.empty(), "--ignore"},
                                                     {!native.like.empty(), "--like"},
                                                     {request.softmax != Softmax::kAuto, "--softmax"},
                                                     {request.overlap, "--overlap"},
                                                     {!request.weights_stay.empty(), "--weights-stay"}};
  const std::pair<bool, const char*> of_files[] = {{!request.files.empty(), "a file"},
                                                   {!request.templates.defined.empty(), "--define"},
                                                   {!request.templates.folders.empty(), "--include"}};
  const auto refuse = [&](const auto& wrong) {
    for (const auto& [given, beside] : wrong)
      if (given)
        misuse("O2111",
               fmt::format("{} does not go with {}", beside, compat ? "AccelForge's files" : "a model's block"),
               compat ? "describe the block in the files, or leave `--compat accelforge` out and name a chip"
                      : "leave it out, or give AccelForge's files: `--compat accelforge ARCH.yaml WORKLOAD.yaml`");
  };
  compat ? refuse(of_a_model) : refuse(of_files);
  if (!request.tree.empty() &&
      (options.apart || !request.handed_on.empty() || !request.why.empty() || request.search.front || request.overlap))
    misuse("O2111", "`--tree` is one tree: nothing is chosen, and nothing compared",
           "leave `--no-fuse`, `--hand-on`, `--why`, `--overlap` and `--pareto` out, or have the block searched");
  if (request.overlap && options.apart)
    misuse("O2111", "only operators that are fused run side by side", "leave `--overlap` or `--no-fuse` out");
  if (request.softmax == Softmax::kOnline && (options.apart || request.search.fused_loops == 0))
    misuse("O2111", "an online softmax shares its loops over queries and keys with both products",
           "leave `--no-fuse` and `--fused-loops 0` out, or take `--softmax multipass`");
}

void demand_storage(const char* option, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    misuse("O1102", fmt::format("`{} {}` names no tensor and storage", option, text),
           fmt::format("write `{} TENSOR=STORAGE`", option));
}

bool read(const Arguments& arguments, Console& console, BlockOptions& options) {
  CommandLine line("map --fuse", "The best loop tree of a whole block of einsums on a chip, with proof",
                   "orrery map --fuse --model bert-large --chip tpu-v4i");
  BlockRequest& request = options.request;
  line.words("FILES", request.files, "With --compat accelforge: its architecture and workload (YAML, with Jinja)");
  line.group("Question");
  line.toggle("--fuse", options.fuse, "Map all einsums together");
  declare_model(line, request);
  std::string compat;
  line.meant("--compat", "NAME", "accelforge: read its files, and count as it does", [](const std::string& name) {
    if (name != kBlockCompat)
      misuse("O2111", fmt::format("`--compat {}` has no meaning for whole blocks", name),
             "write `--compat accelforge`, or leave `--fuse` out");
  });
  line.offer("--compat", {std::string(kBlockCompat)});
  line.meant_each("--define", "NAME=VALUE", "A name that templates know (repeatable)", false,
                  [&request](const std::string& text) {
                    const std::size_t equals = text.find('=');
                    if (equals == std::string::npos || equals == 0)
                      misuse("O1102", fmt::format("`--define {}` lacks a `=`", text), "write `--define N_TOKENS=512`");
                    request.templates.defined.push_back({text.substr(0, equals), text.substr(equals + 1)});
                  });
  line.texts("--include", request.templates.folders, "DIR",
             "Folder in which templates may look for files, besides their own (repeatable)");
  line.meant("--objective", "NAME", "edp (default), energy or delay",
             [&request](const std::string& name) { request.search.goal = goal(name); });
  line.offer("--objective", {"edp", "energy", "delay"});
  line.meant("--pareto", "NAME,NAME", "energy,delay: all trees that no other one beats in both",
             [&request](const std::string& text) {
               if (text != "energy,delay" && text != "delay,energy")
                 misuse("O1102", fmt::format("`--pareto {}` names no trade-off that Orrery lists", text),
                        "write `--pareto energy,delay`");
               request.search.front = true;
             });
  line.offer("--pareto", {"energy,delay"});
  line.meant("--fused-loops", "K|unlimited",
             "Most loops that einsums share, unlimited: 6; default 2. Of a model: 0, or the one over columns",
             [&request](const std::string& text) { request.search.fused_loops = fused_loops(text); });
  line.toggle("--no-fuse", options.apart, "Hand every tensor on in the outermost storage, to compare");
  line.group("Search");
  declare_search(line, request.search.limits, "Threads; they change the time only",
                 "Seconds; the best so far is printed with its gap");
  line.memory(request.search.limits.memory);
  declare(line, options, "Write result.json there");
  line.output_file("--svg", options.svg, "FILE", "Draw the loop tree there");
  line.pictures();
  if (!line.read(arguments, console)) return false;
  for (const std::string& text : request.handed_on) demand_storage("--hand-on", text);
  if (!request.why.empty()) demand_storage("--why", request.why);
  request.search.fuse = !options.apart;
  request.search.limits.threads = std::max(1, request.search.limits.threads);
  return true;
}

bool is_compat(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == fmt::format("--compat={}", kBlockCompat) ||
        (arguments[i] == "--compat" && i + 1 < arguments.size() && arguments[i + 1] == kBlockCompat))
      return true;
  return false;
}

bool is_bare_fuse(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "--fuse" && (i + 1 == arguments.size() || arguments[i + 1].starts_with("-"))) return true;
  return false;
}

Outcome outcome_of_block(const BlockAnswer& answer, const Run& run) {
  if (answer.best) return {answer.ended_early ? run.cut_short() : kDone};
  base::Diagnostics reasons;
  if (answer.ended_early) {
    reasons.error("O2110", "nothing was found before time or memory was up").hint("raise `--time-limit` or `--memory`");
    return {run.cut_short(), reasons.all()};
  }
  for (const MappedLayer& layer : answer.unmapped) reasons.append({explain_no_mapping(layer)});
  if (!answer.unmapped.empty()) return {kNo, reasons.all()};
  auto& reason = reasons.error("O2110", fmt::format("nothing is allowed: {}", answer.infeasible));
  for (const std::string& capacity : answer.capacities) reason.note(capacity);
  reason.hint(answer.native ? "a larger memory (`--set`) or another place (`--hand-on`) makes room"
                            : "a larger memory, or `keep` and `may_keep` that hold less, makes room");
  return {kNo, reasons.all()};
}

}  // namespace

bool asks_for_blocks(const Arguments& arguments) {
  return is_compat(arguments) || is_bare_fuse(arguments);
}

BlockRequest block_request(const Arguments& arguments) {
  BlockOptions options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  if (is_compat(arguments))
    misuse("O2059", "a study fuses blocks of models: figures of AccelForge's files are in units of their own",
           "name a model and a chip, or run `orrery map --fuse --compat accelforge` for each point");
  demand_one_kind(options, false);
  const BlockRequest& request = options.request;
  for (const auto& [given, option] : {std::pair{request.search.front, "--pareto"},
                                      {!request.why.empty(), "--why"},
                                      {!request.tree.empty(), "--tree"}})
    if (given)
      misuse("O2059", fmt::format("a sweep asks for the best block, `{}` for something else", option),
             "leave it out, and ask it of the points that matter: `-o DIR` writes their commands");
  return request;
}

int run_map_fuse(const Arguments& arguments, Console& console) {
  BlockOptions options;
  if (!read(arguments, console, options)) return kDone;
  const bool compat = is_compat(arguments);
  if (!compat && options.request.native.model.empty())
    misuse("O2111", "`--fuse` has neither a model nor AccelForge's files",
           "write `orrery map --fuse --model NAME --chip NAME`, `orrery map --fuse --compat accelforge ARCH.yaml "
           "WORKLOAD.yaml`, or `--fuse auto` to fuse each GEMM with its normalisation");
  demand_one_kind(options, compat);
  Steps<BlockAnswer> steps;
  steps.answer = [&](Run& run) {
    options.request.interruptible = run.interruptible();
    return compat ? map_fused_block(options.request) : map_native_block(options.request);
  };
  steps.document = map_fuse_document;
  steps.table = map_fuse_table;
  steps.folder = options;
  steps.names = {"result.json"};
  steps.files = {{options.svg, tree_svg}};
  steps.outcome = outcome_of_block;
  return run_verb(console, steps);
}

}  // namespace orrery::verbs
