#include "orrery/formats/dfmodel/setup_places.h"

#include <algorithm>
#include <utility>

namespace orrery::formats::dfmodel {

namespace {

std::vector<const Entry*> entries_of(const Block& root, std::string_view name) {
  std::vector<const Entry*> found;
  if (const Entry* graph = root.find("dataflow_graph"))
    for (const Entry& entry : graph->block.entries)
      if (entry.field->name == name) found.push_back(&entry);
  return found;
}

std::vector<const Entry*> chosen(const std::vector<const Entry*>& all, const std::vector<int>& positions) {
  std::vector<const Entry*> out;
  for (const int position : positions) out.push_back(all.at(static_cast<std::size_t>(position)));
  return out;
}

// The field itself, or in a kernel's body.
const Entry* field_of(const Block& block, std::string_view field) {
  if (const Entry* entry = block.find(field)) return entry;
  for (const Entry& entry : block.entries)
    if (entry.field->block)
      if (const Entry* inner = entry.block.find(field)) return inner;
  return nullptr;
}

base::Location place_of(const std::vector<const Entry*>& entries, int index, std::string_view field) {
  if (index < 0 || static_cast<std::size_t>(index) >= entries.size()) return {};
  const Entry& entry = *entries[static_cast<std::size_t>(index)];
  const Entry* inner = field.empty() ? nullptr : field_of(entry.block, field);
  return inner ? inner->where : entry.where;
}

const Entry* find_alias(const Block& block, std::string_view name) {
  const auto first_of = [&](const std::vector<std::string>& names) -> const Entry* {
    for (const Entry& entry : block.entries)
      if (std::find(names.begin(), names.end(), entry.field->name) != names.end()) return &entry;
    return nullptr;
  };
  if (const Entry* entry = block.find(name)) return entry;
  if (name == "execution") return block.find("miscellany");
  if (name == "topology") return first_of(topology_names());
  if (name == "workload") return first_of(workload_names());
  return nullptr;
}

}  // namespace

SetupPlaces::SetupPlaces(std::shared_ptr<const Block> root, std::vector<int> kernels, std::vector<int> edges)
    : root_(std::move(root)),
      kernels_(chosen(entries_of(*root_, "kernels"), kernels)),
      edges_(chosen(entries_of(*root_, "connections"), edges)) {}

base::Location SetupPlaces::kernel(int index, std::string_view field) const {
  return place_of(kernels_, index, field);
}

base::Location SetupPlaces::edge(int index, std::string_view field) const {
  return place_of(edges_, index, field);
}

const Entry* SetupPlaces::find(std::string_view path, base::Location& nearest) const {
  if (!root_) return nullptr;
  nearest = root_->where;
  const Block* block = root_.get();
  const Entry* entry = nullptr;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    entry = find_alias(*block, path.substr(0, dot));
    if (!entry) return nullptr;
    nearest = entry->where;
    block = &entry->block;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return entry;
}

base::Location SetupPlaces::at(std::string_view path) const {
  base::Location nearest;
  find(path, nearest);
  return nearest;
}

bool SetupPlaces::has(std::string_view path) const {
  base::Location nearest;
  return find(path, nearest) != nullptr;
}

}  // namespace orrery::formats::dfmodel
