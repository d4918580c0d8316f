#include "orrery/verbs/map/fuse/table.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::string block_figure(double value) {
  return fmt::format("{:.6g}", value);
}

// Of storage, in words that suit its size.
std::string shown_bytes(double bits) {
  const double bytes = bits / 8;
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.4g} KiB", bytes / (1 << 10));
  return fmt::format("{:.4g} B", bytes);
}

using Bits = std::map<std::string, double>;  // by storage

// `held`: on the way in.
void draw_nodes(const std::vector<TreeNode>& nodes, std::size_t depth, Bits held, const Bits& capacity,
                std::string& out) {
  const std::string indent(2 * depth, ' ');
  for (const TreeNode& node : nodes) {
    switch (node.kind) {
      case TreeNode::Kind::kHold: {
        const double bits = held[node.where] += node.bits;
        const auto room = capacity.find(node.where);
        out += fmt::format("{}{} {} {} ({}{})\n", indent, node.where, node.shared ? "hands on" : "keeps", node.name,
                           shown_bytes(node.bits),
                           room == capacity.end() ? "" : fmt::format("; {:.3g} % full", 100 * bits / room->second));
        break;
      }
      case TreeNode::Kind::kLoop:
        out += fmt::format("{}for {} in {} of {}{}\n", indent, node.name, node.count, node.tile,
                           node.shared ? ", fused" : "");
        draw_nodes(node.inside[0], depth + 1, held, capacity, out);
        break;
      case TreeNode::Kind::kSpread:
        out += fmt::format("{}spread {} in {} of {} over {}\n", indent, node.name, node.count, node.tile, node.where);
        draw_nodes(node.inside[0], depth + 1, held, capacity, out);
        break;
      case TreeNode::Kind::kCompute:
        out += fmt::format("{}{} on {}\n", indent, node.name, node.where);
        break;
      case TreeNode::Kind::kSequence:
      case TreeNode::Kind::kBeside:
        for (std::size_t i = 0; i < node.inside.size(); ++i) {
          out += fmt::format("{}{}\n", indent, part_heading(node, i));
          draw_nodes(node.inside[i], depth + 1, held, capacity, out);
        }
        break;
    }
  }
}

std::string change_text(double with, double without) {
  if (without <= 0) return "";
  return fmt::format("{:+.2f} %", 100 * (with / without - 1));
}

std::string einsum_table(const BlockAnswer& answer) {
  Table table;
  table.header = {"einsum", "unit", "bound by", "energy", "latency"};
  table.left_columns = {1, 2};
  if (answer.unfused) {
    table.header.emplace_back("unfused energy");
    table.header.emplace_back("unfused latency");
  }
  for (const BlockEinsum& one : answer.einsums) {
    table.rows.push_back({one.name, one.unit, one.bound_by, block_figure(one.energy), block_figure(one.latency)});
    if (answer.unfused) {
      table.rows.back().push_back(block_figure(one.unfused_energy));
      table.rows.back().push_back(block_figure(one.unfused_latency));
    }
  }
  table.rules_before = {table.rows.size()};
  table.rows.push_back({"all", "", "", block_figure(answer.best->energy), block_figure(answer.best->latency)});
  if (answer.unfused) {
    table.rows.back().push_back(block_figure(answer.unfused->first));
    table.rows.back().push_back(block_figure(answer.unfused->second));
  }
  return text(table);
}

std::string storage_table(const BlockAnswer& answer) {
  Table table;
  table.header = {"storage", "read", "written", "energy", "holds at most", "of"};
  for (const BlockTraffic& one : answer.storages) {
    table.rows.push_back(
        {one.storage, shown_bytes(one.read_bits), shown_bytes(one.written_bits), block_figure(one.energy)});
    auto& row = table.rows.back();
    for (const BlockUse& use : answer.use) {
      if (use.storage != one.storage) continue;
      row.push_back(shown_bytes(use.bits));
      row.push_back(use.capacity_bits ? shown_bytes(*use.capacity_bits) : "no limit");
    }
    row.resize(table.header.size());
  }
  return text(table);
}

std::string traffic_table(const BlockAnswer& answer) {
  Table table;
  table.header = {"tensor", "storage", "read", "written", "energy"};
  table.left_columns = {1};
  for (const BlockTraffic& one : answer.traffic)
    table.rows.push_back(
        {one.tensor, one.storage, shown_bytes(one.read_bits), shown_bytes(one.written_bits), block_figure(one.energy)});
  return text(table);
}

std::string exchange_table(const BlockAnswer& answer) {
  Table table;
  table.header = {"handed on", "storage", "tile", "of", "below loops over"};
  table.left_columns = {1, 4};
  const bool outside = std::any_of(answer.exchanges.begin(), answer.exchanges.end(),
                                   [](const BlockExchange& one) { return one.outside.has_value(); });
  if (outside) table.header.insert(table.header.end(), {"outside: energy", "latency"});
  for (const BlockExchange& one : answer.exchanges) {
    table.rows.push_back({one.tensor, one.storage, shown_bytes(one.tile_bits), shown_bytes(one.bits),
                          fmt::format("{}", fmt::join(one.loops, ", "))});
    if (!outside) continue;
    table.rows.back().push_back(one.outside ? change_text(one.outside->first, answer.best->energy) : "");
    table.rows.back().push_back(one.outside ? change_text(one.outside->second, answer.best->latency) : "");
  }
  return table.rows.empty() ? "" : text(table);
}

std::string roofline_text(const BlockRoofline& roofline) {
  std::string out = fmt::format("\n{} moves {}", roofline.storage, shown_bytes(8 * roofline.bytes));
  if (roofline.unfused_bytes) out += fmt::format(" instead of {}", shown_bytes(8 * *roofline.unfused_bytes));
  out += fmt::format(": {:.4g} operations a byte", roofline.intensity);
  if (roofline.unfused_intensity) out += fmt::format(" instead of {:.4g}", *roofline.unfused_intensity);
  if (roofline.ridge) out += fmt::format("; below {:.4g} its ports take longer than the units", *roofline.ridge);
  return out;
}

std::string trade_off_table(const BlockAnswer& answer) {
  Table table;
  table.header = {"trade-off", "energy", "latency"};
  for (std::size_t i = 0; i < answer.front.size(); ++i)
    table.rows.push_back(
        {fmt::format("{}", i + 1), block_figure(answer.front[i].energy), block_figure(answer.front[i].latency)});
  return text(table);
}

}  // namespace

const char* part_heading(const TreeNode& node, std::size_t part) {
  if (node.kind == TreeNode::Kind::kBeside) return part == 0 ? "side by side" : "a round behind";
  return part == 0 ? "first" : "then";
}

std::string map_fuse_table(const BlockAnswer& answer) {
  if (!answer.best) return "";
  std::string out = answer.title.empty() ? "" : answer.title + "\n\n";
  Bits capacity;
  for (const BlockUse& use : answer.use)
    if (use.capacity_bits && *use.capacity_bits > 0) capacity[use.storage] = *use.capacity_bits;
  draw_nodes(answer.best->tree, 0, {}, capacity, out);
  out += "\n" + einsum_table(answer) + "\n" + storage_table(answer) + "\n" + traffic_table(answer);
  if (const std::string handed = exchange_table(answer); !handed.empty()) out += "\n" + handed;
  if (!answer.front.empty()) out += "\n" + trade_off_table(answer);
  out += fmt::format("\nenergy {}, latency {}, in {}", block_figure(answer.best->energy),
                     block_figure(answer.best->latency), answer.native ? "pJ and cycles" : "the files' units");
  if (answer.unfused)
    out +=
        fmt::format("; against unfused: energy {}, latency {}", change_text(answer.best->energy, answer.unfused->first),
                    change_text(answer.best->latency, answer.unfused->second));
  if (const auto& why = answer.why)
    out += why->best ? fmt::format("\nwith {} handed on in {}: energy {}, latency {}", why->tensor, why->storage,
                                   change_text(why->best->first, answer.best->energy),
                                   change_text(why->best->second, answer.best->latency))
                     : fmt::format("\n{} cannot be handed on in {}", why->tensor, why->storage);
  if (answer.roofline) out += roofline_text(*answer.roofline);
  for (const std::string& note : answer.notes) out += "\n" + note;
  if (!answer.searched) return out + "\nthe tree was given: nothing is proven\n";
  const base::Certificate& proven = answer.certificate;
  out += proven.optimal ? fmt::format("\nproven: no allowed tree has less {}\n", answer.objective)
                        : fmt::format("\nnot proven: {} may be less by {:.2f} %\n", answer.objective, 100 * proven.gap);
  return out;
}

}  // namespace orrery::verbs
