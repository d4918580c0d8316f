#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/table.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/systems.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;
using scenario::Entry;

Json entry_json(const Entry& entry, const std::string& kind) {
  Json figures = Json::array();
  for (const scenario::FigureSource& figure : entry.figures)
    figures.push_back(Json{{"component", figure.component}, {"figure", figure.figure}, {"source", figure.source}});
  return Json{{"name", entry.name},           {"kind", kind},
              {"title", entry.title},         {"description", entry.description},
              {"path", entry.path},           {"sources", entry.sources},
              {"figures", std::move(figures)}};
}

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

Json document(Json result) {
  return Json{{"schema", "orrery.catalog/1"}, {"version", kVersion}, {"result", std::move(result)}};
}

// Entries of one kind.
struct Kind {
  std::string name, plural;
  std::vector<Entry> entries;
};

int show(const CatalogOptions& options, const std::vector<Kind>& kinds, const Console& console) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    for (const Entry& entry : kind.entries) {
      names.push_back(entry.name);
      if (entry.name != options.name) continue;
      if (options.json) {
        console.out << document(entry_json(entry, kind.name)).dump(2) << "\n";
      } else {
        print_entry(entry, kind.name, console);
      }
      return kDone;
    }
  }
  base::fail("O1120", fmt::format("the catalogue has no `{}`", options.name), {},
             base::did_you_mean(options.name, names, "`orrery catalog` lists what it has"));
}

}  // namespace

int run_catalog(const CatalogOptions& options, const Console& console) {
  const std::string directory = scenario::catalogue_directory();
  const std::vector<Kind> kinds = {{"chip", "chips", scenario::list_chips(directory)},
                                   {"model", "models", scenario::list_models(directory)},
                                   {"system", "systems", scenario::list_systems(directory)}};
  if (!options.name.empty()) return show(options, kinds, console);
  if (options.json) {
    Json entries = Json::array();
    for (const Kind& kind : kinds)
      for (const Entry& entry : kind.entries) entries.push_back(entry_json(entry, kind.name));
    console.out << document(Json{{"entries", std::move(entries)}}).dump(2) << "\n";
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
