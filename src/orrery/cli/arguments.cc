#include "orrery/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "orrery/base/diagnostic.h"
#include "orrery/base/edit_distance.h"
#include "orrery/cli/version.h"

namespace orrery::cli {
namespace {

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> names = {"map",   "eval",  "energy",  "check",  "train",  "validate",
                                                 "place", "graph", "explain", "schema", "doctor", "catalog"};
  return names;
}

constexpr const char* kHelp = R"(orrery: models and optimises how transformers run on accelerators

usage: orrery VERB [FILES] [options]

  map       the best mapping of each layer on a chip, with proof
  eval      energy and cycles of a given mapping
  energy    energy and area of a chip's components, with the origin of each figure
  train     time and memory of a training run on a cluster
  validate  predictions against published and measured runs
  place     shards, fuses and places a graph of kernels on many accelerators
  graph     generates the kernel graph of a workload, for `place`
  check     read files and say what is wrong with them
  explain   what a diagnostic code means
  schema    JSON Schema of a kind of document, for editors
  catalog   the chips, models and systems that come along
  doctor    what this installation has

`orrery VERB --help` shows a verb's options. Example:
  orrery map --chip gemmini --model bert-large --seq 4096
)";

[[noreturn]] void misuse(std::string code, std::string message, std::string hint) {
  base::fail(std::move(code), std::move(message), {}, std::move(hint));
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

nest::Metric metric(const std::string& name) {
  static const std::vector<std::string> names = {"edp", "energy", "delay"};
  if (name == names[0]) return nest::Metric::kEdp;
  if (name == names[1]) return nest::Metric::kEnergy;
  if (name == names[2]) return nest::Metric::kDelay;
  misuse(
      "O1102", fmt::format("`{}` is no objective", name),
      base::did_you_mean(name, names, "objectives are " + joined(names) + "; several are compared in the order given"));
}

// Whole numbers from 1 to `most`. CLI11's own conversion lets larger ones through as the largest.
CLI::Validator whole_number(base::Count most) {
  const auto check = [most](const std::string& text) -> std::string {
    base::Count value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = failure == std::errc() && end == text.data() + text.size() && value >= 1 && value <= most;
    if (good) return "";
    if (most < std::numeric_limits<base::Count>::max())
      return fmt::format("`{}` is no whole number from 1 to {}", text, most);
    if (failure == std::errc::result_out_of_range && text[0] != '-')
      return fmt::format("`{}` does not fit 64 bits", text);
    return fmt::format("`{}` is no whole number from 1", text);
  };
  return CLI::Validator(check, "");
}

// The number that `text` begins with, in decimals, and where it ends; std::strtod would read 0x10, too.
std::pair<double, std::string> decimal(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return {std::numeric_limits<double>::quiet_NaN(), text};
  return {value, std::string(end, text.data() + text.size())};
}

// CLI11's own check of a range prints its ends in full, the larger one in some 300 digits.
CLI::Validator seconds() {
  const auto check = [](const std::string& text) -> std::string {
    const auto [value, rest] = decimal(text);
    const bool good = rest.empty() && std::isfinite(value) && value > 0;
    return good ? "" : fmt::format("`{}` is no number of seconds above 0", text);
  };
  return CLI::Validator(check, "");
}

// Bytes from 1 MiB on: "512M", "2G", "1GiB", "1.5 GB"; K, M, G and T are powers of 1024, with a B alone of 1000. 0:
// none.
std::size_t bytes(const std::string& text) {
  constexpr double kLeast = 1 << 20, kMost = 1e15;
  const auto [value, rest] = decimal(text);
  const std::string unit = rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::string_view steps = "KMGT";
    const std::size_t power = steps.find(unit[0] == 'k' ? 'K' : unit[0]);
    const std::string tail = unit.substr(1);
    if (power == std::string_view::npos || (!tail.empty() && tail != "B" && tail != "iB")) return 0;
    factor = std::pow(tail == "B" ? 1000.0 : 1024.0, static_cast<double>(power) + 1);
  }
  const double amount = value * factor;
  return amount >= kLeast && amount <= kMost ? static_cast<std::size_t>(amount) : 0;
}

CLI::Validator amount_of_memory() {
  const auto check = [](const std::string& text) -> std::string {
    return bytes(text) > 0 ? "" : fmt::format("`{}` is no amount of memory from 1M on, such as 512M, 2G or 1GiB", text);
  };
  return CLI::Validator(check, "");
}

// Texts as typed, to be given their meaning once CLI11 has accepted the line.
struct Raw {
  std::string memory;
  std::vector<std::string> overrides;
  std::vector<std::string> compat;
  std::vector<std::string> objective;
  bool no_color = false;
};

struct RawMap {
  std::vector<std::string> gemms;
  std::string pareto;
};

// CLI11 would take `--json=no`, too; a switch is given or not.
void add_switch(CLI::App& app, const std::string& names, bool& value, const std::string& what) {
  app.add_flag(names, value, what)->disable_flag_override();
}

CLI::Option* add_files(CLI::App& app, std::vector<std::string>& files, const std::string& what) {
  return app.add_option("FILES", files, what)->type_name("");
}

void add_common(CLI::App& app, CommonOptions& common, Raw& raw) {
  add_switch(app, "--json", common.json, "Print one JSON document");
  add_switch(app, "--quiet,-q", common.quiet, "No warnings, no progress");
  add_switch(app, "--no-color", raw.no_color, "No colours (also where NO_COLOR is set and not empty)");
  app.add_option("--seed", common.seed, "Ignored: every search is deterministic and draws no random numbers")
      ->type_name("N");
}

void add_ignored(CLI::App& app, std::vector<std::string>& ignored) {
  app.add_option("--ignore", ignored, "Leave this key of the model's config.json out of account (repeatable)")
      ->type_name("KEY")
      ->allow_extra_args(false);
}

void add_document_options(CLI::App& app, Raw& raw) {
  app.add_option("--set", raw.overrides, "Override any input field, such as variables.SEQ_LENGTH=512 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--compat", raw.compat,
                 "Reproduce an original, defects included: timeloop or factorflow; accelergy-0.4 (repeatable)")
      ->type_name("NAME[,NAME]")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_estimation_options(CLI::App& app, CommonOptions& common) {
  app.add_option("--tables", common.estimators.tables,
                 "Folder of Accelergy's estimation tables, for chips without an ERT (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--cacti", common.estimators.cacti,
                 "CACTI 7's program, to be asked for SRAMs instead of the table of its figures")
      ->type_name("PATH");
}

void add_memory_option(CLI::App& app, Raw& raw) {
  app.add_option("--memory", raw.memory,
                 "Memory for the search, such as 512M or 2G (default 1G, or what the system allows)")
      ->type_name("SIZE")
      ->check(amount_of_memory());
}

void add_search_options(CLI::App& app, CommonOptions& common, Raw& raw) {
  app.add_option("-o,--output", common.directory, "Write map.yaml, map.txt, stats.txt and result.json there")
      ->type_name("DIR");
  add_switch(app, "--force", common.force, "Overwrite earlier results in DIR");
  app.add_option("--threads,-j", common.threads, "Threads; they change the time only")
      ->type_name("N")
      ->check(whole_number(4096));
  app.add_option("--time-limit", common.time_limit, "Seconds for each layer; the best so far is printed with its gap")
      ->type_name("S")
      ->check(seconds());
  add_memory_option(app, raw);
  app.add_option("--objective", raw.objective, "edp (default), energy, delay, or several to compare in turn")
      ->type_name("NAME[,NAME]")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void give_meaning(const Raw& raw, bool terminal, CommonOptions& common) {
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: counts when present and not empty
  common.colour = terminal && !raw.no_color && (no_color == nullptr || *no_color == '\0');
  for (const std::string& text : raw.overrides) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      misuse("O1102", fmt::format("`--set {}` lacks a `=`", text), "write `--set path.to.key=value`");
    common.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string& name : raw.compat) {
    static const std::vector<std::string> originals = {"timeloop", "factorflow", "accelergy-0.4"};
    if (name == originals[2]) {
      common.estimators.accelergy = true;
      continue;
    }
    if (name != originals[0] && name != originals[1])
      misuse("O1102", fmt::format("`--compat {}` names no original that Orrery reproduces", name),
             base::did_you_mean(name, originals, "known: " + joined(originals)));
    if (!common.compat.empty() && common.compat != name)
      misuse("O1102", fmt::format("`--compat {}` and `--compat {}` ask for two models at once", common.compat, name),
             "run once with each");
    common.compat = name;
    common.model_options = name == originals[0] ? nest::ModelOptions::timeloop() : nest::ModelOptions::factorflow();
  }
  if (!raw.memory.empty()) common.memory = bytes(raw.memory);
  for (const std::string& name : raw.objective) common.objective.push_back(metric(name));
}

base::Count bound(const std::string& text) {
  base::Count value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= 1 ? value : 0;
}

Gemm gemm(const std::string& text) {
  std::vector<base::Count> bounds;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    bounds.push_back(bound(text.substr(at, comma - at)));
    at = comma + 1;
  }
  if (bounds.size() != 3 || std::count(bounds.begin(), bounds.end(), 0) > 0)
    misuse("O1117", fmt::format("`--gemm {}` gives no three sizes", text),
           "write `--gemm M,K,N` with whole numbers from 1 on: M x K weights times K x N inputs");
  return {bounds[0], bounds[1], bounds[2]};
}

void give_map_meaning(const RawMap& raw, MapOptions& map) {
  for (const std::string& text : raw.gemms) map.gemms.push_back(gemm(text));
  if (raw.pareto.empty()) return;
  if (raw.pareto != "energy,delay" && raw.pareto != "delay,energy")
    misuse("O1102", fmt::format("`--pareto {}` names no trade-off that Orrery lists", raw.pareto),
           "write `--pareto energy,delay`");
  map.pareto = true;
}

CLI::Validator zero_stage() {
  const auto check = [](const std::string& text) -> std::string {
    const bool good = text.size() == 1 && text[0] >= '0' && text[0] <= '3';
    return good ? "" : fmt::format("`{}` is none of ZeRO's stages 0 to 3", text);
  };
  return CLI::Validator(check, "");
}

struct RawTrain {
  std::string equations;
  std::vector<std::string> compat;
  std::string tokens;
  std::string schedule, recompute, precision, attention;
  std::string efficiency;
};

// "300e9", "1.4T": a number above 0, thousands, millions, 1e9s or 1e12s by a letter.
double tokens(const std::string& text) {
  auto [value, unit] = decimal(text);
  static const std::string letters = "KMBT";
  if (unit.size() == 1 && letters.find(unit[0]) != std::string::npos) {
    value *= std::pow(1e3, 1 + static_cast<int>(letters.find(unit[0])));
  } else if (!unit.empty()) {
    value = 0;
  }
  if (!(value >= 1 && value <= 1e30))
    misuse("O1102", fmt::format("`--tokens {}` is no number of tokens", text), "write `--tokens 300e9` or `300B`");
  return value;
}

// The value of `names` that `text` is.
template <typename Value>
void choose(const char* option, const std::string& text, const std::vector<std::pair<std::string, Value>>& choices,
            std::optional<Value>& value) {
  if (text.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    names.push_back(name);
    if (name == text) value = choice;
  }
  if (!value)
    misuse("O1102", fmt::format("`{} {}` is none of its values", option, text),
           base::did_you_mean(text, names, "they are " + joined(names)));
}

// "0.6" or "0.91,2": a share of the peak, and the microbatch that reaches half of it.
void efficiency(const std::string& text, scenario::TrainRequest& request) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto number = [&](const std::string& part) {
    double value = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), value);
    return failure == std::errc() && end == part.data() + part.size() && value >= 1e-30 && value <= 1e6 ? value : 0.0;
  };
  request.efficiency = number(text.substr(0, comma));
  if (comma < text.size()) request.half_efficiency = number(text.substr(comma + 1));
  if (!(*request.efficiency > 0 && *request.efficiency <= 1) || (comma < text.size() && request.half_efficiency == 0))
    misuse("O1102", fmt::format("`--efficiency {}` is no share of the peak", text),
           "write `--efficiency 0.6`, or `0.91,2` for 0.91 b / (b + 2) at microbatch b");
}

void give_train_meaning(const RawTrain& raw, TrainOptions& train) {
  if (!raw.equations.empty() && raw.equations != "amped")
    misuse("O1102", fmt::format("`--equations {}` names no equations", raw.equations),
           "write `--equations amped`, or leave it out for Orrery's model");
  train.amped = !raw.equations.empty() || !train.config_flat.empty();
  for (const std::string& name : raw.compat) {
    if (name != "amped")
      misuse("O1102", fmt::format("`--compat {}` names no original that `orrery train` reproduces", name),
             "write `--compat amped`");
    train.compat = name;
  }
  scenario::TrainRequest& request = train.request;
  if (!raw.tokens.empty()) request.tokens = tokens(raw.tokens);
  choose("--schedule", raw.schedule, scenario::schedules(), request.schedule);
  choose("--recompute", raw.recompute, scenario::recomputations(), request.recompute);
  choose("--precision", raw.precision, scenario::precisions(), request.precision);
  choose("--attention", raw.attention, scenario::attentions(), request.attention);
  if (!raw.efficiency.empty()) efficiency(raw.efficiency, request);
  request.overrides = train.overrides;
}

void add_train_options(CLI::App& app, TrainOptions& options, Raw& raw, RawTrain& raw_train) {
  scenario::TrainRequest& request = options.request;
  add_files(app, options.files, "AMPeD's config.json, with --equations amped");
  app.add_option("--model", request.model, "Model from the catalogue, or its config.json")->type_name("NAME|FILE");
  add_ignored(app, request.ignored);
  app.add_option("--system", request.system, "System from the catalogue, or its file")->type_name("NAME|FILE");
  const auto number = [&app](const char* name, std::optional<base::Count>& value, const char* what) {
    app.add_option(name, value, what)->type_name("N")->check(whole_number(scenario::kMostInPlan));
  };
  const auto degree = [&app](const char* name, std::optional<base::Count>& value, const char* what) {
    app.add_option(name, value, what)->type_name("N")->check(whole_number(scenario::kMostDegree));
  };
  number("--gpus", request.gpus, "Accelerators; default: the product of the degrees");
  number("--global-batch", request.global_batch, "Sequences an iteration");
  number("--micro-batch", request.micro_batch, "Sequences a microbatch; default 1");
  degree("--tp", request.tp, "Tensor-parallel degree; degrees not given are the smallest that fit");
  degree("--pp", request.pp, "Pipeline stages");
  degree("--dp", request.dp, "Data-parallel degree");
  degree("--ep", request.ep, "Expert-parallel degree, inside dp");
  degree("--cp", request.cp, "Context-parallel degree (ring attention)");
  degree("--interleave", request.interleave, "Model chunks a stage; default 1");
  number("--seq", request.seq, "Tokens of a sequence; default: what the model was trained with");
  app.add_option("--schedule", raw_train.schedule, "gpipe, 1f1b (default), interleaved, zero-bubble")
      ->type_name("NAME");
  app.add_option("--recompute", raw_train.recompute, "none (default), selective, full")->type_name("NAME");
  app.add_option("--precision", raw_train.precision, "fp32, tf32, bf16 (default), fp8")->type_name("NAME");
  app.add_option("--attention", raw_train.attention, "materialised or flash; default: as the model's time had it")
      ->type_name("NAME");
  add_switch(app, "--sequence-parallel", request.sequence_parallel, "Norms and dropouts are spread over tp, too");
  app.add_option("--zero", request.zero, "Sharded over dp: 1 optimiser, 2 and gradients, 3 and weights")
      ->type_name("0..3")
      ->check(zero_stage());
  app.add_option("--operators", request.measurements, "Timings of matrix products, to go before the roofline")
      ->type_name("FILE.csv");
  app.add_option("--efficiency", raw_train.efficiency, "Instead of the roofline: products reach this share of the peak")
      ->type_name("E[,B]");
  app.add_option("--threads,-j", options.threads, "Threads; they change the time only")
      ->type_name("N")
      ->check(whole_number(4096));
  app.add_option("--time-limit", options.time_limit, "Seconds for the choice of degrees; the best so far is taken")
      ->type_name("S")
      ->check(seconds());
  app.add_option("--tokens", raw_train.tokens, "Also the time to train on so many, such as 300e9 or 1.4T")
      ->type_name("N");
  app.add_option("--trace", options.trace, "Write the pipeline of one iteration there, for Perfetto")
      ->type_name("FILE");
  app.add_option("--set", raw.overrides, "Override any field: model.layers=30, plan.overlap.dp=1 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", options.directory, "Write result.json, or AMPeD's files, there")->type_name("DIR");
  add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
  app.add_option("--equations", raw_train.equations, "amped: AMPeD's interface and equations")->type_name("NAME");
  app.add_option("--tables", options.lookup_tables, "AMPeD's lookup_tables.json")->type_name("FILE");
  app.add_option("--config-flat", options.config_flat, "AMPeD's parameters by name")->type_name("FILE");
  add_switch(app, "--gemm", options.gemm, "AMPeD: gemm_breakdown.txt");
  add_switch(app, "--compute-graph", options.compute_graph, "AMPeD: compute_graph.txt");
  add_switch(app, "--mat-dims", options.mat_dims, "AMPeD: mat_dims.txt, for DeepFlow");
  add_switch(app, "--search", options.search, "AMPeD: the best of all batch sizes and degrees");
  app.add_option("--compat", raw_train.compat, "amped: AMPeD's equations, defects included")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

// Any whole number of 64 bits; whether it can be a size is for the generators to say, of all sizes at once.
CLI::Validator count() {
  const auto check = [](const std::string& text) -> std::string {
    base::Count value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc::result_out_of_range) return fmt::format("`{}` does not fit 64 bits", text);
    const bool good = failure == std::errc() && end == text.data() + text.size();
    return good ? "" : fmt::format("`{}` is no whole number", text);
  };
  return CLI::Validator(check, "");
}

// A share: "0.01".
CLI::Validator gap_share() {
  const auto check = [](const std::string& text) -> std::string {
    const auto [value, rest] = decimal(text);
    const bool good = rest.empty() && value >= 0 && value < 1;
    return good ? "" : fmt::format("`{}` is no share from 0 to below 1", text);
  };
  return CLI::Validator(check, "");
}

struct RawPlace {
  std::vector<std::string> compat;
};

void add_place_options(CLI::App& app, PlaceOptions& options, Raw& raw, RawPlace& raw_place) {
  app.add_option("SETUP", options.file, "DFModel's setup.txt, or a folder with user_input/setup.txt")
      ->required()
      ->type_name("");
  app.add_option("--threads,-j", options.threads, "Threads; they change the time only; default: as the file says")
      ->type_name("N")
      ->check(whole_number(4096));
  app.add_option("--time-limit", options.time_limit, "Seconds; the best so far is printed with its gap")
      ->type_name("S")
      ->check(seconds());
  add_memory_option(app, raw);
  app.add_option("--gap", options.gap, "Accept an answer that is proven within this share of the best; default 0")
      ->type_name("SHARE")
      ->check(gap_share());
  app.add_option("--operators", options.measurements, "Timings of matrix products, to go before the chip's peak")
      ->type_name("FILE.csv");
  app.add_option("--set", raw.overrides,
                 "Override any field: system.num_chip=8, execution.llm.tile_size=64 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--compat", raw_place.compat, "Figures of a generation of DFModel: gen1, gen2, gen3, gen4 or head")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_switch(app, "--log", options.log, "Print DFModel's log lines instead of the table");
  app.add_option("--dot", options.dot, "Write the graph with its configurations there, for Graphviz")
      ->type_name("FILE");
  app.add_option("--svg", options.svg, "Draw the graph with its configurations there")->type_name("FILE");
  app.add_option("-o,--output", options.directory,
                 "Write result.json, log.txt, graph.dot, graph.svg and the setup with every decision pinned there")
      ->type_name("DIR");
  add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
}

void give_place_meaning(const RawPlace& raw, PlaceOptions& options) {
  static const std::vector<std::string> names = {"gen1", "gen2", "gen3", "gen4", "head"};
  for (const std::string& name : raw.compat) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
      misuse("O1102", fmt::format("`--compat {}` names no generation of DFModel", name),
             base::did_you_mean(name, names, "known: " + joined(names)));
    if (raw.compat.size() > 1 && name != raw.compat.front())
      misuse("O1102",
             fmt::format("`--compat {}` and `--compat {}` ask for two models at once", raw.compat.front(), name),
             "run once with each");
    options.generation = static_cast<dataflow::Generation>(1 + (at - names.begin()));
  }
}

struct RawGraph {
  std::map<std::string, std::optional<base::Count>> sizes;
  std::string format;
};

void add_graph_options(CLI::App& app, GraphOptions& options, RawGraph& raw) {
  std::string kinds;
  for (const scenario::GraphKind& kind : scenario::graph_kinds())
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind.name, kind.what);
  app.add_option("KIND", options.request.kind, kinds)->type_name("");
  app.add_option("--model", options.request.model, "Model from the catalogue, or its config.json; sizes go before its")
      ->type_name("NAME|FILE");
  add_ignored(app, options.request.ignored);
  for (const scenario::GraphSize& size : scenario::graph_sizes())
    app.add_option(fmt::format("{}", fmt::join(size.options, ",")), raw.sizes[size.name], size.what)
        ->type_name("N")
        ->check(count());
  add_switch(app, "--gated", options.request.gated, "Gate and up projection side by side (SwiGLU)");
  app.add_option("--format", raw.format, "prototext (default), json, dot or svg")->type_name("NAME");
  app.add_option("-o,--output", options.directory,
                 "Write there: a file, by its suffix (.txt, .json, .dot, .svg), or all of them into a folder")
      ->type_name("FILE|DIR");
  add_switch(app, "--force", options.force, "Overwrite what is there");
}

void give_graph_meaning(const RawGraph& raw, GraphOptions& options) {
  for (const auto& [name, value] : raw.sizes)
    if (value) options.request.sizes[name] = *value;
  std::optional<std::string> format;
  choose<std::string>("--format", raw.format,
                      {{"prototext", "prototext"}, {"json", "json"}, {"dot", "dot"}, {"svg", "svg"}}, format);
  options.format = format.value_or("");
}

// Names of an app's options, for "did you mean".
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// CLI11's words for a switch with a value name neither the option's dashes nor the way out, and for `--name=` it would
// take the next argument.
void refuse_odd_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || argument.rfind("--", 0) != 0) continue;
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) continue;
    if (option->get_disable_flag_override())
      misuse("O1101", fmt::format("`{}` takes no value", name), fmt::format("write `{}` alone, or leave it out", name));
    if (equals + 1 == argument.size())
      misuse("O1102", fmt::format("{}: its value is empty", name),
             fmt::format("write `{} VALUE`, or leave it out", name));
  }
}

// An empty value would pass for an option that was not given.
void refuse_empty_values(CLI::App& app) {
  const auto check = [](const std::string& text) -> std::string { return text.empty() ? "its value is empty" : ""; };
  for (CLI::Option* option : app.get_options())
    if (option->nonpositional() && option->get_items_expected_max() > 0) option->check(CLI::Validator(check, ""));
}

void parse(CLI::App& app, const std::vector<std::string>& arguments, const std::string& verb) {
  refuse_odd_values(app, arguments);
  refuse_empty_values(app);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    std::string first = extras.empty() ? "" : extras.front();
    first = first.substr(0, first.find('='));
    const std::string see = fmt::format("see `orrery {} --help`", verb);
    if (!first.empty() && first[0] == '-')
      misuse("O1101", fmt::format("`orrery {}` has no option `{}`", verb, first),
             base::did_you_mean(first, option_names(app), see));
    std::vector<std::string> words;
    for (const CLI::App* below : app.get_subcommands({})) words.push_back(below->get_name());
    misuse("O1101", fmt::format("`orrery {}` does not know what to do with `{}`", verb, first),
           base::did_you_mean(first, words, see));
  } catch (const CLI::ValidationError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ConversionError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ParseError& error) {
    misuse("O1101", error.what(), fmt::format("see `orrery {} --help`", verb));
  }
}

// Builds a verb's parser through `add`, runs it and gives the raw texts their meaning.
template <typename Options, typename Add>
Command parse_verb(const std::string& verb, const std::string& description, const std::string& example,
                   const std::vector<std::string>& arguments, bool terminal, const Add& add) {
  Options options;
  Raw raw;
  CLI::App app(description, "orrery " + verb);
  app.footer("\nExample:\n  " + example);
  app.get_formatter()->column_width(34);
  add(app, options, raw);
  add_common(app, options, raw);
  try {
    parse(app, arguments, verb);
  } catch (const CLI::CallForHelp&) {
    PrintOptions help;
    help.text = app.help();
    return help;
  }
  give_meaning(raw, terminal, options);
  return options;
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& arguments, bool terminal) {
  PrintOptions print;
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print.text = kHelp;
    return print;
  }
  const std::string& verb = arguments[0];
  if (verb == "--version" || verb == "-V") {
    print.text = fmt::format("orrery {}\n", kVersion);
    return print;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());

  if (verb == "map") {
    RawMap raw_map;
    Command command = parse_verb<MapOptions>(
        verb, "The best mapping of each layer on a chip, with proof", "orrery map arch.yaml ERT.yaml layers/KTQ.yaml",
        rest, terminal, [&raw_map](CLI::App& app, MapOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents in any order; each `problem` is a layer");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          app.add_option("--model", options.model, "Model from the catalogue, or its config.json")
              ->type_name("NAME|FILE");
          add_ignored(app, options.ignored);
          app.add_option("--layer", options.layer, "Only this layer, with its loop nest and energy per level")
              ->type_name("NAME");
          app.add_option("--seq", options.sequence, "Tokens in a sequence; default: the model's longest, at most 4096")
              ->type_name("N")
              ->check(whole_number(std::numeric_limits<base::Count>::max()));
          app.add_option("--batch", options.batch, "Sequences at a time; default 1")
              ->type_name("N")
              ->check(whole_number(std::numeric_limits<base::Count>::max()));
          app.add_option("--gemm", raw_map.gemms, "A matrix product: M x K times K x N (repeatable)")
              ->type_name("M,K,N")
              ->allow_extra_args(false);
          add_search_options(app, options, raw);
          app.add_option("--pareto", raw_map.pareto, "energy,delay: all mappings that no other one beats in both")
              ->type_name("NAME,NAME");
          app.add_option("--why", options.why, "Force a choice, such as Scratchpad.E=4, and say what it costs")
              ->type_name("CHOICE");
          add_switch(app, "--certify", options.certify, "Check the proof by a slower, independent search");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
    if (auto* const map = std::get_if<MapOptions>(&command)) give_map_meaning(raw_map, *map);
    return command;
  }
  if (verb == "eval") {
    return parse_verb<EvalOptions>(
        verb, "Energy and cycles of a given mapping; capacity and fan-out are checked, constraints with --strict",
        "orrery eval arch.yaml ERT.yaml KTQ.yaml map.yaml", rest, terminal,
        [](CLI::App& app, EvalOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents in any order, a `mapping` among them");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          add_switch(app, "--strict", options.strict, "The constraints must hold, too");
          app.add_option("-o,--output", options.directory, "Write map.yaml, map.txt, stats.txt and result.json there")
              ->type_name("DIR");
          add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
  }
  if (verb == "energy") {
    return parse_verb<EnergyOptions>(
        verb, "Energy and area of a chip's components by their descriptions, with the origin of each figure",
        "orrery energy arch.yaml components variables.yaml --tables my_tables -o tables", rest, terminal,
        [](CLI::App& app, EnergyOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents and folders of them; problems are left aside");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          app.add_option("-o,--output", options.directory,
                         "Write ERT.yaml, ART.yaml, their summaries and result.json there")
              ->type_name("DIR");
          add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
  }
  if (verb == "train") {
    RawTrain raw_train;
    Command command = parse_verb<TrainOptions>(
        verb, "Time and memory of one iteration of a training run on a cluster",
        "orrery train --model gpt3-175b --system a100-selene --gpus 1024 --global-batch 1536 --tp 8 --pp 8", rest,
        terminal, [&raw_train](CLI::App& app, TrainOptions& options, Raw& raw) {
          add_train_options(app, options, raw, raw_train);
        });
    if (auto* const train = std::get_if<TrainOptions>(&command)) give_train_meaning(raw_train, *train);
    return command;
  }
  if (verb == "validate") {
    return parse_verb<ValidateOptions>(
        verb, "Predictions against published and measured runs: the error of every point and set, worst first",
        "orrery validate train --all", rest, terminal, [](CLI::App& app, ValidateOptions& options, Raw&) {
          app.add_option("SUBJECT", options.subject, "What is predicted: train")->required()->type_name("");
          app.add_option("SETS", options.sets, "Only these tables of catalog/validation")->type_name("");
          add_switch(app, "--all", options.all, "Every point, not only the worst of each set");
        });
  }
  if (verb == "place") {
    RawPlace raw_place;
    Command command = parse_verb<PlaceOptions>(
        verb, "The best sharding, fusion and placement of a graph of kernels on many accelerators, with proof",
        "orrery place examples/dataflow/gpt3_1t.txt", rest, terminal,
        [&raw_place](CLI::App& app, PlaceOptions& options, Raw& raw) {
          add_place_options(app, options, raw, raw_place);
        });
    if (auto* const place = std::get_if<PlaceOptions>(&command)) give_place_meaning(raw_place, *place);
    return command;
  }
  if (verb == "graph") {
    RawGraph raw_graph;
    Command command = parse_verb<GraphOptions>(
        verb, "Generates the kernel graph of a workload as DFModel's text protobuf, JSON, DOT or SVG",
        "orrery graph llm --hidden 25600 --heads 160 --seq 2048 -o graph.txt", rest, terminal,
        [&raw_graph](CLI::App& app, GraphOptions& options, Raw&) { add_graph_options(app, options, raw_graph); });
    if (auto* const graph = std::get_if<GraphOptions>(&command)) give_graph_meaning(raw_graph, *graph);
    return command;
  }
  if (verb == "check") {
    return parse_verb<CheckOptions>(
        verb, "Read files, say what they are and what is wrong with them",
        "orrery check arch.yaml constraints.yaml KTQ.yaml", rest, terminal,
        [](CLI::App& app, CheckOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents, setups of DFModel, config.json")->required();
          add_ignored(app, options.ignored);
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
  }
  if (verb == "explain") {
    return parse_verb<ExplainOptions>(verb, "What a diagnostic code means; without CODE, all of them",
                                      "orrery explain O0710", rest, terminal,
                                      [](CLI::App& app, ExplainOptions& options, Raw&) {
                                        app.add_option("CODE", options.code, "Such as O0710")->type_name("");
                                      });
  }
  if (verb == "schema") {
    return parse_verb<SchemaOptions>(
        verb, "JSON Schema (draft-07) of a kind of document, for editors", "orrery schema chip > chip.schema.json",
        rest, terminal, [](CLI::App& app, SchemaOptions& options, Raw&) {
          app.add_option("KIND", options.name,
                         "chip, problem, constraints, mapping, mapper, ert, energy, train, place, graph")
              ->type_name("");
        });
  }
  if (verb == "doctor") {
    return parse_verb<DoctorOptions>(verb, "What this installation has and where its catalogue is", "orrery doctor",
                                     rest, terminal, [](CLI::App&, DoctorOptions&, Raw&) {});
  }
  if (verb == "catalog") {
    return parse_verb<CatalogOptions>(
        verb, "The chips, models and systems that come along", "orrery catalog show gemmini", rest, terminal,
        [](CLI::App& app, CatalogOptions& options, Raw&) {
          app.require_subcommand(0, 1);
          app.add_subcommand("list", "Names and titles (default)")->fallthrough();
          CLI::App* show = app.add_subcommand("show", "One entry with the source of each figure");
          show->add_option("NAME", options.name, "Chip, model or system")->required()->type_name("");
          show->fallthrough();
        });
  }
  if (!verb.empty() && verb[0] == '-')
    misuse("O1101", fmt::format("`{}` stands where a verb is expected", verb), "see `orrery --help`");
  misuse("O1100", fmt::format("`{}` is no verb of orrery", verb),
         base::did_you_mean(verb, verbs(), "verbs are " + joined(verbs())));
}

}  // namespace orrery::cli
