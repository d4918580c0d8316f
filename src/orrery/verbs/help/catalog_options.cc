#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/shared_options.h"
#include "orrery/formats/orrery/catalogue_names.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/catalogue/model_facts.h"
#include "orrery/present/table_form.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/help/facts_table.h"
#include "orrery/verbs/help/verbs_json.h"

namespace orrery::verbs {
namespace {

std::string entry_text(const Entry& entry, const std::string& kind) {
  std::string out = fmt::format("{} ({}): {}\n", entry.name, kind, entry.title);
  if (!entry.description.empty()) {
    out += "\n" + entry.description;
    if (entry.description.back() != '\n') out += "\n";
  }
  out += "\nfile: " + entry.path + "\n";
  // Of several figures with one source, the source is printed once, and its number beside each.
  const auto number_of = [&](const std::string& source) {
    return std::find(entry.sources.begin(), entry.sources.end(), source) - entry.sources.begin() + 1;
  };
  const auto known = static_cast<std::ptrdiff_t>(entry.sources.size());
  const bool numbered = std::any_of(entry.figures.begin(), entry.figures.end(),
                                    [&](const auto& figure) { return number_of(figure.source) <= known; });
  for (std::size_t i = 0; i < entry.sources.size(); ++i)
    out += (numbered ? fmt::format("source {}: ", i + 1) : "source: ") + entry.sources[i] + "\n";
  if (entry.figures.empty()) return out;
  std::size_t figure_width = 0;
  for (const FigureSource& figure : entry.figures)
    figure_width = std::max(figure_width, verbs::shown_width(figure.figure));
  out += "\n";
  std::size_t component_width = 9;
  for (const FigureSource& figure : entry.figures)
    component_width = std::max(component_width, verbs::shown_width(figure.component));
  for (const FigureSource& figure : entry.figures)
    out += fmt::format(
        "{:<{}}  {:<{}}  {}\n", figure.component, component_width, figure.figure, figure_width,
        number_of(figure.source) <= known ? fmt::format("source {}", number_of(figure.source)) : figure.source);
  return out;
}

// Entries of one kind.
struct Kind {
  std::string name, plural;
  std::vector<Entry> entries;
};

int show_model(const FactsRequest& request, const Console& console) {
  const ModelFacts facts = verbs::model_facts(request);
  report(console, facts.warnings.all());
  if (console.json) {
    console.out << model_document().json(facts, 0, console.command);
    return kDone;
  }
  print(console, entry_text(facts.entry, "model") + "\n" + verbs::facts_table(facts));
  return kDone;
}

int show(const FactsRequest& request, const std::vector<Kind>& kinds, const Console& console) {
  std::error_code ignored;
  const bool folder = std::filesystem::exists(std::filesystem::path(request.model) / "config.json", ignored);
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    for (const Entry& entry : kind.entries) {
      names.push_back(entry.name);
      if (entry.name != request.model) continue;
      if (kind.name == "model") return show_model(request, console);
      if (request.sequence)
        misuse("O1103", fmt::format("--seq is for models, and `{}` is a {}", entry.name, kind.name), "leave it out");
      if (console.json) {
        console.out << entry_document().json({kind.name, entry}, 0, console.command);
      } else {
        print(console, entry_text(entry, kind.name));
      }
      return kDone;
    }
  }
  if (folder) return show_model(request, console);
  base::fail("O1120", fmt::format("the catalogue has no `{}`", request.model), {},
             base::did_you_mean(request.model, names, "`orrery catalog` lists what it has"));
}

bool contains(const Entry& entry, const std::string& word) {
  const auto same = [](char a, char b) { return base::lower(a) == base::lower(b); };
  for (const std::string* text : {&entry.name, &entry.title})
    if (std::search(text->begin(), text->end(), word.begin(), word.end(), same) != text->end()) return true;
  return false;
}

// Keeps the entries that have every word in their name or title; throws InputError O1120 where none has.
void keep_with(const std::vector<std::string>& words, std::vector<Kind>& kinds) {
  std::vector<std::string> names = {"list", "chips", "models", "systems", "stacks", "show"};
  bool some = false;
  for (Kind& kind : kinds) {
    for (const Entry& entry : kind.entries) names.push_back(entry.name);
    std::erase_if(kind.entries, [&](const Entry& entry) {
      return !std::all_of(words.begin(), words.end(), [&](const std::string& word) { return contains(entry, word); });
    });
    some = some || !kind.entries.empty();
  }
  std::erase_if(kinds, [](const Kind& kind) { return kind.entries.empty(); });
  if (!some)
    base::fail("O1120", fmt::format("the catalogue has nothing with `{}`", base::joined(words, "` and `")), {},
               base::did_you_mean(words.front(), names, "`orrery catalog` lists what it has"));
}

}  // namespace

int run_catalog(const Arguments& arguments, Console& console) {
  FactsRequest request;
  CommandLine line("catalog", "The chips, models, systems and software stacks that come with Orrery",
                   "orrery catalog show gemmini");
  std::vector<std::string> words;
  bool chips = false, models = false, systems = false, stacks = false;
  line.words("TEXT", words, "List only entries with this in their name or title");
  line.subverb("list", "Names and titles (default)");
  line.subverb("chips", "List the chips", chips);
  line.subverb("models", "List the models", models);
  line.subverb("systems", "List the systems", systems);
  line.subverb("stacks", "List the software stacks of training runs", stacks);
  line.subverb("show", "One entry with its sources; of a model, its parameters, caches, operations and operators",
               "NAME", request.model, "Chip, model, system or stack, or a model's config.json");
  line.count("--seq", request.sequence, "Tokens in a sequence; default: the model's longest, at most 4096");
  declare_ignored(line, request.use.ignored);
  declare_like(line, request.use.like);
  declare_mtp(line, request.use.ahead);
  if (!line.read(arguments, console)) return kDone;
  const std::string directory = verbs::catalogue_directory();
  // A model is shown without a look at what else there is.
  if (words.empty() && !request.model.empty()) {
    const std::vector<std::string> known = formats::orrery::catalogue_names(directory, formats::orrery::kModel);
    if (verbs::names_a_file(request.model) || std::binary_search(known.begin(), known.end(), request.model))
      return show_model(request, console);
  }
  std::vector<Kind> kinds;
  const bool all = !chips && !models && !systems && !stacks;
  if (all || chips) kinds.push_back({"chip", "chips", verbs::list_chips(directory)});
  if (all || models) kinds.push_back({"model", "models", verbs::list_models(directory)});
  if (all || systems) kinds.push_back({"system", "systems", verbs::list_systems(directory)});
  if (all || stacks) kinds.push_back({"stack", "stacks", verbs::list_stacks(directory)});
  if (!request.model.empty()) {
    if (!words.empty())
      misuse("O1101", fmt::format("`orrery catalog show` does not know what to do with `{}`", words.front()),
             "name one entry at a time");
    return show(request, kinds, console);
  }
  if (!words.empty()) keep_with(words, kinds);
  if (console.json) {
    std::vector<CatalogueEntry> entries;
    for (const Kind& kind : kinds)
      for (const Entry& entry : kind.entries) entries.push_back({kind.name, entry});
    console.out << catalogue_document().json(entries, 0, console.command);
    return kDone;
  }
  if (table_form() != TableForm::kText) {
    Table table;
    table.header = {"kind", "name", "title"};
    for (const Kind& kind : kinds)
      for (const Entry& entry : kind.entries) table.rows.push_back({kind.name, entry.name, entry.title});
    print(console, text(table));
    return kDone;
  }
  std::size_t width = 0;
  for (const Kind& kind : kinds)
    for (const Entry& entry : kind.entries) width = std::max(width, entry.name.size());
  for (const Kind& kind : kinds) {
    console.out << kind.plural << "\n";
    for (const Entry& entry : kind.entries)
      print(console, fmt::format("  {:<{}}  {}\n", entry.name, width, entry.title));
  }
  return kDone;
}

}  // namespace orrery::verbs
