#include "orrery/scenario/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "orrery/base/content_hash.h"
#include "orrery/base/edit_distance.h"
#include "orrery/formats/huggingface/config.h"
#include "orrery/formats/orrery/catalogue_block.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::scenario {
bool names_a_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml") ||
         text.ends_with(".json");
}

namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;

constexpr const char* kChips = "chips";
constexpr const char* kModels = "models";

bool is_catalogue(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory / kChips, ignored) && fs::is_directory(directory / kModels, ignored);
}

// Names of the entries of `directory`/`kind`, sorted.
std::vector<std::string> names(const std::string& directory, const char* kind, std::string_view suffix) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(directory) / kind, ignored))
    if (entry.path().extension() == suffix) found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string path_of(const std::string& directory, const char* kind, const std::string& name, const char* suffix) {
  return (fs::path(directory) / kind / (name + suffix)).string();
}

bool has_entry(const std::string& directory, const char* kind, const std::string& name, const char* suffix) {
  std::error_code ignored;
  return !name.empty() && !names_a_file(name) && fs::exists(path_of(directory, kind, name, suffix), ignored);
}

[[noreturn]] void fail_unknown(const char* code, const char* what, const char* option, const std::string& name,
                               const std::vector<std::string>& known, base::Location where = {}) {
  base::Diagnostics found;
  base::Diagnostic& unknown =
      found.error(code, fmt::format("the catalogue has no {} `{}`", what, name), std::move(where));
  unknown.note(fmt::format("it has: {}", fmt::join(known, ", ")));
  unknown.hint(base::did_you_mean(name, known));
  unknown.hint(fmt::format("a file of your own is given by its path: `{} ./{}`", option, name));
  throw base::InputError(found.all());
}

// One chip file without its normalisation partner; `block` receives what that is.
ChipFile read_chip(const std::string& path, const std::string& name, bool in_catalogue,
                   formats::orrery::CatalogueBlock& block) {
  ChipFile chip;
  chip.file = yaml::read_file(path);
  auto documents =
      yaml::parse(chip.file, in_catalogue ? base::Severity::kError : base::Severity::kWarning, chip.diagnostics);
  const bool silent = chip.diagnostics.all().empty();
  block = formats::orrery::read_block(documents, {chip.file, 0, 0, 1}, in_catalogue, chip.diagnostics);
  chip.diagnostics.throw_if_errors();
  if (silent) chip.parsed = std::move(documents);
  chip.entry = {name, block.title.empty() ? name : block.title, block.description, path, block.sources, block.figures};
  return chip;
}

// The chip that a `normalisation` entry names: of the catalogue, or a file beside the one that names it.
std::shared_ptr<const ChipFile> partner(const std::string& directory, const ChipFile& chip,
                                        const formats::orrery::CatalogueBlock& block) {
  formats::orrery::CatalogueBlock ignored;
  if (has_entry(directory, kChips, block.normalisation, ".yaml"))
    return std::make_shared<ChipFile>(
        read_chip(path_of(directory, kChips, block.normalisation, ".yaml"), block.normalisation, true, ignored));
  const fs::path beside = fs::path(chip.entry.path).parent_path() / block.normalisation;
  std::error_code error;
  if (names_a_file(block.normalisation) && fs::exists(beside, error))
    return std::make_shared<ChipFile>(read_chip(beside.string(), beside.string(), false, ignored));
  fail_unknown("O1114", "chip for normalisations called", "normalisation:", block.normalisation,
               names(directory, kChips, ".yaml"), block.normalisation_where);
}

}  // namespace

const ChipFile& ChipFile::for_role(workload::OperatorRole role) const {
  return role == workload::OperatorRole::kNormalisation && normalisation ? *normalisation : *this;
}

std::string catalogue_directory() {
  std::vector<std::string> tried;
  if (const char* given = std::getenv("ORRERY_CATALOG"); given && *given) {
    if (is_catalogue(given)) return given;
    base::fail("O1110", fmt::format("ORRERY_CATALOG names `{}`, which has no folders `chips` and `models`", given), {},
               "correct the variable or unset it");
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) tried.push_back((executable.parent_path() / "../share/orrery/catalog").lexically_normal().string());
  if (executable.string().starts_with(ORRERY_BUILD_DIR "/")) tried.emplace_back(ORRERY_SOURCE_DIR "/catalog");
  for (const std::string& directory : tried)
    if (is_catalogue(directory)) return directory;
  base::fail("O1110", fmt::format("the catalogue is not installed: looked in {}", fmt::join(tried, ", ")), {},
             "set ORRERY_CATALOG to the directory that holds `chips` and `models`");
}

std::vector<Entry> list_chips(const std::string& directory) {
  std::vector<Entry> entries;
  formats::orrery::CatalogueBlock block;
  for (const std::string& name : names(directory, kChips, ".yaml"))
    entries.push_back(read_chip(path_of(directory, kChips, name, ".yaml"), name, true, block).entry);
  return entries;
}

std::vector<Entry> list_models(const std::string& directory) {
  std::vector<Entry> entries;
  for (const std::string& name : names(directory, kModels, ".json"))
    entries.push_back(load_model(directory, name).entry);
  return entries;
}

std::vector<Entry> list_systems(const std::string& directory) {
  return formats::orrery::list_systems(directory);
}

ChipFile load_chip(const std::string& directory, const std::string& name_or_path, bool with_normalisation) {
  const bool in_catalogue = has_entry(directory, kChips, name_or_path, ".yaml");
  if (!in_catalogue && !names_a_file(name_or_path))
    fail_unknown("O1111", "chip", "--chip", name_or_path, names(directory, kChips, ".yaml"));
  formats::orrery::CatalogueBlock block;
  ChipFile chip = read_chip(in_catalogue ? path_of(directory, kChips, name_or_path, ".yaml") : name_or_path,
                            name_or_path, in_catalogue, block);
  if (with_normalisation && !block.normalisation.empty()) chip.normalisation = partner(directory, chip, block);
  return chip;
}

ModelFile load_model(const std::string& directory, const std::string& name_or_path, const ModelUse& use) {
  const bool in_catalogue = has_entry(directory, kModels, name_or_path, ".json");
  if (!in_catalogue && !names_a_file(name_or_path))
    fail_unknown("O1112", "model", "--model", name_or_path, names(directory, kModels, ".json"));
  const std::string path = in_catalogue ? path_of(directory, kModels, name_or_path, ".json") : name_or_path;

  using formats::huggingface::Strictness;
  ModelFile model;
  model.file = yaml::read_file(path);
  auto document = formats::huggingface::read_config(
      model.file, {in_catalogue ? Strictness::kCatalogue : Strictness::kForeign, use.ignored, use.outside, use.like});
  for (const std::string& key : use.ignored)
    model.ignored.push_back({"--ignore " + key, base::content_hash(key + model.file->text)});
  model.transformer = std::move(document.transformer);
  model.diagnostics = std::move(document.diagnostics);
  model.entry = {name_or_path, document.title.empty() ? model.transformer.name : document.title, {}, path, {}, {}};
  for (const auto& [key, source] : document.sources) model.entry.sources.push_back(fmt::format("{}: {}", key, source));
  return model;
}

}  // namespace orrery::scenario
