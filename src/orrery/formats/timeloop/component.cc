#include "orrery/formats/timeloop/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "orrery/base/edit_distance.h"
#include "orrery/formats/timeloop/key_check.h"

namespace orrery::formats::timeloop {
namespace {

constexpr std::array<std::string_view, 8> kStorageClasses = {"dram",    "sram",   "regfile",  "smartbuffer",
                                                             "storage", "buffer", "register", "cache"};
constexpr std::array<std::string_view, 2> kComputeClasses = {"mac", "compute"};
constexpr std::array<std::string_view, 4> kNetworkClasses = {"simplemulticast", "legacy", "reductiontree", "xy_noc"};

constexpr std::array<std::string_view, 5> kStorageAttributes = {"entries", "depth", "sizeKB", "block_size",
                                                                "multiple_buffering"};

// Attributes whose misspelling changes what the chip is.
constexpr auto kKnownAttributes = std::to_array<std::string_view>({"entries",
                                                                   "depth",
                                                                   "sizeKB",
                                                                   "width",
                                                                   "datawidth",
                                                                   "word_bits",
                                                                   "block_size",
                                                                   "cluster_size",
                                                                   "instances",
                                                                   "meshX",
                                                                   "meshY",
                                                                   "bandwidth",
                                                                   "read_bandwidth",
                                                                   "write_bandwidth",
                                                                   "shared_bandwidth",
                                                                   "multiple_buffering",
                                                                   "min_utilization",
                                                                   "network_read",
                                                                   "network_update",
                                                                   "network_fill",
                                                                   "network_drain",
                                                                   "network_fill_latency",
                                                                   "network_drain_latency",
                                                                   "network_word_bits",
                                                                   "network_operand",
                                                                   "network_result",
                                                                   "vector_access_energy",
                                                                   "reduction_supported",
                                                                   "power_gated_at",
                                                                   "technology",
                                                                   "global_cycle_seconds"});

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <typename List>
bool contains_one(std::string_view class_name, const List& list) {
  const std::string name = lower(class_name);
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace

AttributeFrame::AttributeFrame(const AttributeFrame& around, const yaml::Node* own)
    : outer(&around), attributes(own), scope(&around.scope) {
  if (own != nullptr) scope.define_all(*own);
}

const yaml::Node* AttributeFrame::find(std::string_view key) const {
  for (const AttributeFrame* frame = this; frame != nullptr; frame = frame->outer) {
    // The outermost frame has no node: `variables` are the attributes of all.
    const yaml::Node* value = frame->outer == nullptr        ? frame->scope.node_of(key)
                              : frame->attributes != nullptr ? frame->attributes->find(key)
                                                             : nullptr;
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

bool is_storage_class(std::string_view class_name) {
  return contains_one(class_name, kStorageClasses);
}

ComponentKind kind_of(const Component& component) {
  if (component.frame == nullptr) return ComponentKind::kStorage;
  if (contains_one(component.class_name, kNetworkClasses)) return ComponentKind::kNetwork;
  // A compute class first: "memcell_compute" computes, though "memcell_storage" stores.
  if (contains_one(component.class_name, kComputeClasses)) return ComponentKind::kCompute;
  if (is_storage_class(component.class_name)) return ComponentKind::kStorage;
  if (component.says_compute) return ComponentKind::kCompute;
  const yaml::Node* own = component.frame->attributes;
  const bool stores = own != nullptr && std::any_of(kStorageAttributes.begin(), kStorageAttributes.end(),
                                                    [&](std::string_view key) { return own->find(key) != nullptr; });
  return stores ? ComponentKind::kStorage : ComponentKind::kUnknown;
}

void warn_misspelt_attributes(const yaml::Node& attributes, base::Diagnostics& found) {
  for (const auto& entry : attributes.entries) {
    const std::string key = plain_key(entry.key);
    if (key.size() < 5 || std::find(kKnownAttributes.begin(), kKnownAttributes.end(), key) != kKnownAttributes.end()) {
      continue;
    }
    std::string_view near;
    std::size_t best = 3;
    for (std::string_view known : kKnownAttributes) {
      const std::size_t distance = base::edit_distance(lower(key), lower(known));
      if (distance < best && known.size() > 2 * distance + 2) {
        best = distance;
        near = known;
      }
    }
    if (near.empty() || attributes.find(near) != nullptr) continue;
    found
        .warning("O0322", fmt::format("`{}` is an attribute of no meaning here, and looks like `{}`", entry.key, near),
                 entry.key_where)
        .hint(base::did_you_mean(near));
  }
}

}  // namespace orrery::formats::timeloop
