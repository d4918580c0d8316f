#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/table.h"
#include "orrery/report/verbs_json.h"
#include "orrery/scenario/catalogue.h"

namespace orrery::cli {
namespace {

using scenario::Entry;

void print_entry(const Entry& entry, const std::string& kind, const Console& console) {
  console.out << fmt::format("{} ({}): {}\n", entry.name, kind, entry.title);
  if (!entry.description.empty()) {
    console.out << "\n" << entry.description;
    if (entry.description.back() != '\n') console.out << "\n";
  }
  console.out << "\nfile: " << entry.path << "\n";
  for (const std::string& source : entry.sources) console.out << "source: " << source << "\n";
  if (entry.figures.empty()) return;
  std::size_t figure_width = 0;
  for (const scenario::FigureSource& figure : entry.figures)
    figure_width = std::max(figure_width, report::shown_width(figure.figure));
  console.out << "\n";
  std::size_t component_width = 9;
  for (const scenario::FigureSource& figure : entry.figures)
    component_width = std::max(component_width, report::shown_width(figure.component));
  for (const scenario::FigureSource& figure : entry.figures)
    console.out << fmt::format("{:<{}}  {:<{}}  {}\n", figure.component, component_width, figure.figure, figure_width,
                               figure.source);
}

// Entries of one kind.
struct Kind {
  std::string name, plural;
  std::vector<Entry> entries;
};

int show(const std::string& name, const std::vector<Kind>& kinds, const Console& console) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    for (const Entry& entry : kind.entries) {
      names.push_back(entry.name);
      if (entry.name != name) continue;
      if (console.json) {
        console.out << report::catalog_json(kVersion, report::CatalogueEntry{kind.name, entry});
      } else {
        print_entry(entry, kind.name, console);
      }
      return kDone;
    }
  }
  base::fail("O1120", fmt::format("the catalogue has no `{}`", name), {},
             base::did_you_mean(name, names, "`orrery catalog` lists what it has"));
}

}  // namespace

int run_catalog(const Arguments& arguments, Console& console) {
  std::string name;
  CommandLine line("catalog", "The chips, models and systems that come with Orrery", "orrery catalog show gemmini");
  line.subverb("list", "Names and titles (default)");
  line.subverb("show", "One entry with the source of each figure", "NAME", name, "Chip, model or system");
  if (!line.read(arguments, console)) return kDone;
  const std::string directory = scenario::catalogue_directory();
  const std::vector<Kind> kinds = {{"chip", "chips", scenario::list_chips(directory)},
                                   {"model", "models", scenario::list_models(directory)},
                                   {"system", "systems", scenario::list_systems(directory)}};
  if (!name.empty()) return show(name, kinds, console);
  if (console.json) {
    std::vector<report::CatalogueEntry> entries;
    for (const Kind& kind : kinds)
      for (const Entry& entry : kind.entries) entries.push_back({kind.name, entry});
    console.out << report::catalog_json(kVersion, entries);
    return kDone;
  }
  std::size_t width = 0;
  for (const Kind& kind : kinds)
    for (const Entry& entry : kind.entries) width = std::max(width, entry.name.size());
  for (const Kind& kind : kinds) {
    console.out << kind.plural << "\n";
    for (const Entry& entry : kind.entries)
      console.out << fmt::format("  {:<{}}  {}\n", entry.name, width, entry.title);
  }
  return kDone;
}

}  // namespace orrery::cli
