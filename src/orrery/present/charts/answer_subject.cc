#include "orrery/present/charts/answer_subject.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

// The first of these paths that holds a text.
std::string first_text(const Node& document, std::initializer_list<const char*> paths) {
  for (const char* path : paths)
    if (std::string text = text_at(document, path); !text.empty()) return text;
  return "";
}

// Names of inputs in folders of this name: "gemmini" of "catalog/chips/gemmini.yaml".
std::string inputs_in(const Node& document, std::initializer_list<const char*> folders) {
  for (const Node& input : items_at(document, "inputs")) {
    const fs::path path = text_at(input, "name");
    for (const char* folder : folders)
      if (path.parent_path().filename() == folder) return path.stem().string();
  }
  return "";
}

// Files that were given, shortly.
std::string given_files(const Node& document) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Node& input : items_at(document, "inputs"))
    if (const std::string name = fs::path(text_at(input, "name")).stem().string(); seen.insert(name).second)
      names.push_back(name);
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::string subject_of(const Node& document) {
  std::string what = first_text(
      document, {"result.question.model", "result.config.model.name", "result.config.model", "config.model"});
  if (what.empty()) what = inputs_in(document, {"models"});
  const std::vector<Node>& layers = items_at(document, "result.layers");
  if (what.empty() && layers.size() == 1) what = text_at(layers.front(), "name");
  if (what.empty() && layers.size() > 1) what = fmt::format("{} layers", layers.size());
  std::string where = first_text(document, {"result.question.system", "result.config.system"});
  if (where.empty()) where = inputs_in(document, {"chips", "systems"});
  if (what.empty() && where.empty()) return given_files(document);
  const auto gpus = number_at(document, "result.config.gpus");
  return fmt::format("{}{}{}{}", what, !what.empty() && !where.empty() ? " on " : "", where,
                     gpus ? fmt::format(", {} accelerators", shown_number(*gpus)) : "");
}

}  // namespace orrery::verbs
