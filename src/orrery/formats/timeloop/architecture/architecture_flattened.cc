// `local` at the top, as Accelergy writes a `flattened_architecture` -> components.
//
// Names are whole paths, whose ranges multiply: `chip.PE[0..15].buffer[0..1]` stands for 32 buffers. The list has no
// order, so it says what there is and what it costs, but not which storage lies inside which.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

// `a.b[0..3].c[1..2]` -> `a.b.c` and 8; a count of 0 where a range is none.
std::pair<std::string, base::Count> without_ranges(const std::string& path) {
  std::pair<std::string, base::Count> out{"", 1};
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] != '[') {
      out.first += path[at++];
      continue;
    }
    const std::size_t dots = path.find("..", at), close = path.find(']', at);
    if (dots == std::string::npos || close == std::string::npos || dots > close) return {path, 0};
    const base::Count size = range_size(std::string_view(path).substr(at + 1, close - at - 1)).value_or(0);
    if (size < 1 || __builtin_mul_overflow(out.second, size, &out.second)) return {path, 0};
    at = close + 1;
  }
  return out;
}

}  // namespace

void flatten_local(const yaml::Node& local, const AttributeFrame& top, Flattened& into, base::Diagnostics& found) {
  if (!local.is_sequence()) {
    found.error("O0302", "`local` must be a list", local.where);
    return;
  }
  static const std::vector<std::string> kKeys = {
      "name", "class", "subclass", "attributes", "enabled", "required_actions", "area_scale", "energy_scale"};
  for (const yaml::Node& node : local.items) {
    if (!node.is_map()) {
      found.error("O0305", "a component must be a map", node.where);
      continue;
    }
    warn_unknown_keys(node, kKeys, "O0323", "a component", found);
    const std::string written = name_of(node, "a component", found);
    if (written.empty()) continue;
    const AttributeFrame& frame = into.frames.emplace_back(top, attributes_of(node, found));
    if (!is_enabled(node, frame.scope, found)) continue;
    const auto [name, count] = without_ranges(written);
    if (count < 1) {
      found
          .error("O0306", fmt::format("the ranges of `{}` make no number of instances", written),
                 node.find("name")->where)
          .hint("`PE[0..15].buffer` stands for 16 instances");
      continue;
    }
    auto component = read_component(node, name, frame, found);
    if (!component) continue;
    component->meshes_known = false;
    component->table_path = written;
    component->instances = count;
    component->mesh_where = node.find("name")->where;
    into.components.push_back(std::move(*component));
  }
}

}  // namespace orrery::formats::timeloop
