// The estimators and their order. Of equally accurate ones the first listed answers, so the user's own tables come
// before everything that was brought along, and an exact run of CACTI before its table.
#include "orrery/inputs/layers/estimators.h"

#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/describe/energy/dram.h"
#include "orrery/describe/energy/dummy.h"
#include "orrery/describe/energy/estimation_table.h"
#include "orrery/describe/energy/library.h"
#include "orrery/describe/energy/register_file.h"
#include "orrery/describe/energy/sram/sram.h"
#include "orrery/formats/accelergy/catalogue_tables.h"
#include "orrery/formats/accelergy/table_set.h"
#include "orrery/formats/cacti/cacti_errors.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/cacti/program.h"
#include "orrery/formats/cacti/run_cache.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

constexpr double kPublishedPercent = 75;
constexpr double kPublishedPercentLast = 50;  // below all that Accelergy has: answers only what it refuses
constexpr double kAladdinPercent = 70;

// A megabyte of text, which a chip without an SRAM never needs.
energy::SramSurfaces surfaces_on_demand(const std::filesystem::path& tables) {
  struct Once {
    std::mutex mutex;
    energy::SramSurfaces surfaces;
  };
  return [tables, once = std::make_shared<Once>()](int technology_nm) {
    {
      const std::lock_guard lock(once->mutex);
      const auto file = [&](const char* name) { return formats::yaml::read_file((tables / name).string()); };
      if (!once->surfaces)
        once->surfaces = formats::cacti::sram_surfaces(file("sram_cacti7.csv"), file("sram_cacti7_runners_up.csv"));
    }
    return once->surfaces(technology_nm);
  };
}

// A program that was only found answers where the table would have to interpolate: rows of the table are its own
// figures already, at no cost.
energy::SramModel with_program_between_rows(energy::SramModel table, const std::filesystem::path& program) {
  auto exact = formats::cacti::program_model({.program = program, .cache = formats::cacti::user_cache()});
  return [table = std::move(table), exact = std::move(exact)](int technology_nm, const energy::SramPoint& point) {
    auto known = table(technology_nm, point);
    const auto* answer = std::get_if<energy::SramAnswer>(&known);
    if (answer && answer->from.origin == energy::SramOrigin::kTable && answer->from.parts == 1) return known;
    auto run = exact(technology_nm, point);
    return std::holds_alternative<energy::SramAnswer>(run) ? run : known;
  };
}

void write(const energy::Attributes& attributes, std::string& key) {
  for (const auto& [name, value] : attributes)
    key += fmt::format("{}={}:{}\n", name, value.index(), energy::text(value));
  key += ';';
}

// All of the components that figures and messages depend on, places apart.
std::string key_of(const std::vector<energy::Component>& components) {
  std::string key;
  for (const energy::Component& component : components) {
    key += fmt::format("{}\n{}\n{}\n{}\n", component.name, component.table_name, component.class_name,
                       component.instances);
    for (const energy::Primitive& primitive : component.primitives) {
      key += fmt::format("{}\n{}\n{}\n", primitive.path, primitive.class_name, primitive.area_weight);
      write(primitive.attributes, key);
    }
    for (const energy::Action& action : component.actions) {
      key += action.name + "\n";
      write(action.arguments, key);
      for (const energy::Term& term : action.terms) {
        key += fmt::format("{}\n{}\n{}\n", term.primitive, term.action, term.weight);
        write(term.arguments, key);
      }
    }
    key += '\f';
  }
  return key;
}

}  // namespace

void Estimators::load() {
  if (loaded_) return;
  loaded_ = true;
  std::vector<energy::TableSet> sets;
  for (const std::string& folder : setup_.tables) {
    std::vector<energy::TableSet> more = formats::accelergy::read_table_sets(folder, loading_);
    std::move(more.begin(), more.end(), std::back_inserter(sets));
  }
  const std::filesystem::path tables =
      std::filesystem::path(setup_.catalogue.empty() ? catalogue_directory() : setup_.catalogue) / "tables";
  formats::accelergy::CatalogueTables known = formats::accelergy::read_catalogue_tables(tables.string(), loading_);
  if (loading_.has_errors()) return;

  const auto add = [this](auto estimator) {
    estimators_.push_back(std::make_unique<decltype(estimator)>(std::move(estimator)));
  };
  if (!sets.empty()) add(energy::EstimationTables(std::move(sets), setup_.options()));
  if (setup_.reproduced.defects.charge_fan_outs) add(energy::Dummy());
  add(energy::Library(std::move(known.library), known.nodes));
  const auto errors = std::make_shared<const energy::SramErrors>(
      formats::cacti::read_sram_errors(formats::yaml::read_file((tables / "sram_errors.csv").string()), loading_));
  if (loading_.has_errors()) return;
  energy::SramModel memories = energy::surface_model(surfaces_on_demand(tables));
  if (!setup_.cacti.empty()) {
    estimators_.push_back(
        formats::cacti::program_estimator({.program = setup_.cacti, .cache = formats::cacti::user_cache()}, errors));
  } else if (const auto program = formats::cacti::find_program()) {
    memories = with_program_between_rows(std::move(memories), *program);
  }
  add(energy::Sram("sram", energy::kSramAccuracyPercent, std::move(memories), errors));
  add(energy::Dram(std::move(known.dram)));
  add(energy::RegisterFile(std::make_shared<const energy::Library>(known.published, known.nodes),
                           std::make_shared<const energy::Library>(known.aladdin, known.nodes)));
  add(energy::Library(
      std::move(known.published), known.nodes,
      {.name = "published",
       .accuracy_percent = setup_.reproduced.defects.published_last ? kPublishedPercentLast : kPublishedPercent}));
  add(energy::Library(std::move(known.aladdin), std::move(known.nodes),
                      {.name = "aladdin", .accuracy_percent = kAladdinPercent, .scales_technology = false}));
}

const std::vector<std::unique_ptr<energy::Estimator>>& Estimators::all() {
  load();
  loading_.throw_if_errors();
  return estimators_;
}

Estimates Estimators::estimate(const std::vector<energy::Component>& components, base::Diagnostics& found) {
  load();
  found.append(loading_);
  if (loading_.has_errors()) return nullptr;
  auto [known, fresh] = known_.try_emplace(key_of(components));
  auto& [estimates, said] = known->second;
  if (fresh) {
    auto figures = energy::estimate(components, estimators_, setup_.options(), said);
    if (!said.has_errors())
      estimates = std::make_shared<const std::vector<energy::EstimatedComponent>>(std::move(figures));
  }
  found.append(said);
  return estimates;
}

std::string find_cacti() {
  const auto program = formats::cacti::find_program();
  return program ? program->string() : std::string();
}

void mention_unused(const EstimatorSetup& setup, base::Diagnostics& found) {
  std::vector<std::string> options;
  if (!setup.tables.empty()) options.emplace_back("`--tables`");
  if (!setup.cacti.empty()) options.emplace_back("`--cacti`");
  for (const std::string& name : setup.reproduced.names) options.push_back(fmt::format("`--compat {}`", name));
  if (options.empty()) return;
  found
      .warning("O1261", fmt::format("{} {} nothing: every chip has an ERT", base::joined(options, " and "),
                                    base::plural(options.size(), "changes", "change")))
      .note("figures that are given are not estimated")
      .hint("leave the ERT out, or see `orrery energy`, which leaves it aside");
}

}  // namespace orrery::verbs
