#include "orrery/formats/timeloop/architecture/architecture_component.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/architecture/known_attributes.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

constexpr std::array<std::string_view, 8> kStorageClasses = {"dram",    "sram",   "regfile",  "smartbuffer",
                                                             "storage", "buffer", "register", "cache"};
constexpr std::array<std::string_view, 2> kComputeClasses = {"mac", "compute"};
constexpr std::array<std::string_view, 4> kNetworkClasses = {"simplemulticast", "legacy", "reductiontree", "xy_noc"};

constexpr auto kStorageAttributes =
    std::to_array<std::string_view>({"entries", "depth", "memory_depth", "data_storage_depth", "sizeKB", "block_size",
                                     "n_words", "multiple_buffering"});

// Timeloop's other names of an attribute, or none.
std::vector<std::string_view> other_names(std::string_view key) {
  if (key == "width") return {"memory_width", "data_storage_width"};
  if (key == "depth") return {"memory_depth", "data_storage_depth"};
  if (key == "word_bits") return {"word_width"};
  if (key == "block_size") return {"n_words"};
  return {};
}

// What estimators read besides, and names near to those that others read.
constexpr auto kEstimatorAttributes =
    std::to_array<std::string_view>({"n_banks", "n_rw_ports", "n_rdwr_ports", "resolution", "cellwidth"});
constexpr auto kOthersAttributes = std::to_array<std::string_view>(
    {"nbanks", "n_ranks", "n_ports", "nports", "n_rd_ports", "n_wr_ports", "num_ports", "cell_width", "cellheight"});

constexpr auto kScales = std::to_array<std::string_view>({"energy_scale", "area_scale", "energy_share", "area_share"});

template <typename List>
bool contains_one(std::string_view class_name, const List& list) {
  const std::string name = base::lower(class_name);
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

void misspelt(const yaml::Node::Entry& entry, std::string_view near, base::Diagnostics& found) {
  found
      .warning("O0322", fmt::format("`{}` is not an attribute that is used here, but looks like `{}`", entry.key, near),
               entry.key_where)
      .hint(base::did_you_mean(near));
}

// Whether the edit distance may be less than `most`, from the lengths alone.
bool may_be_nearer(std::string_view a, std::string_view b, std::size_t most) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size()) < most;
}

}  // namespace

AttributeFrame::AttributeFrame(const AttributeFrame& around, const yaml::Node* own)
    : outer(&around), attributes(own), scope(&around.scope) {
  if (own != nullptr) scope.define_all(*own);
}

const yaml::Node* AttributeFrame::find(std::string_view key) const {
  const std::vector<std::string_view> others = other_names(key);
  for (const AttributeFrame* frame = this; frame != nullptr; frame = frame->outer) {
    // The outermost frame has no node: `variables` are the attributes of all.
    const auto named = [&](std::string_view name) {
      const yaml::Node* value = frame->outer == nullptr        ? frame->scope.node_of(name)
                                : frame->attributes != nullptr ? frame->attributes->find(name)
                                                               : nullptr;
      return value != nullptr && !value->is_null() ? value : nullptr;
    };
    if (const yaml::Node* value = named(key)) return value;
    if (frame->attributes == nullptr) continue;
    for (const std::string_view other : others)
      if (const yaml::Node* value = named(other)) return value;
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

bool is_wire(const Component& component) {
  return kind_of(component) == ComponentKind::kUnknown &&
         base::lower(component.class_name).find("wire") != std::string::npos;
}

void warn_misspelt_attributes(const yaml::Node& attributes, base::Diagnostics& found) {
  for (const auto& entry : attributes.entries) {
    const std::string key = plain_key(entry.key);
    if (key.size() < 5 || base::contains(kKnownAttributes, key) || key == "n_instances") continue;  // an estimator's
    std::string_view near;
    std::size_t best = 3;
    for (std::string_view known : kKnownAttributes) {
      if (!may_be_nearer(key, known, best)) continue;
      const std::size_t distance = base::edit_distance(base::lower(key), base::lower(known));
      if (distance < best && known.size() > 2 * distance + 2) {
        best = distance;
        near = known;
      }
    }
    if (near.empty() || attributes.find(near) != nullptr) continue;
    misspelt(entry, near, found);
  }
}

void warn_of_attributes_nobody_estimates_by(const yaml::Node& attributes, base::Diagnostics& found) {
  for (const auto& entry : attributes.entries) {
    const std::string key = plain_key(entry.key);
    if (base::contains(kScales, key)) {
      found.warning("O0326", fmt::format("`{}` among the attributes scales nothing", entry.key), entry.key_where)
          .note("attributes describe what is estimated; a scale belongs to the component itself")
          .hint(fmt::format("write `{}` next to `attributes`, not in it", key));
      continue;
    }
    if (key.size() < 5 || base::contains(kEstimatorAttributes, key) || base::contains(kOthersAttributes, key) ||
        base::contains(kKnownAttributes, key)) {
      continue;
    }
    const auto near =
        std::find_if(kEstimatorAttributes.begin(), kEstimatorAttributes.end(), [&](std::string_view known) {
          return may_be_nearer(key, known, 2) && base::edit_distance(base::lower(key), base::lower(known)) <= 1;
        });
    if (near != kEstimatorAttributes.end() && attributes.find(*near) == nullptr) misspelt(entry, *near, found);
  }
}

}  // namespace orrery::formats::timeloop
