#include "orrery/formats/onnx/onnx_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/onnx/products.h"
#include "orrery/formats/onnx/shapes.h"

namespace orrery::formats::onnx {
namespace {

constexpr std::size_t kMostErrors = 12, kMostNotes = 12;  // said at once

// What two einsums must have in common to be one layer: everything but the name.
using Form = std::vector<Count>;
Form form_of(const workload::Einsum& einsum) {
  Form form = {static_cast<Count>(einsum.dimensions.size())};
  for (const workload::Dimension& dimension : einsum.dimensions) {
    form.push_back(dimension.name.front());
    form.push_back(dimension.bound);
  }
  for (const workload::Dataspace& dataspace : einsum.dataspaces)
    for (const workload::Rank& rank : dataspace.ranks)
      for (const workload::Term& term : rank.terms) form.push_back(term.coefficient);
  return form;
}

class Finder {
 public:
  Finder(const Model& model, const OperatorOptions& options)
      : model_(model), options_(options), shapes_(infer_shapes(model, options.defined)) {}

  Operators operator()() {
    for (const Node& node : model_.nodes) {
      try {
        visit(node);
      } catch (const base::OverflowError&) {
        found_
            .error("O0931",
                   fmt::format("`{}` ({}) of `{}` has more operations than 64 bits count", node.name, node.type,
                               model_.file->name),
                   model_.whole())
            .note(fmt::format("the operator begins at byte {} of the file", node.byte))
            .hint("check the sizes that `--define` gives");
      } catch (const Misfit&) {  // said while shapes were inferred
      }
      if (found_.all().size() >= kMostErrors) break;
    }
    say_unknown();
    found_.throw_if_errors();
    find_flows();
    warn();
    return std::move(out_);
  }

 private:
  std::vector<std::optional<Shape>> shapes_of(const std::vector<std::string>& tensors) const {
    std::vector<std::optional<Shape>> out;
    for (const std::string& tensor : tensors) {
      const auto known = shapes_.of.find(tensor);
      out.push_back(tensor.empty() || known == shapes_.of.end() ? std::nullopt : known->second.shape);
    }
    return out;
  }

  void find_flows() {
    std::unordered_map<std::string, std::size_t> makers;
    for (std::size_t at = 0; at < model_.nodes.size(); ++at)
      for (const std::string& tensor : model_.nodes[at].outputs)
        if (!tensor.empty()) makers.emplace(tensor, at);
    for (std::size_t at = 0; at < model_.nodes.size(); ++at)
      for (const std::string& tensor : model_.nodes[at].inputs)
        if (const auto maker = makers.find(tensor); maker != makers.end())
          out_.flows.push_back({maker->second, at, shapes_of({tensor}).front()});
  }

  void visit(const Node& node) {
    Operator& op = out_.all.emplace_back();
    op.name = node.name;
    op.type = node.domain.empty() ? node.type : node.domain + "." + node.type;
    op.inputs = shapes_of(node.inputs);
    op.outputs = shapes_of(node.outputs);
    op.byte = node.byte;
    const Known* known = known_operator(node);
    const Shape* read = node.inputs.empty() ? nullptr : shapes_.whole(node.inputs[0]);
    const Shape* written = node.outputs.empty() ? nullptr : shapes_.whole(node.outputs[0]);
    switch (known ? known->work : Work::kUncounted) {
      case Work::kNone:
        op.operations = 0;
        return;
      case Work::kWritten:
        if (written) op.operations = elements(*written);
        return;
      case Work::kRead:
        if (read) op.operations = elements(*read);
        return;
      case Work::kWindow: {
        Count window = 1;
        for (const std::int64_t size : node.integers("kernel_shape").value_or(std::vector<std::int64_t>()))
          window = base::checked_multiply(window, size);
        if (written) op.operations = base::checked_multiply(elements(*written), window);
        return;
      }
      case Work::kProduct:
        return add_product(node, op);
      case Work::kProducts:
        op.operations = products_inside(node, shapes_);
        return;
      case Work::kUncounted:
        return;
    }
  }

  void add_product(const Node& node, Operator& op) {
    const bool packed = node.type == "MatMulNBits", more = node.type == "Einsum" && node.inputs.size() != 2;
    const Operands which = operands(node);
    const auto shape = [&](std::size_t i) { return i < node.inputs.size() ? shapes_.whole(node.inputs[i]) : nullptr; };
    const Shape *first = shape(which.first), *second = packed ? first : shape(which.second);
    const Shape* made = node.outputs.empty() ? nullptr : shapes_.whole(node.outputs[0]);
    if (more) return;
    if (!first || !second || !made) return lost(node);
    const std::optional<Product> product = product_of(node, *first, *second, *made, options_.unfold);
    if (!product) {
      op.operations = products_inside(node, shapes_);
      return;
    }
    if (product->instances == 0) {
      op.operations = 0;
      return;
    }
    op.operations = base::checked_multiply(product->einsum.operations(), product->instances);
    const auto [at, first_of_form] = by_form_.emplace(form_of(product->einsum), out_.layers.size());
    if (first_of_form) out_.layers.push_back({node.name, product->einsum, 0, {}});
    Layer& layer = out_.layers[at->second];
    if (first_of_form) layer.einsum.name = node.name;
    layer.instances = base::checked_add(layer.instances, product->instances);
    layer.operators.push_back(out_.all.size() - 1);
    op.layer = at->second;
  }

  // A product whose shapes are not known: told of by the operator at which they were lost.
  void lost(const Node& node) {
    std::size_t cause = static_cast<std::size_t>(&node - model_.nodes.data());
    for (const std::vector<std::string>* names : {&node.inputs, &node.outputs})
      for (const std::string& name : *names)
        if (const auto at = shapes_.lost_at.find(name); at != shapes_.lost_at.end())
          cause = std::min(cause, at->second);
    lost_[cause].push_back(&node);
  }

  void say_unknown() {
    for (const auto& [cause, products] : lost_) {
      if (found_.all().size() >= kMostErrors) return;
      const Node& node = model_.nodes[cause];
      const Node& first = *products.front();
      base::Diagnostic& error = found_.error(
          "O0936",
          &node == &first
              ? fmt::format("the shapes of `{}` ({}) of `{}` are not known", node.name, node.type, model_.file->name)
              : fmt::format("what `{}` ({}) of `{}` makes has no known shape", node.name, node.type, model_.file->name),
          model_.whole());
      error.note(fmt::format("the operator begins at byte {} of the file", node.byte));
      if (&node != &first)
        error.note(products.size() == 1
                       ? fmt::format("the product `{}` ({}) depends on it", first.name, first.type)
                       : fmt::format("{} products depend on it, the first is `{}` ({})",
                                     base::grouped(static_cast<Count>(products.size())), first.name, first.type));
      error.hint(
          "infer the shapes when the model is exported (`onnx.shape_inference`), or export it with fixed sizes: shapes "
          "that the file states are taken as they are");
    }
  }

  // What is not mapped: by type, the largest share first.
  void warn() {
    struct Left {
      Count count = 0, unknown = 0;
      double operations = 0;
    };
    std::map<std::string, Left> left;
    double all = 0, outside = 0;
    for (const Operator& op : out_.all) {
      const double operations = static_cast<double>(op.operations.value_or(0));
      all += operations;
      if (op.layer || op.operations == 0) continue;
      Left& type = left[op.type];
      ++type.count;
      type.operations += operations;
      outside += operations;
      if (!op.operations) ++type.unknown;
    }
    if (left.empty()) return;
    std::vector<std::pair<std::string, Left>> order(left.begin(), left.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.operations > b.second.operations; });
    const auto share = [all](double part) { return fmt::format("{:.2f} %", all > 0 ? 100 * part / all : 0); };
    base::Diagnostic& warning = out_.warnings.warning(
        "O0937", fmt::format("{} of the operations of `{}` are not mapped", share(outside), model_.file->name),
        model_.whole());
    std::size_t said = 0;
    for (const auto& [type, part] : order) {
      if (++said > kMostNotes) {
        warning.note(fmt::format("and {} more types", order.size() - kMostNotes));
        break;
      }
      const std::string count = fmt::format("{} operator{}", base::grouped(part.count), base::plural(part.count));
      warning.note(part.unknown == part.count ? fmt::format("{}: {}, whose operations are not known", type, count)
                                              : fmt::format("{}: {}, {}", type, count, share(part.operations)));
    }
  }

  const Model& model_;
  const OperatorOptions& options_;
  Shapes shapes_;
  Operators out_;
  std::map<Form, std::size_t> by_form_;
  std::map<std::size_t, std::vector<const Node*>> lost_;
  base::Diagnostics found_;
};

}  // namespace

double Operators::operations() const {
  double sum = 0;
  for (const Operator& op : all) sum += static_cast<double>(op.operations.value_or(0));
  return sum;
}

Operators find_operators(const Model& model, const OperatorOptions& options) {
  return Finder(model, options)();
}

}  // namespace orrery::formats::onnx
