#include "orrery/verbs/map/options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/inputs/checkout.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/fuse/options.h"
#include "orrery/verbs/map/map_fused.h"
#include "orrery/verbs/map/results_output.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {
namespace {

constexpr double kFusionSeconds = 60;

struct Options : OutputFolder {
  MapRequest request;
  bool choose_fusion = false;  // --fuse auto
};

base::Count bound(std::string_view text) {
  return std::max<base::Count>(base::parse_number<base::Count>(text).value_or(0), 0);
}

Gemm gemm(const std::string& text) {
  std::vector<base::Count> bounds;
  for (const std::string_view size : base::split(text, ',')) bounds.push_back(bound(size));
  if (bounds.size() != 3 || std::count(bounds.begin(), bounds.end(), 0) > 0)
    misuse("O1117", fmt::format("`--gemm {}` gives no three sizes", text),
           "write `--gemm M,K,N` with whole numbers from 1 on: M x K weights times K x N inputs");
  return {bounds[0], bounds[1], bounds[2]};
}

nest::Metric metric(const std::string& name) {
  static const std::vector<std::string> names = {"edp", "energy", "delay"};
  if (name == names[0]) return nest::Metric::kEdp;
  if (name == names[1]) return nest::Metric::kEnergy;
  if (name == names[2]) return nest::Metric::kDelay;
  misuse("O1102", fmt::format("`{}` is not an objective", name),
         base::did_you_mean(
             name, names,
             fmt::format("objectives are {}; several are compared in the order given", base::joined(names, ", "))));
}

// The short forms of the seed's scripts, of several letters each.
Arguments with_long_names(Arguments arguments) {
  for (std::string& one : arguments)
    for (const auto& [brief, whole] : {std::pair{"-nef", "--no-e-fusion"}, std::pair{"-lf", "--l-fusion"},
                                       std::pair{"-pwim", "--pay-writeback-in-matmul"}})
      if (one == brief) one = whole;
  return arguments;
}

Pad pad(const std::string& text) {
  const std::size_t equals = text.find('=');
  const base::Count size = equals == std::string::npos ? 0 : bound(std::string_view(text).substr(equals + 1));
  if (equals == 0 || size == 0)
    misuse("O1959", fmt::format("`--pad {}` gives no size", text),
           "write `--pad L=208`: a dimension and a whole number");
  return {text.substr(0, equals), size};
}

nest::Factors factors(const std::string& name) {
  static const std::vector<std::string> names = {"perfect", "padded", "imperfect"};
  if (name == names[0]) return nest::Factors::kPerfect;
  if (name == names[1]) return nest::Factors::kPadded;
  if (name == names[2]) return nest::Factors::kImperfect;
  misuse("O1102", fmt::format("`{}` is no kind of factors", name),
         base::did_you_mean(name, names,
                            "perfect factors divide each size, padded ones a size that is rounded up, imperfect ones "
                            "leave a rest"));
}

// What asks about perfect factors of the sizes as they are.
void require_alone(const MapOptions& search) {
  const bool chosen = search.factors != nest::Factors::kPerfect;
  if (!chosen && search.pads.empty()) return;
  const char* asked = search.factors == nest::Factors::kPadded      ? "`--factors padded`"
                      : search.factors == nest::Factors::kImperfect ? "`--factors imperfect`"
                                                                    : "`--pad`";
  const char* beside = search.front                     ? "--pareto"
                       : search.certify                 ? "--certify"
                       : !search.why.empty()            ? "--why"
                       : chosen && !search.pads.empty() ? "--pad"
                                                        : nullptr;
  if (!beside) return;
  misuse("O1960", fmt::format("{} and {} exclude each other", asked, beside),
         chosen && !search.pads.empty() ? "leave `--pad` out for the best factors, or `--factors` for these sizes"
         : search.factors == nest::Factors::kImperfect
             ? fmt::format("ask for {} with perfect factors, of sizes that have some", beside)
             : fmt::format("find the sizes first, then ask for {} of a problem that has them", beside));
}

void declare_fusion(CommandLine& line, Options& options) {
  line.text("--fuse-at", options.request.fuse.level, "LEVEL",
            "Fuse GEMM and normalisation: the result is handed over at this storage; each side is mapped by itself");
  line.toggle("--no-e-fusion", options.request.fuse.reduction_free,
              "-nef: with --fuse-at, leave the reduction's loops free");
  line.toggle("--l-fusion", options.request.fuse.whole, "-lf: with --fuse-at, hand over the whole matrix, not columns");
  line.toggle("--pay-writeback-in-matmul", options.request.fuse.product_writes,
              "-pwim: with --fuse-at, the GEMM writes its result back, not the normalisation");
  line.meant(
      "--fuse", "NAME",
      "auto: fuse each GEMM with its normalisation where and how the two cost least, or not; all choices are compared. "
      "Without a value: a model's block as a whole, or one of AccelForge's files, `orrery map --fuse --help`",
      [&options](const std::string& text) {
        if (text != "auto")
          misuse("O1102", fmt::format("`--fuse {}` names no way to fuse", text),
                 "write `--fuse auto`, or `--fuse-at LEVEL` for one storage");
        options.choose_fusion = true;
      });
  line.offer("--fuse", {"auto"});
}

// Of a folder of Timeloop-Experiments: `orrery map transformer_gemmini KTQ Accumulator`.
void take_checkout(MapRequest& request) {
  Checkout checkout = enter_checkout(request, request.model.empty() && request.gemms.empty());
  if (!checkout.found) return;
  request.normalisations = std::move(checkout.normalisations);
  request.counts_heads = checkout.layers > 1;  // one is as run.py prints it, a sum as hwdse_run.py adds it
  if (!checkout.level.empty()) fuse_at_word(checkout.level, request);
}

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("map", "The best mapping of each layer on a chip, with proof",
                   "orrery map arch.yaml ERT.yaml layers/KTQ.yaml");
  line.words("FILES", options.request.files,
             "Timeloop documents (YAML, templates, .cfg) in any order; each `problem` is a layer. Or an ONNX model "
             "(.onnx). Or "
             "a folder of Timeloop-Experiments and layers: `transformer_gemmini KTQ`");
  line.group("Question");
  declare_chips(line, options.request);
  line.text("--model", options.request.model, "NAME|FILE", "Model from the catalogue, or its config.json");
  declare_ignored(line, options.request.ignored);
  declare_like(line, options.request.like);
  declare_mtp(line, options.request.mtp);
  line.text("--layer", options.request.layer, "NAME", "Only this layer, with its loop nest and energy per level");
  line.count("--seq", options.request.sequence,
             "Tokens in a sequence, of --phase decode those in the cache; default: the model's longest, at most 4096");
  line.count("--cache", options.request.cached,
             "Tokens in the cache of --phase, the new ones included; default: as --seq");
  line.count("--batch", options.request.batch, "Sequences at a time; default 1");
  line.meant("--phase", "NAME",
             "Phase of a model: prefill (default), decode (one token after a cache), verify (drafted tokens)",
             [&options](const std::string& text) {
               static const std::vector<std::string> names = {"prefill", "decode", "verify"};
               if (std::find(names.begin(), names.end(), text) == names.end())
                 misuse("O1102", fmt::format("`{}` is no phase of a model", text),
                        base::did_you_mean(text, names, fmt::format("phases are {}", base::joined(names, ", "))));
               options.request.phase = text;
             });
  line.count("--draft", options.request.drafted, "Tokens to verify at a time; default 4");
  line.toggle("--logits", options.request.logits, "Map a model's logits as well, at every new token");
  declare_fusion(line, options);
  line.text("--attention-array", options.request.attention_array, "FILE.json",
            "A simulated array beside the chip does a prefill's attention: an answer of `sparse simulate`");
  line.meant_each("--gemm", "M,K,N", "A GEMM: M x K times K x N (repeatable)", false,
                  [&options](const std::string& text) { options.request.gemms.push_back(gemm(text)); });
  declare_templates(line, options.request, ", or the size of a dimension that an ONNX model leaves open");
  declare_unfold(line, options.request.unfold);
  line.meant_each("--objective", "NAME[,NAME]", "edp (default), energy, delay, or several to compare in turn", true,
                  [&options](const std::string& name) { options.request.search.objective.push_back(metric(name)); });
  line.offer("--objective", {"edp", "energy", "delay"});
  line.meant("--pareto", "NAME,NAME", "energy,delay: all mappings that no other one beats in both",
             [&options](const std::string& text) {
               if (text != "energy,delay" && text != "delay,energy")
                 misuse("O1102", fmt::format("`--pareto {}` names no trade-off that Orrery lists", text),
                        "write `--pareto energy,delay`");
               options.request.search.front = true;
             });
  line.offer("--pareto", {"energy,delay"});
  line.text("--why", options.request.search.why, "CHOICE",
            "Force a choice, such as Scratchpad.E=4, and say what it costs");
  line.meant("--factors", "NAME",
             "perfect (default): tiles divide each size; padded: sizes are rounded up where it pays; imperfect: tiles "
             "may leave a remainder",
             [&options](const std::string& text) { options.request.search.factors = factors(text); });
  line.offer("--factors", {"perfect", "padded", "imperfect"});
  line.meant_each("--pad", "DIM=SIZE",
                  "Round a dimension up to SIZE where it is less, and say what it costs (repeatable)", false,
                  [&options](const std::string& text) { options.request.search.pads.push_back(pad(text)); });
  line.toggle("--certify", options.request.search.certify, "Check the proof by a slower, independent search");
  line.group("Search");
  base::Limits& limits = options.request.search.limits;
  declare_search(
      line, limits, "Threads; they change the time only; default: as the mapper's settings say, else 1",
      "Seconds for each layer, with --fuse auto for all sides together (default then: 60); the best so far is printed "
      "with its gap");
  line.memory(limits.memory);
  declare_estimation(line, options.request);
  declare(line, options, "Write map.yaml, map.txt, stats.txt and result.json there");
  line.pictures();
  if (!line.read(with_long_names(arguments), console)) return false;
  take_checkout(options.request);
  return true;
}

// The unit in which `objective` is reported, as of Certificate::lower_bound.
std::string shown(const std::vector<nest::Metric>& objective, double value) {
  const nest::Metric first = objective.empty() ? nest::Metric::kEdp : objective[0];
  return first == nest::Metric::kEnergy  ? fmt::format("{:.6g} pJ", value)
         : first == nest::Metric::kDelay ? fmt::format("{:.6g} cycles", value)
                                         : fmt::format("{:.6g} J*cycle", value);
}

// The best found and the bound below which nothing lies.
std::string progress_text(const std::string& name, const std::vector<nest::Metric>& objective, double best,
                          double bound) {
  if (!std::isfinite(best)) return fmt::format("{}: no mapping yet", name);
  return fmt::format("{}: best {}, bound {}, gap {:.2f} %", name, shown(objective, best), shown(objective, bound),
                     100 * base::gap(best, bound));
}

}  // namespace

MapRequest map_request(const Arguments& arguments) {
  Options options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  if (options.choose_fusion)
    misuse("O1102", "`--fuse auto` is of one run, not of a study",
           "give the study `--fuse-at LEVEL` and the options that a run chose");
  options.request.search.model = options.request.compat.defects;
  return options.request;
}

int run_map(const Arguments& arguments, Console& console) {
  if (asks_for_blocks(arguments)) return run_map_fuse(arguments, console);
  Options options;
  if (!read(arguments, console, options)) return kDone;
  require_alone(options.request.search);
  MapRequest& request = options.request;
  // Without a limit the first of many sides may take all the time that somebody waits.
  if (options.choose_fusion && request.search.limits.seconds <= 0) request.search.limits.seconds = kFusionSeconds;
  request.search.model = request.compat.defects;
  return run_mapping(console, request, options, true, [&](Run& run) {
    request.interruptible = run.interruptible();
    request.search.progress = [&](std::size_t done, std::size_t all, const std::string& name) {
      run.show("{}/{} layers mapped, last {}", done, all, name);
    };
    request.search.searching = [&](const std::string& name, double best, double bound) {
      run.show("{}", progress_text(name, request.search.objective, best, bound));
    };
    if (!options.choose_fusion) return Results{map(request)};
    FusedAnswer answer = map_with_chosen_fusion(request);
    return Results{std::move(answer.map), std::move(answer.fused)};
  });
}

}  // namespace orrery::verbs
