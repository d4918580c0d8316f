#include "orrery/formats/orrery/catalogue_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/describe/machine/fan_out_name.h"

namespace orrery::formats::orrery {
namespace {

using formats::yaml::Node;

const std::vector<std::string> kKeys = {"title", "description", "normalisation", "precisions", "sources", "figures"};

const Node* top_level(const std::vector<Node>& documents, std::string_view key) {
  for (const Node& document : documents)
    if (const Node* found = document.find(key)) return found;
  return nullptr;
}

std::string text_of(const Node& node, std::string_view what, base::Diagnostics& found) {
  if (node.is_scalar()) return node.scalar;
  found.error("O1113", fmt::format("`{}` must be a text", what), node.where);
  return {};
}

bool demand_map(const Node& node, std::string_view what, base::Diagnostics& found) {
  if (node.is_map()) return true;
  found.error("O1113", fmt::format("`{}` must be a map", what), node.where);
  return false;
}

// `System.Accumulator[1..16]` -> `Accumulator`; `inter_PERows_spatial` -> `PERows`, the container it stands for.
std::string component_of(std::string_view table_name) {
  table_name = table_name.substr(0, table_name.find('['));
  if (const auto dot = table_name.rfind('.'); dot != std::string_view::npos) table_name.remove_prefix(dot + 1);
  const std::string_view container = machine::container_of(table_name);
  return std::string(container.empty() ? table_name : container);
}

// A figure that the file states, and where.
struct Stated {
  std::string component;
  std::string figure;
  base::Location where;
};

void state_nodes(const Node& nodes, std::vector<Stated>& stated) {
  for (const Node& node : nodes.items) {
    if (const Node* inner = node.find("nodes")) state_nodes(*inner, stated);
    const Node* name = node.find("name");
    if (!name) continue;
    const bool container = node.tag == "!Container";
    if (!container || node.find("spatial")) stated.push_back({name->scalar, "shape", name->where});
    const Node* attributes = node.find("attributes");
    if (!attributes) continue;
    for (const Node::Entry& attribute : attributes->entries)
      if (attribute.key.ends_with("bandwidth")) {
        stated.push_back({name->scalar, "bandwidth", attribute.key_where});
        break;
      }
  }
}

void state_tables(const Node* document, const char* figure, std::vector<Stated>& stated) {
  const Node* tables = document ? document->find("tables") : nullptr;
  if (!tables) return;
  for (const Node& table : tables->items)
    if (const Node* name = table.find("name")) stated.push_back({component_of(name->scalar), figure, name->where});
}

std::vector<Stated> stated_figures(const std::vector<Node>& documents) {
  std::vector<Stated> stated;
  if (const Node* architecture = top_level(documents, "architecture"))
    if (const Node* nodes = architecture->find("nodes")) state_nodes(*nodes, stated);
  state_tables(top_level(documents, "ERT"), "energy", stated);
  state_tables(top_level(documents, "ART"), "area", stated);
  return stated;
}

void demand_figure_sources(const std::vector<Node>& documents, const CatalogueBlock& block, base::Diagnostics& found) {
  for (const Stated& stated : stated_figures(documents)) {
    const bool cited = std::any_of(block.figures.begin(), block.figures.end(), [&](const FigureSource& figure) {
      return figure.component == stated.component && figure.figure == stated.figure;
    });
    if (!cited)
      found.error("O1115", fmt::format("the {} of `{}` has no source", stated.figure, stated.component), stated.where)
          .hint(fmt::format("add `{}: {{{}: ...}}` to `orrery.figures`", stated.component, stated.figure));
  }
}

void read_figures(const Node& figures, const std::map<std::string, std::string>& sources, CatalogueBlock& block,
                  base::Diagnostics& found) {
  if (!demand_map(figures, "figures", found)) return;
  std::vector<std::string> known;
  for (const auto& [id, text] : sources) known.push_back(id);
  for (const Node::Entry& component : figures.entries) {
    if (!demand_map(component.value, component.key, found)) continue;
    for (const Node::Entry& figure : component.value.entries) {
      const std::string id = text_of(figure.value, figure.key, found);
      const auto source = sources.find(id);
      if (source != sources.end()) {
        block.figures.push_back({component.key, figure.key, source->second});
      } else if (!id.empty()) {
        found.error("O1113", fmt::format("`{}` is not a source of this file", id), figure.value.where)
            .hint(base::did_you_mean(id, known));
      }
    }
  }
}

}  // namespace

CatalogueBlock read_block(const std::vector<Node>& documents, const base::Location& file, bool demand_sources,
                          base::Diagnostics& found) {
  CatalogueBlock block;
  const Node* node = top_level(documents, "orrery");
  if (!node) {
    if (demand_sources) found.error("O1115", "a catalogue chip has an `orrery` block with its sources", file);
    return block;
  }
  if (!demand_map(*node, "orrery", found)) return block;
  block.present = true;
  for (const Node::Entry& entry : node->entries)
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end())
      found.error("O1113", fmt::format("unknown key `{}` in `orrery`", entry.key), entry.key_where)
          .hint(base::did_you_mean(entry.key, kKeys));

  if (const Node* title = node->find("title"))
    block.title = text_of(*title, "title", found);
  else
    found.error("O1113", "`orrery` has no `title`", node->where);
  if (const Node* description = node->find("description"))
    block.description = text_of(*description, "description", found);
  if (const Node* normalisation = node->find("normalisation")) {
    block.normalisation = text_of(*normalisation, "normalisation", found);
    block.normalisation_where = normalisation->where;
  }
  std::map<std::string, std::string> sources;
  if (const Node* list = node->find("sources"); list && demand_map(*list, "sources", found))
    for (const Node::Entry& entry : list->entries) {
      sources[entry.key] = text_of(entry.value, entry.key, found);
      block.sources.push_back(sources[entry.key]);
    }
  if (const Node* figures = node->find("figures")) read_figures(*figures, sources, block, found);
  if (demand_sources) demand_figure_sources(documents, block, found);
  return block;
}

}  // namespace orrery::formats::orrery
