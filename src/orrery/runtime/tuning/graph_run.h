// An encoder's graph run on this machine operator by operator, every tensor in the layout that was chosen for it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/layer/profile.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/runtime/tuning/contractions/blas_library.h"
#include "orrery/runtime/tuning/fused_kernels.h"
#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {

// What a layout file says: a layout of every variable, the special dimensions of every fused operator, lower case; by
// results of contractions, the library that computes them, where it is not Orrery.
struct LayoutChoice {
  std::map<std::string, std::string, std::less<>> layouts;
  std::map<std::string, const BlasLibrary*, std::less<>> libraries;
  std::map<std::string, std::map<std::string, char, std::less<>>, std::less<>> specials;  // of operator, of "dv"
};

// Why it cannot be run, in sentences, all of them: variables without a layout or with one of other letters, equal ones
// and parts of the stack with unlike layouts, contractions whose layouts are no product of matrices.
std::vector<std::string> faults_of(const Graph& graph, const LayoutChoice& choice);

class GraphRun {
 public:
  // `graph` and `context` must outlive it. Type: fp32 or bf16; biases, norms' parameters and statistics are fp32.
  // No faults (checked). Throws std::bad_alloc.
  GraphRun(kernels::Context& context, const Graph& graph, const LayoutChoice& choice, kernels::Type type,
           const layer::Dropout& dropout);

  // Bytes of all tensors.
  static double bytes(const Graph& graph, kernels::Type type);

  void forward(std::uint64_t seed);
  void backward();
  void attach(layer::Profile* profile) { profile_ = profile; }

  // Element by element in the variable's own order of dimensions (Variable::dims).
  void set(std::string_view variable, const std::vector<float>& values);
  std::vector<float> get(std::string_view variable) const;

  // A tensor of tokens as layer::Encoder has it, [b][j][i]: its n-th number.
  template <class Number>
  void set_tokens(std::string_view variable, Number number) {
    std::vector<float> values(tensor(variable).words);
    over_tokens(variable, [&](std::size_t n, std::size_t token) { values[n] = number(token); });
    set(variable, values);
  }
  std::vector<float> tokens(std::string_view variable) const;

  // As layer::Encoder has them.
  void set_weights(const layer::Weights& weights);
  layer::Weights gradients(const layer::Shape& shape) const;

 private:
  struct Tensor {
    kernels::Type type = kernels::Type::kF32;
    std::string dims, layout;
    void* data = nullptr;
    std::size_t words = 0;
  };
  struct Step {
    const Operator* op = nullptr;
    std::vector<kernels::Product> products;
    const BlasLibrary* library = nullptr;  // of the products; null: Orrery
    std::vector<kernels::Strided> runs;
    double operations = 0, bytes = 0;
  };
  void make_tensors(kernels::Type type);
  Step step_of(const Operator& op, kernels::Type type) const;
  void pass(bool backward);
  // f(place in the order of the variable's dimensions, place in [b][j][i]) of every element.
  template <class Function>
  void over_tokens(std::string_view variable, Function f) const {
    const std::string& dims = tensor(variable).dims;  // b j i, or i b j
    const auto width = static_cast<std::size_t>(graph_.sizes['i']), all = tensor(variable).words;
    const bool first = dims.front() == 'i';
    for (std::size_t n = 0; n < all; ++n) f(n, first ? n % (all / width) * width + n / (all / width) : n);
  }
  Tensor& tensor(std::string_view name) { return tensors_.find(name)->second; }
  const Tensor& tensor(std::string_view name) const { return tensors_.find(name)->second; }

  kernels::Context& context_;
  const Graph& graph_;
  LayoutChoice choice_;
  layer::Dropout dropout_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<kernels::Buffer> memory_;
  std::vector<Step> steps_;
  layer::Profile* profile_ = nullptr;
};

}  // namespace orrery::tuning
