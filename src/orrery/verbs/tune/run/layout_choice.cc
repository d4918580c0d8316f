// The file names 51 of the graph's 77 tensors: the rest follow. Weights' gradients have their weights' layouts, DSB2
// and DX those of SB2 and X; parts of the stacks BKQV, KKQQVV, WKKWQQWVV and DKKQQVV have theirs without the stack's
// letter.
#include "orrery/verbs/tune/run/layout_choice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;
using tuning::Graph;
using tuning::LayoutChoice;

constexpr const char* kCode = "O1746";
constexpr const char* kWhoWritesIt = "`orrery tune select DIR --output_config FILE` writes such a file";

struct StackedTensor {
  const char* name;
  const char* parts[3];
};
constexpr StackedTensor kStacks[] = {{"BKQV", {"BK", "BQ", "BV"}},
                                     {"KKQQVV", {"KK", "QQ", "VV"}},
                                     {"WKKWQQWVV", {"WKK", "WQQ", "WVV"}},
                                     {"DKKQQVV", {"DKK", "DQQ", "DVV"}}};

class Reader {
 public:
  Reader(const Graph& graph, base::Diagnostics& found) : graph_(graph), found_(found) {
    for (const tuning::Variable& variable : graph.variables) names_.push_back(variable.name);
    for (const StackedTensor& stack : kStacks) names_.emplace_back(stack.name);
  }

  void read(const Node& root, LayoutChoice& choice, base::Diagnostics& warnings) {
    if (!root.is_object()) return error("a layout file is an object", root.where);
    for (const formats::json::Member& member : root.members) {
      const std::string& key = member.key;
      if (key == "input" || key == "output") {
        pair(member.value, choice);
      } else if (key == "params" || key == "forward_interm" || key == "backward_interm") {
        if (member.value.kind != Node::Kind::kList)
          error(fmt::format("`{}` is a list of pairs", key), member.value.where);
        for (const Node& one : member.value.items) pair(one, choice);
      } else if (key == "special_dims") {
        for (const formats::json::Member& one : member.value.members) special(one, choice);
      } else if (key == "algorithms") {
        algorithms(member, choice, warnings);
      } else {
        error(fmt::format("a layout file has no `{}`", key), member.key_where);
      }
    }
  }

  // What follows from what was said.
  void complete(LayoutChoice& choice) const {
    auto& layouts = choice.layouts;
    for (const StackedTensor& stack : kStacks) {
      const auto at = layouts.find(stack.name);
      if (at == layouts.end()) continue;
      for (const char* part : stack.parts) {
        std::string layout = at->second;
        std::erase(layout, 'q');
        if (graph_.variable(part)->dims.find('k') != std::string::npos)
          std::replace(layout.begin(), layout.end(), 'j', 'k');
        layouts.emplace(part, layout);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [one, other] : graph_.equal)
        for (const auto& [known, open] : {std::pair(one, other), std::pair(other, one)})
          if (layouts.count(known) != 0 && layouts.count(open) == 0)
            layouts[open] = layouts.find(known)->second, changed = true;
    }
    std::erase_if(layouts, [&](const auto& one) { return graph_.variable(one.first) == nullptr; });
  }

 private:
  void error(std::string message, const base::Location& where, std::string hint = kWhoWritesIt) {
    found_.error(kCode, std::move(message), where).hint(std::move(hint));
  }

  void pair(const Node& node, LayoutChoice& choice) {
    if (node.items.size() != 2 || !node.items[0].is_text() || !node.items[1].is_text())
      return error("a tensor stands as [\"NAME\", \"LAYOUT\"]", node.where);
    const std::string& name = node.items[0].text;
    const std::string layout = base::lower(node.items[1].text);
    if (std::find(names_.begin(), names_.end(), name) == names_.end())
      return error(fmt::format("the layer has no tensor `{}`", name), node.items[0].where,
                   base::did_you_mean(name, names_, fmt::format("it has {}", base::joined(names_, ", "))));
    const auto [at, added] = choice.layouts.emplace(name, layout);
    if (!added && at->second != layout)
      error(fmt::format("`{}` is {} here and {} before", name, layout, at->second), node.where, "give one of the two");
  }

  void special(const formats::json::Member& member, LayoutChoice& choice) {
    for (const tuning::Operator& op : graph_.operators) {
      if (op.kind != tuning::Kind::kKernel) continue;
      const tuning::FusedKernel& kernel = *tuning::fused_kernel(op.benchmark());
      for (const std::string& one : kernel.specials) {
        const std::string name = op.name == "softmax" ? "SM" : base::upper(op.name);
        if (member.key != name + "_" + base::upper(one)) continue;
        const std::string letters(kernel.choices(one)), letter = base::lower(member.value.text);
        if (letter.size() == 1 && letters.find(letter) != std::string::npos) {
          choice.specials[op.name][one] = letter[0];
          return;
        }
        return error(fmt::format("`{}` is not a dimension that `{}` may be", member.value.text, member.key),
                     member.value.where, fmt::format("it is one of {}", base::joined(base::upper(letters), ", ")));
      }
    }
    error(fmt::format("no operator has `{}`", member.key), member.key_where);
  }

  static void algorithms(const formats::json::Member& member, LayoutChoice& choice, base::Diagnostics& warnings) {
    std::set<std::string> others;
    for (const formats::json::Member& one : member.value.members) {
      const std::string& text = one.value.text;
      if (text == "DEFAULT") continue;
      if (const tuning::BlasLibrary* library = tuning::BlasLibrary::find(base::lower(text)))
        choice.libraries[one.key] = library;
      else
        others.insert(text);
    }
    if (others.empty()) return;
    warnings.warning("O1748", "`algorithms` of the layout file have no effect", member.key_where)
        .note(fmt::format(
            "{} are of a GPU's library, or of one that is not installed here; Orrery computes these products",
            base::joined(others, ", ")));
  }

  const Graph& graph_;
  base::Diagnostics& found_;
  std::vector<std::string> names_;
};

// What of the layer the graph does not have.
std::vector<std::string> unlike_graph(const layer::Shape& s) {
  std::vector<std::string> other;
  const auto unlike = [&](bool is, const char* what) {
    if (is) other.emplace_back(what);
  };
  unlike(s.activation != kernels::Activation::kRelu, "another activation than ReLU");
  unlike(s.gated, "a gated network");
  unlike(s.norms == layer::Place::kPre, "norms before its branches");
  unlike(!s.centred || !s.shift, "other norms than LayerNorm with a shift");
  unlike(s.causal || s.window != 0, "attention to some tokens only");
  unlike(s.cross, "cross attention");
  unlike(s.rotary != layer::Rotary::kNone, "rotary positions");
  unlike(s.kv_heads() != s.heads || s.query_width() != s.width, "heads that are shared or do not make its width");
  unlike(!s.qkv_bias || !s.out_bias || !s.network_bias, "maps without biases");
  unlike(s.score_scale != 0, "another factor of scores");
  unlike(s.type != kernels::Type::kF32 && s.type != kernels::Type::kBf16, "another type than fp32 or bf16");
  unlike(s.epsilon != 1e-5F, "another epsilon in its norms than 1e-5");
  return other;
}

}  // namespace

LayoutChoice read_layout_choice(const std::string& path, const Graph& graph, base::Diagnostics& warnings) {
  const Node root = formats::json::parse(base::read_file(path), kCode, kWhoWritesIt);
  base::Diagnostics found;
  LayoutChoice choice;
  Reader reader(graph, found);
  reader.read(root, choice, warnings);
  found.throw_if_errors();
  reader.complete(choice);
  const std::vector<std::string> faults = tuning::faults_of(graph, choice);
  if (!faults.empty()) {
    base::Diagnostic& no = found.error(kCode, fmt::format("the layouts of `{}` cannot be run", path), root.where);
    for (const std::string& fault : faults) no.note(fault);
    no.hint(kWhoWritesIt);
  }
  found.throw_if_errors();
  return choice;
}

bool is_of_graph(const layer::Shape& shape) {
  return unlike_graph(shape).empty();
}

Graph graph_of_layer(const layer::Shape& s) {
  const std::vector<std::string> other = unlike_graph(s);
  if (!other.empty()) {
    base::Diagnostics found;
    base::Diagnostic& no =
        found.error("O1747", "a layout file is for Substation's encoder layer, and this layer is another");
    for (const std::string& one : other) no.note("it has " + one);
    no.hint("give sizes without a model: `--batch 8 --seq 512 --emb-size 1024 --num-heads 16`");
    found.throw_if_errors();
  }
  return tuning::encoder_graph(tuning::Sizes::encoder(s.batch, s.length, s.heads, s.width, s.hidden));
}

}  // namespace orrery::verbs
