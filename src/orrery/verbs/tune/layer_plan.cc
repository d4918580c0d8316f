#include "orrery/verbs/tune/layer_plan.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/text_file.h"
#include "orrery/base/text/whole_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::json::Node;

constexpr const char* kHint = "remove the file; `orrery tune select` on a folder of `tune bench` writes a new one";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string plan_path(const std::string& key) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  return (fs::path(folder) / "plans" / (base::content_hash(key) + ".json")).string();
}

std::string layouts_path(std::string plan) {
  plan.insert(plan.size() - std::string(".json").size(), "-layouts");
  return plan;
}

bool write(const std::string& path, const std::string& text) {
  return base::write_whole_file(path, text).empty();
}

std::optional<double> positive(const Node& plan, const char* key) {
  const formats::json::Member* member = plan.find(key);
  if (member == nullptr || !member->value.is_number() || !(member->value.number > 0)) return std::nullopt;
  return member->value.number;
}

}  // namespace

std::string cache_folder() {
  if (std::string own = variable("ORRERY_CACHE"); !own.empty()) return own;
  if (const std::string all = variable("XDG_CACHE_HOME"); !all.empty()) return (fs::path(all) / "orrery").string();
  if (const std::string home = variable("HOME"); !home.empty()) return (fs::path(home) / ".cache/orrery").string();
  return {};
}

std::optional<double> built_in_ms(const std::string& folder) {
  std::ifstream in(fs::path(folder) / kBuiltInFile);
  constexpr const char* kBefore = "layer time = ";
  for (std::string line; std::getline(in, line);) {
    double seconds = 0;
    if (!line.starts_with(kBefore)) continue;
    std::istringstream rest(line.substr(std::string(kBefore).size()));
    if (rest >> seconds && seconds > 0) return seconds * 1e3;
  }
  return std::nullopt;
}

std::optional<LayerPlan> keep_plan(const std::string& folder, double layouts_ms, const std::string& layout_text,
                                   base::Diagnostics& warnings) {
  const std::optional<std::string> key = machine_of_store(folder);
  const std::optional<double> built_in = built_in_ms(folder);
  if (!key || !built_in || key->find(fmt::format("\"processor\": \"{}\"", processor_name())) == std::string::npos)
    return std::nullopt;
  LayerPlan plan{*built_in, layouts_ms, plan_path(*key), {}};
  if (plan.file.empty()) return plan;
  std::error_code failed;
  fs::create_directories(fs::path(plan.file).parent_path(), failed);
  bool kept = !failed;
  if (!plan.built_in()) {
    plan.layouts = layouts_path(plan.file);
    kept = kept && write(plan.layouts, layout_text);
  }
  const std::string text =
      fmt::format("{{\n  \"built_in_ms\": {:.9g},\n  \"layouts_ms\": {:.9g}\n}}\n", plan.built_in_ms, plan.layouts_ms);
  kept = kept && write(plan.file, text);
  if (kept) return plan;
  warnings.warning("O1760", fmt::format("the plan cannot be kept in `{}`", plan.file))
      .hint("set ORRERY_CACHE to a folder that can be written");
  plan.file.clear(), plan.layouts.clear();
  return plan;
}

std::optional<LayerPlan> find_plan(const MachineKey& key, base::Diagnostics& warnings) {
  const std::string path = plan_path(text_of(key));
  std::error_code failed;
  if (path.empty() || !fs::exists(path, failed)) return std::nullopt;
  try {
    const Node plan = formats::json::parse(base::read_file(path), "O1761", kHint);
    const std::optional<double> built_in = positive(plan, "built_in_ms"), layouts = positive(plan, "layouts_ms");
    LayerPlan out{built_in.value_or(0), layouts.value_or(0), path, {}};
    if (built_in && layouts && !out.built_in()) out.layouts = layouts_path(path);
    if (built_in && layouts && (out.built_in() || fs::exists(out.layouts, failed))) return out;
  } catch (const base::InputError&) {
  }
  warnings.warning("O1761", fmt::format("`{}` is no plan of a layer, and is not used", path)).hint(kHint);
  return std::nullopt;
}

}  // namespace orrery::verbs
