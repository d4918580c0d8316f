#include "orrery/verbs/map/fuse/tree_picture.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/present/graph_svg.h"
#include "orrery/verbs/map/fuse/table.h"

namespace orrery::verbs {
namespace {

constexpr double kRow = 18, kIndent = 16, kMargin = 12, kCharacter = 7.2, kBar = 120, kHead = 40;
constexpr const char* kColours[] = {"#4269d0", "#b8860b", "#c0392b", "#2e8b57", "#7b5ea7", "#8a5a44", "#5f6b6d"};

class Picture {
 public:
  explicit Picture(const BlockAnswer& answer) : answer_(answer) {
    for (const BlockUse& use : answer.use)
      if (use.capacity_bits) capacity_[use.storage] = *use.capacity_bits;
  }

  std::string draw() {
    widest_ = std::max(widest_, kCharacter * static_cast<double>(title().size()) - kBar);
    nodes(answer_.best->tree, 0, {});
    const double width = widest_ + kBar + 3 * kMargin, height = kHead + static_cast<double>(row_) * kRow + kMargin;
    std::string bars;
    for (const auto& [at, bar] : bars_) bars += bar_svg(at, bar);
    std::string boxes;  // outer ones first, so that inner ones lie on them
    for (auto box = boxes_.rbegin(); box != boxes_.rend(); ++box)
      boxes += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n",
                           box->x, y_of(box->from), std::max(20.0, widest_ + kMargin - box->x),
                           static_cast<double>(box->to - box->from) * kRow, box->shared ? "fused" : "loop");
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\">\n<style>text{{font:12px monospace;fill:#222}}rect.loop{{fill:none;stroke:#bbb}}rect.fused{{fill:"
        "#4269d014;stroke:#4269d0}}.out{{fill:none;stroke:#999}}</style>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#fff\"/>\n<text x=\"{2:.0f}\" y=\"16\">{3}</text>\n<text x=\"{4:.0f}\" y=\"32\">full by then</text>\n"
        "{5}{6}{7}</svg>\n",
        width, height, kMargin, xml_text(title()), widest_ + 2 * kMargin, boxes, texts_, bars);
  }

 private:
  struct Box {
    double x = 0;
    int from = 0, to = 0;
    bool shared = false;
  };
  struct Bar {
    std::string storage;
    double held = 0;
  };

  std::string title() const {
    std::string out = answer_.title.empty() ? "" : answer_.title + ": ";
    return out + fmt::format("energy {:.6g}, latency {:.6g}", answer_.best->energy, answer_.best->latency);
  }

  static double y_of(int row) { return kHead + static_cast<double>(row) * kRow; }

  const char* colour_of(const std::string& storage) {
    const auto at = colours_.emplace(storage, colours_.size()).first->second;
    return kColours[at % std::size(kColours)];
  }

  void line(int depth, const std::string& text, const std::string& style = "") {
    const double x = kMargin + depth * kIndent;
    widest_ = std::max(widest_, x + kCharacter * static_cast<double>(text.size()) + kMargin);
    texts_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x + 4, y_of(row_) + 13, style, xml_text(text));
    ++row_;
  }

  // `held`: bits in each storage on the way in.
  void nodes(const std::vector<TreeNode>& list, int depth, std::map<std::string, double> held) {
    for (const TreeNode& node : list) switch (node.kind) {
        case TreeNode::Kind::kHold: {
          held[node.where] += node.bits;
          bars_.emplace_back(row_, Bar{node.where, held[node.where]});
          line(depth,
               fmt::format("{} {} {}, {:.6g} bits", node.where, node.shared ? "hands on" : "keeps", node.name,
                           node.bits),
               fmt::format(" style=\"fill:{}{}\"", colour_of(node.where), node.shared ? ";font-weight:bold" : ""));
          break;
        }
        case TreeNode::Kind::kLoop:
        case TreeNode::Kind::kSpread: {
          const int from = row_;
          line(depth,
               node.kind == TreeNode::Kind::kLoop
                   ? fmt::format("for {} in {} of {}{}", node.name, node.count, node.tile, node.shared ? ", fused" : "")
                   : fmt::format("spread {} in {} of {} over {}", node.name, node.count, node.tile, node.where));
          nodes(node.inside[0], depth + 1, held);
          boxes_.push_back({kMargin + depth * kIndent, from, row_, node.shared});
          break;
        }
        case TreeNode::Kind::kCompute:
          line(depth, fmt::format("{} on {}", node.name, node.where), " style=\"font-style:italic\"");
          break;
        case TreeNode::Kind::kSequence:
        case TreeNode::Kind::kBeside:
          for (std::size_t i = 0; i < node.inside.size(); ++i) {
            line(depth, part_heading(node, i));
            nodes(node.inside[i], depth + 1, held);
          }
          break;
      }
  }

  std::string bar_svg(int row, const Bar& bar) {
    const auto capacity = capacity_.find(bar.storage);
    if (capacity == capacity_.end() || capacity->second <= 0) return "";
    const double share = bar.held / capacity->second;
    const std::string what =
        fmt::format("{}: {:.6g} of {:.6g} bits, {:.3g} %", bar.storage, bar.held, capacity->second, 100 * share);
    return fmt::format(
        "<g><title>{0}</title><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" height=\"10\" fill=\"{4}\"/><rect "
        "x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{5:.1f}\" height=\"10\" class=\"out\"/></g>\n",
        xml_text(what), widest_ + 2 * kMargin, y_of(row) + 4, kBar * std::min(1.0, share), colour_of(bar.storage),
        kBar);
  }

  const BlockAnswer& answer_;
  std::map<std::string, double> capacity_;
  std::map<std::string, std::size_t> colours_;
  std::vector<std::pair<int, Bar>> bars_;
  std::vector<Box> boxes_;
  std::string texts_;
  double widest_ = 360;
  int row_ = 0;
};

}  // namespace

std::string tree_svg(const BlockAnswer& answer) {
  return answer.best ? Picture(answer).draw() : std::string();
}

}  // namespace orrery::verbs
