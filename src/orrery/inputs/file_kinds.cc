#include "orrery/inputs/file_kinds.h"

#include <filesystem>
#include <system_error>

#include "orrery/formats/json/json_document.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {
namespace {

bool is_file(const std::string& path) {
  std::error_code failure;
  return std::filesystem::is_regular_file(path, failure);
}

// Whether the JSON document of a file answers `question` with yes.
template <typename Question>
bool json_where(const std::string& path, Question question) {
  if (!is_file(path)) return false;
  try {
    return question(formats::json::parse(formats::yaml::read_file(path), "O0900"));
  } catch (const base::InputError&) {
    return false;
  }
}

}  // namespace

bool is_transformer(const std::string& path) {
  return path.ends_with(".json") &&
         json_where(path, [](const formats::json::Node& tree) { return tree.find("model_type") != nullptr; });
}

bool is_system(const std::string& path) {
  if (!(path.ends_with(".yaml") || path.ends_with(".yml")) || !is_file(path)) return false;
  try {
    base::Diagnostics repeated;  // the reader says them again
    const std::vector<formats::yaml::Node> documents =
        formats::yaml::parse(formats::yaml::read_file(path), base::Severity::kError, repeated);
    return documents.size() == 1 && documents[0].find("system") != nullptr;
  } catch (const base::InputError&) {
    return false;
  }
}

bool is_amped(const std::string& path) {
  return json_where(path, [](const formats::json::Node& tree) {
    return tree.is_object() && !tree.find("model_type") &&
           (tree.find("neural_network_training_parameters") || tree.find("accelerator_specifications"));
  });
}

bool is_onnx(const std::string& path) {
  return path.size() > 5 && path.ends_with(".onnx");
}

bool is_json(const std::string& path) {
  return path.size() > 5 && path.ends_with(".json");
}

}  // namespace orrery::verbs
