#include "orrery/inputs/catalogue/catalogue.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/huggingface_config.h"
#include "orrery/formats/orrery/catalogue_block.h"
#include "orrery/formats/orrery/catalogue_names.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/formats/timeloop/documents/plain_document.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/program_file.h"

namespace orrery::verbs {
bool names_a_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml") ||
         text.ends_with(".json") || text.ends_with(".cfg");
}

namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;

using formats::orrery::catalogue_names;
using formats::orrery::CatalogueKind;
using formats::orrery::entry_path;
using formats::orrery::fail_unknown;
using formats::orrery::has_entry;
using formats::orrery::kChip;
using formats::orrery::kModel;

bool is_catalogue(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory / kChip.folder, ignored) && fs::is_directory(directory / kModel.folder, ignored);
}

// One chip file without its normalisation partner; `block` receives what that is.
ChipFile read_chip(const std::string& path, const std::string& name, bool in_catalogue,
                   formats::orrery::CatalogueBlock& block) {
  ChipFile chip;
  chip.file = yaml::read_file(path);
  auto documents = formats::timeloop::parse_plain(
      chip.file, in_catalogue ? base::Severity::kError : base::Severity::kWarning, chip.diagnostics);
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
  if (has_entry(directory, kChip, block.normalisation))
    return std::make_shared<ChipFile>(
        read_chip(entry_path(directory, kChip, block.normalisation), block.normalisation, true, ignored));
  const fs::path beside = fs::path(chip.entry.path).parent_path() / block.normalisation;
  std::error_code error;
  if (names_a_file(block.normalisation) && fs::exists(beside, error))
    return std::make_shared<ChipFile>(read_chip(beside.string(), beside.string(), false, ignored));
  CatalogueKind wanted = kChip;
  wanted.code = "O1114";
  wanted.what = "chip for normalisations called";
  wanted.option = "normalisation:";
  fail_unknown(directory, wanted, block.normalisation, block.normalisation_where);
}

// OWNER/NAME, as models are called on Hugging Face's hub.
bool is_hub_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string::npos && text.front() != '.' && text.front() != '~' &&
         !text.ends_with(".json") && !text.ends_with(".yaml") && !text.ends_with(".yml");
}

// The config.json that `text` means: a file, or a folder that has one.
std::string model_path(const std::string& directory, const std::string& text) {
  std::error_code error;
  if (fs::is_directory(text, error)) {
    const fs::path inside = fs::path(text) / "config.json";
    if (fs::exists(inside, error)) return inside.string();
    base::fail("O0100", fmt::format("the folder `{}` has no config.json", text), {},
               "give the folder of a model as Hugging Face has it, or the path of its config.json");
  }
  if (text.ends_with(".onnx"))
    base::fail("O0117", fmt::format("`{}` is an ONNX model, and no config.json", text), {},
               fmt::format("give it as a file: `orrery map --chip NAME {}`", text));
  if (!names_a_file(text) || (is_hub_name(text) && !fs::exists(text, error))) fail_unknown(directory, kModel, text);
  return text;
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
  const fs::path executable = program_file();
  if (!executable.empty())
    tried.push_back((executable.parent_path() / "../share/orrery/catalog").lexically_normal().string());
  if (executable.string().starts_with(ORRERY_BUILD_DIR "/")) tried.emplace_back(ORRERY_SOURCE_DIR "/catalog");
  for (const std::string& directory : tried)
    if (is_catalogue(directory)) return directory;
  base::fail("O1110", fmt::format("the catalogue is not installed: looked in {}", base::joined(tried, ", ")), {},
             "set ORRERY_CATALOG to the directory that holds `chips` and `models`");
}

std::vector<Entry> list_chips(const std::string& directory) {
  std::vector<Entry> entries;
  formats::orrery::CatalogueBlock block;
  for (const std::string& name : catalogue_names(directory, kChip))
    entries.push_back(read_chip(entry_path(directory, kChip, name), name, true, block).entry);
  return entries;
}

std::vector<Entry> list_models(const std::string& directory) {
  std::vector<Entry> entries;
  for (const std::string& name : catalogue_names(directory, kModel))
    entries.push_back(load_model(directory, name).entry);
  return entries;
}

std::vector<Entry> list_systems(const std::string& directory) {
  return formats::orrery::list_systems(directory);
}

std::vector<Entry> list_stacks(const std::string& directory) {
  return formats::orrery::list_stacks(directory);
}

ChipFile load_chip(const std::string& directory, const std::string& name_or_path, bool with_normalisation) {
  const bool in_catalogue = has_entry(directory, kChip, name_or_path);
  if (!in_catalogue && !names_a_file(name_or_path)) fail_unknown(directory, kChip, name_or_path);
  formats::orrery::CatalogueBlock block;
  ChipFile chip = read_chip(in_catalogue ? entry_path(directory, kChip, name_or_path) : name_or_path, name_or_path,
                            in_catalogue, block);
  if (with_normalisation && !block.normalisation.empty()) chip.normalisation = partner(directory, chip, block);
  return chip;
}

ModelFile load_model(const std::string& directory, const std::string& name_or_path, const ModelUse& use) {
  const bool in_catalogue = has_entry(directory, kModel, name_or_path);
  if (in_catalogue && !use.like.empty())
    base::fail("O1103", fmt::format("--like {} with `{}`, whose type the catalogue knows", use.like, name_or_path), {},
               "leave it out; of a file of yours with that name, give a path: `./" + name_or_path + "`");
  const std::string path =
      in_catalogue ? entry_path(directory, kModel, name_or_path) : model_path(directory, name_or_path);

  using formats::huggingface::Strictness;
  ModelFile model;
  model.file = yaml::read_file(path);
  auto document = formats::huggingface::read_config(
      model.file, {in_catalogue ? Strictness::kCatalogue : Strictness::kForeign, use.ignored, use.outside, use.like,
                   use.ahead, use.ahead_apart, true});
  for (const std::string& key : use.ignored)
    model.ignored.push_back({"--ignore " + key, base::content_hash(key + model.file->text)});
  model.transformer = std::move(document.transformer);
  model.weights = std::move(document.weights);
  model.diagnostics = std::move(document.diagnostics);
  model.entry = {name_or_path, document.title.empty() ? model.transformer.name : document.title, {}, path, {}, {}};
  for (const auto& [key, source] : document.sources) model.entry.sources.push_back(fmt::format("{}: {}", key, source));
  return model;
}

}  // namespace orrery::verbs
