#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text_file.h"
#include "orrery/verbs/sweep/points/hw_configs.h"
#include "orrery/verbs/sweep/points/study_document.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToggles[] = {"--all",      "--status",       "--json",  "--quiet",     "-q",
                                    "--no-color", "--force",        "--help",  "-h",          "--mix",
                                    "--live",     "--ignore-heads", "--table", "--imperfect", "--summary",
                                    "--slurm",    "--csv",          "--latex", "--plot"};
constexpr const char* kValued[] = {"--vary",    "--where",      "--budget",    "--objectives", "--store",
                                   "--shard",   "--export",     "--svg",       "--title",      "--threads",
                                   "-j",        "--stop-after", "-o",          "--output",     "--parts",
                                   "--configs", "--init-idx",   "--vict-cond", "--pins",       "--html"};
// As the scripts of Timeloop-Experiments have them.
constexpr std::pair<const char*, const char*> kShort[] = {{"-c", "--configs"},
                                                          {"-i", "--init-idx"},
                                                          {"--init_idx", "--init-idx"},
                                                          {"-ih", "--ignore-heads"},
                                                          {"--ignore_heads", "--ignore-heads"},
                                                          {"-vc", "--vict-cond"},
                                                          {"-vs", "--vict-cond"},
                                                          {"--vict_cond", "--vict-cond"},
                                                          {"-mx", "--mix"},
                                                          {"--mixup", "--mix"},
                                                          {"-if", "--imperfect"},
                                                          {"--imperfect_fact", "--imperfect"},
                                                          {"-so", "--summary"},
                                                          {"--summary_only", "--summary"},
                                                          {"-t", "--table"},
                                                          {"-l", "--live"},
                                                          {"-nef", "--no-e-fusion"},
                                                          {"--no_e_fusion", "--no-e-fusion"},
                                                          {"-lf", "--l-fusion"},
                                                          {"--l_fusion", "--l-fusion"},
                                                          {"-pwim", "--pay-writeback-in-matmul"},
                                                          {"--pay_wb_in_mm", "--pay-writeback-in-matmul"}};

template <std::size_t N>
bool among(const char* const (&names)[N], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

struct Split {
  Arguments own, verbs;
};

Split split(const Arguments& arguments) {
  Split out;
  const bool of_the_seed = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "-c" || argument == "--configs" || argument.starts_with("--configs=");
  });
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string argument = arguments[i];
    for (const auto& [brief, full] : kShort)
      if (of_the_seed && argument == brief) argument = full;
    const std::string name = argument.substr(0, argument.find('='));
    const bool joined = name.size() < argument.size();
    const bool ours = argument.starts_with("-") && (among(kToggles, name) || among(kValued, name));
    (ours ? out.own : out.verbs).push_back(argument);
    if (ours && !joined && among(kValued, name) && i + 1 < arguments.size()) out.own.push_back(arguments[++i]);
  }
  return out;
}

sweep::Shard shard_of(const std::string& text) {
  sweep::Shard out;
  const std::size_t slash = text.find('/');
  const auto number = [&](std::size_t begin, std::size_t end, std::uint64_t& value) {
    const auto [stop, failure] = std::from_chars(text.data() + begin, text.data() + end, value);
    return failure == std::errc() && stop == text.data() + end && end > begin;
  };
  if (slash == std::string::npos || !number(0, slash, out.part) || !number(slash + 1, text.size(), out.parts) ||
      out.part < 1 || out.part > out.parts)
    misuse("O2057", fmt::format("`--shard {}` is no part of a whole", text),
           "write `--shard 1/4`, `--shard 2/4` and so on, each with a store of its own");
  return out;
}

std::shared_ptr<const base::SourceFile> text_of(const std::string& option, const std::string& text) {
  return std::make_shared<const base::SourceFile>(base::SourceFile{"<" + option + ">", text});
}

// The one file among the arguments that is a study, taken out of them.
std::shared_ptr<const base::SourceFile> take_study(Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    std::error_code ignored;
    if (!(argument.ends_with(".yaml") || argument.ends_with(".yml")) || !fs::is_regular_file(argument, ignored))
      continue;
    auto file = base::read_file(argument);
    if (!sweep::is_study(*file)) continue;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    return file;
  }
  return nullptr;
}

// Where nothing varies, a document that is not there was to be the study: its reading says so.
void refuse_missing_study(const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool document = argument.ends_with(".yaml") || argument.ends_with(".yml");
    if (document && !argument.starts_with("-") && !fs::exists(argument, ignored)) base::read_file(argument);
  }
}

[[noreturn]] void refuse_word(const std::string& word) {
  const std::vector<std::string>&verbs = sweep::swept_verbs(), &layers = sweep::script_layers();
  const std::string layer =
      std::find(layers.begin(), layers.end(), word) != layers.end() ? word : base::closest(word, layers);
  std::string hint = base::did_you_mean(word, verbs);
  if (hint.empty() && !layer.empty())
    hint = fmt::format("a layer is chosen by `--layer {}`; words name layers beside `--configs` only", layer);
  misuse("O2059", fmt::format("`{}` is no verb whose fields a study can vary", word),
         hint.empty() ? fmt::format("verbs are {}", base::joined(verbs, ", ")) : hint);
}

// What is given of a study beside what SweepArguments holds.
struct Given {
  std::vector<std::string> vary, where, budgets, objectives;
  std::string title, shard;
  std::optional<base::Count> first, victory;
  bool mixed = false, live = false, imperfect = false, pinned = false;
};

void declare_study(CommandLine& line, Given& given) {
  line.group("Study");
  line.texts("--vary", given.vary, "PATH=VALUES[;PATH=VALUES]",
             "A field and its values: 8,16,32 or 1..8 or 16Ki..1Mi:x2. Several are multiplied; fields joined by `;` "
             "take their values side by side");
  line.texts("--where", given.where, "EXPR",
             "Only points for which this holds, such as `meshX * meshY <= 1024`; repeatable");
  line.texts("--budget", given.budgets, "FIGURE=MOST",
             "Only points with at most this much area (um^2), power (W), dollars or another figure; repeatable");
  line.meant_each("--objectives", "NAME[,NAME]",
                  "What ranks points: edp, energy, cycles, utilization, area, seconds, dollars, power; with several, "
                  "the points that no other one beats are listed, too",
                  true, [&](const std::string& name) { given.objectives.push_back(name); });
  line.offer("--objectives", {"edp", "energy", "cycles", "utilization", "area", "seconds", "dollars", "power"});
  line.text("--title", given.title, "TEXT", "Title of the study in its store; default: the question");
}

void declare_configurations(CommandLine& line, SweepArguments& out, Given& given) {
  line.group("Timeloop-Experiments");
  line.text("--configs,-c", out.configs, "FILE.json",
            "Points from its hw_configs.json. With it the short forms of its scripts are known, those of `map` too: "
            "-nef, -lf, -pwim");
  line.count("--init-idx", given.first, "Begin with this configuration, counted from 0 (-i)", CommandLine::kMost, 0);
  line.toggle("--mix", given.mixed, "Multiply the values of all keys instead of taking each configuration (-mx)");
  line.toggle("--ignore-heads", out.ignore_heads, "Count each layer once, whatever its instances (-ih)");
  line.toggle("--summary", out.summary, "Print the summary of its scripts in place of the table (-so)");
  line.toggle("--table", out.table, "Print that summary with its table (-t)");
  line.toggle("--imperfect", given.imperfect,
              "Tiles may leave a remainder, as with `--factors imperfect` of `map` (-if)");
  line.meant(
      "--pins", "NAME",
      "array (default): the dataflow takes the whole array; scripts: at least half of it, and for WS what the "
      "files say",
      [&](const std::string& name) {
        if (name != "array" && name != "scripts")
          misuse("O1102", fmt::format("`{}` is no way to pin an array", name),
                 base::did_you_mean(name, std::vector<std::string>{"array", "scripts"}, "write `array` or `scripts`"));
        out.study.pins = name == "scripts" ? sweep::Pins::kScripts : sweep::Pins::kArray;
        given.pinned = true;
      });
  line.offer("--pins", {"array", "scripts"});
  line.toggle("--live", given.live, "Ignored: progress is shown on a terminal (-l)");
  line.count("--vict-cond", given.victory, "Ignored: searches are exact (-vc, -vs)");
}

void declare_run(CommandLine& line, SweepArguments& out, Given& given) {
  line.group("Run");
  line.text("--store", out.store, "FILE",
            "Database in which points are stored; default: sweep.db, or the name of the study's document");
  line.toggle("--all", out.all, "Evaluate every point, even those that cannot win");
  line.text("--shard", given.shard, "K/N", "Part K of N of the points; `orrery merge` joins the stores");
  line.count("--threads,-j", out.threads, "Threads; they change the time only; default: one for each core", 4096);
  line.changes_nothing("--threads");
  line.seconds("--stop-after", out.seconds, "End after this many seconds; the same command goes on later");
  line.text_or_none("--slurm", out.slurm, out.slurm_options, "OPTIONS",
                    "Run as a job array of Slurm, with these options of sbatch: `--slurm=OPTIONS`");
  line.count("--parts", out.parts, "Tasks of the job array; default 4", 100'000);
  line.toggle("--status", out.status, "Say what the store holds; evaluate nothing");
  line.output_file("--export", out.export_to, "FILE", "Write every point to this file, .csv or .jsonl");
  line.output_file("--svg", out.svg, "FILE", "Draw the points by the first two objectives into this file");
  declare(line, out, "Write result.json, points.csv, front.svg and the best points' files there");
}

// The verb that the words begin with, taken out of them.
void take_verb(Arguments& words, SweepArguments& out) {
  if (words.empty() || words.front().starts_with("-")) return;
  const std::vector<std::string>& known = sweep::swept_verbs();
  std::string name = words.front();
  std::ptrdiff_t long_name = 1;
  if ((name == "sparse" || name == "tune") && words.size() > 1) name += " " + words[1], long_name = 2;
  std::error_code ignored;
  const bool path = name.find_first_of("./") != std::string::npos || fs::exists(name, ignored);
  // Words beside configurations name layers.
  const bool is_verb = std::find(known.begin(), known.end(), name) != known.end();
  if (!is_verb && !path && out.configs.empty()) refuse_word(name);
  if (!is_verb) return;
  out.study.verb = name;
  words.erase(words.begin(), words.begin() + long_name);
  // A value of `--fuse` is an option of layers.
  for (std::size_t i = 0; name == "map" && i < words.size(); ++i) {
    if (words[i] != "--fuse" || (i + 1 < words.size() && !words[i + 1].starts_with("-"))) continue;
    out.study.verb += " --fuse";
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

// The same question without what is each shard's own.
Arguments shard_arguments(const Arguments& arguments) {
  const auto is_own = [](const std::string& argument, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) {
      return argument == name || argument.starts_with(std::string(name) + "=");
    });
  };
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_own(arguments[i], {"--slurm", "--json", "--csv", "--latex", "--quiet", "-q", "--force", "--plot"})) continue;
    if (is_own(arguments[i], {"--parts", "--store", "-o", "--output", "--export", "--svg", "--html"})) {
      if (arguments[i].find('=') == std::string::npos) ++i;
      continue;
    }
    out.push_back(arguments[i]);
  }
  return out;
}

void add_configurations(const Given& given, SweepArguments& out) {
  sweep::Study& study = out.study;
  if (given.imperfect) study.arguments.emplace_back("--factors=imperfect");
  const auto ignore = [&](bool stands, const char* option, const char* why) {
    if (stands) out.warnings.warning("O2063", fmt::format("`{}` is ignored: {}", option, why));
  };
  ignore(given.victory.has_value(), "--vict-cond", "searches are exact and end with a proof");
  ignore(given.live, "--live", "progress is shown on a terminal by itself");
  if (!out.configs.empty()) {
    const auto first = static_cast<std::size_t>(given.first.value_or(0));
    for (sweep::Group& group : sweep::read_configs(base::read_file(out.configs), given.mixed, first))
      study.groups.push_back(std::move(group));
  } else if (given.first || given.mixed || out.ignore_heads || out.summary || out.table || given.imperfect ||
             given.pinned) {
    misuse("O1103",
           "`--init-idx`, `--mix`, `--ignore-heads`, `--summary`, `--table`, `--imperfect` and `--pins` need "
           "`--configs`",
           "name the configurations: `--configs hw_configs.json`");
  }
}

void add_fields(const Given& given, sweep::Study& study) {
  for (const std::string& text : given.vary) study.groups.push_back(sweep::read_vary(text));
  std::vector<std::string> paths;
  for (const sweep::Axis* axis : study.axes()) paths.push_back(axis->path);
  for (const std::string& text : given.where)
    study.where.emplace_back(text, base::Location{text_of("--where", text), 1, 1, static_cast<int>(text.size())},
                             paths);
  for (const std::string& text : given.budgets) {
    const auto shown = text_of("--budget", text);
    const std::size_t equals = std::min(text.find('='), text.size());
    const auto at = [&](std::size_t begin, std::size_t end) {
      return base::Location{shown, 1, static_cast<int>(begin) + 1, std::max(1, static_cast<int>(end - begin))};
    };
    study.budgets.push_back(sweep::read_budget(text.substr(0, equals),
                                               equals < text.size() ? text.substr(equals + 1) : std::string(),
                                               at(0, equals), at(std::min(equals + 1, text.size()), text.size())));
  }
  for (const std::string& name : given.objectives)
    study.objectives.push_back(
        sweep::objective_of(name, {text_of("--objectives", name), 1, 1, static_cast<int>(name.size())}));
}

}  // namespace

bool read_sweep(const Arguments& arguments, Console& console, SweepArguments& out) {
  const bool described = arguments == Arguments{kDescribe};
  Split parts = described ? Split{arguments, {}} : split(arguments);
  Given given;
  CommandLine line("sweep", "Ask one verb many times while fields of the question vary, and store every answer",
                   "orrery sweep map --chip gemmini --model bert-large --vary arch.Scratchpad.depth=8Ki..64Ki:x2");
  std::vector<std::string> words;
  line.words("ARGUMENTS", words,
             "map (default), map --fuse, energy, train, place, serve, sparse simulate or tune select, with its own "
             "options; or a "
             "study document");
  declare_study(line, given);
  declare_configurations(line, out, given);
  declare_run(line, out, given);
  line.pictures();
  if (!line.read(parts.own, console)) return false;

  const std::shared_ptr<const base::SourceFile> file = take_study(parts.verbs);
  sweep::Study& study = out.study;
  if (file) {
    const sweep::Pins pins = study.pins;
    study = sweep::read_study(file);
    study.pins = pins;
  } else {
    take_verb(parts.verbs, out);
  }
  out.shards = shard_arguments(arguments);
  study.arguments.insert(study.arguments.end(), parts.verbs.begin(), parts.verbs.end());
  add_configurations(given, out);
  add_fields(given, study);
  if (study.groups.empty() && !out.status) refuse_missing_study(parts.verbs);
  if (study.objectives.empty() && !out.configs.empty())
    for (const char* name : {"edp-seed", "energy", "cycles", "utilization"})
      study.objectives.push_back(sweep::objective_of(name, {}));
  if (study.objectives.empty()) study.objectives = sweep::usual_objectives(study.verb);
  // The mappings of a point are those that its rank is about.
  const bool told = std::any_of(study.arguments.begin(), study.arguments.end(),
                                [](const std::string& one) { return one.starts_with("--objective"); });
  if (const std::string wanted = sweep::searched_for(study.verb, study.objectives); !told && !wanted.empty())
    study.arguments.insert(study.arguments.end(), {"--objective", wanted});
  if (!given.title.empty()) study.title = given.title;
  if (study.title.empty()) study.title = fmt::format("{} {}", study.verb, base::joined(study.arguments, " "));
  if (!given.shard.empty()) out.shard = shard_of(given.shard);
  if (out.store.empty()) out.store = file ? fs::path(file->name).stem().string() + ".db" : "sweep.db";
  return true;
}

}  // namespace orrery::verbs
