// Operators stand in a file after those whose results they use, so one walk suffices. Its cost: linear in the file.
#include "orrery/formats/onnx/shapes.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/onnx/open_dimensions.h"

namespace orrery::formats::onnx {
namespace {

constexpr std::size_t kMostMisfits = 12;          // said at once
constexpr std::size_t kMostWords = 32 << 20;      // that shapes and values may take
constexpr std::size_t kMostValueWords = 8 << 20;  // values alone: those beyond are not known

class Inference {
 public:
  Inference(const Model& model, const base::Overrides& defined)
      : model_(model), sizes_(sizes_of_symbols(model, defined)) {}

  Shapes operator()() {
    for (const Tensor& tensor : model_.tensors) shapes_.of[tensor.name] = {tensor.shape, tensor.integers, tensor.reals};
    for (const Declared& input : model_.inputs) shapes_.of[input.name].shape = declared(input);
    for (const std::vector<Declared>* list : {&model_.values, &model_.outputs})
      for (const Declared& value : *list) declared_.emplace(value.name, &value);
    for (std::size_t i = 0; i < model_.nodes.size() && found_.all().size() < kMostMisfits; ++i) visit(i);
    found_.throw_if_errors();
    return std::move(shapes_);
  }

 private:
  // Nothing where the file says nothing; kUnknown for a symbol without a size.
  std::optional<Shape> declared(const Declared& value) const {
    if (!value.dimensions) return std::nullopt;
    Shape shape;
    for (std::size_t i = 0; i < value.dimensions->size(); ++i) {
      const Count size = (*value.dimensions)[i].size;
      shape.push_back(size == kUnknown ? size_of(value, i, sizes_).value_or(kUnknown) : size);
    }
    return shape;
  }

  base::Diagnostic& error(const char* code, const Node& node, const std::string& what) {
    return found_
        .error(code, fmt::format("`{}` ({}) of `{}`: {}", node.name, node.type, model_.file->name, what),
               model_.whole())
        .note(fmt::format("the operator begins at byte {} of the file", node.byte));
  }

  void visit(std::size_t index) {
    const Node& node = model_.nodes[index];
    Site site{node, model_.opset, {}, {}};
    for (const std::string& input : node.inputs) {
      if (input.empty()) {
        site.in.push_back(nullptr);
        continue;
      }
      const auto known = shapes_.of.find(input);
      if (known == shapes_.of.end()) {
        error("O0934", node, fmt::format("nothing before it makes its input `{}`", input))
            .hint("operators stand after those whose results they use; the model may be cut off or badly joined");
        return;
      }
      site.in.push_back(&known->second);
    }
    site.out.resize(node.outputs.size());
    try {
      if (const Known* known = known_operator(node)) known->rule(site);
      for (std::size_t i = 0; i < site.out.size(); ++i) settle(node, node.outputs[i], site.out[i]);
    } catch (const Misfit& problem) {
      std::string shapes;
      for (std::size_t i = 0; i < site.in.size(); ++i)
        if (const Shape* shape = site.shape(i)) shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", text(*shape));
      error("O0935", node, problem.what)
          .note(fmt::format("its inputs: {}", shapes.empty() ? "none" : shapes))
          .hint("`--define` sets open dimensions; where none is open, the file contradicts itself");
    } catch (const base::OverflowError&) {
      error("O0931", node, "a shape beyond counting in 64 bits");
    }
    for (std::size_t i = 0; i < site.out.size(); ++i) keep(index, node.outputs[i], std::move(site.out[i]));
  }

  // What the file says of an output, where it says everything; what it says must agree with what was found.
  void settle(const Node& node, const std::string& name, Facts& facts) {
    const auto said = declared_.find(name);
    if (said == declared_.end()) return;
    std::optional<Shape> shape = declared(*said->second);
    if (!shape) return;
    if (!facts.shape) {
      facts.shape = std::move(shape);
      return;
    }
    bool same = shape->size() == facts.shape->size();
    for (std::size_t i = 0; same && i < shape->size(); ++i) {
      const Count a = (*shape)[i];
      Count& b = (*facts.shape)[i];
      same = a == b || a == kUnknown || b == kUnknown;
      if (b == kUnknown) b = a;
    }
    if (!same)
      misfit(fmt::format("it makes `{}` {}, where the file says {} ({})", name, text(*facts.shape), text(*shape),
                         node.type));
  }

  void keep(std::size_t index, const std::string& name, Facts facts) {
    if (name.empty()) return;
    const Node& node = model_.nodes[index];
    if (!facts.shape || !onnx::whole(*facts.shape)) {
      std::size_t cause = index;
      for (const std::string& input : node.inputs)
        if (const auto lost = shapes_.lost_at.find(input); lost != shapes_.lost_at.end()) {
          cause = lost->second;
          break;
        }
      shapes_.lost_at.emplace(name, cause);
    }
    if (facts.integers) words_ += facts.integers->size();
    if (facts.reals) words_ += facts.reals->size();
    if (words_ > kMostValueWords) facts.integers.reset(), facts.reals.reset();
    if (facts.shape) words_ += facts.shape->size();
    if (words_ > kMostWords) {
      error("O0931", node, "the shapes of all tensors up to it take more than 256 MiB");
      found_.throw_if_errors();
    }
    if (!shapes_.of.emplace(name, std::move(facts)).second)
      error("O0934", node, fmt::format("`{}`, which it makes, was made before", name));
  }

  const Model& model_;
  std::map<std::string, Count> sizes_;
  std::unordered_map<std::string, const Declared*> declared_;
  Shapes shapes_;
  std::size_t words_ = 0;
  base::Diagnostics found_;
};

}  // namespace

const Shape* Shapes::whole(const std::string& tensor) const {
  const auto known = of.find(tensor);
  if (known == of.end() || !known->second.shape || !onnx::whole(*known->second.shape)) return nullptr;
  return &*known->second.shape;
}

Shapes infer_shapes(const Model& model, const base::Overrides& defined) {
  return Inference(model, defined)();
}

}  // namespace orrery::formats::onnx
