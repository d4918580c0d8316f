// Which dimensions of a product are which, with L for those that only the first operand has, D those that only the
// second has, E those that are summed over (workload::matmul): dimensions that both operands and the result have make
// copies of the product. A weight that all of a batch share thus meets the whole batch in one product.
#include "orrery/formats/onnx/products.h"

#include <algorithm>
#include <utility>

namespace orrery::formats::onnx {
namespace {

using base::checked_multiply;
using workload::Einsum;
using workload::Rank;

Product matmul(Count d, Count e, Count l, Count instances) {
  if (d == 0 || e == 0 || l == 0 || instances == 0) return {{}, 0};
  return {workload::matmul("", d, e, l), instances};
}

Product matrix_product(const Node& node, Shape a, Shape b) {
  if (node.type == "MatMulNBits") {
    Count rows = 1;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) rows = checked_multiply(rows, a[i]);
    return matmul(node.integer("N", 0), a.back(), rows, 1);
  }
  const bool flip_a = node.integer("transA", 0) != 0, flip_b = node.integer("transB", 0) != 0;
  if (flip_a && a.size() > 1) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (flip_b && b.size() > 1) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Count l = a[a.size() - 2], d = b.back(), instances = 1;
  const std::size_t batch = std::max(a.size(), b.size()) - 2;
  for (std::size_t i = 0; i < batch; ++i) {  // from the innermost outwards
    const Count of_a = i + 2 < a.size() ? a[a.size() - 3 - i] : 1, of_b = i + 2 < b.size() ? b[b.size() - 3 - i] : 1;
    if (of_b == 1)
      l = checked_multiply(l, of_a);
    else if (of_a == 1)
      d = checked_multiply(d, of_b);
    else
      instances = checked_multiply(instances, of_a);
  }
  return matmul(d, a.back(), l, instances);
}

std::optional<Product> einsum(const Node& node, const Shape& a, const Shape& b) {
  const Equation terms = equation(node, a.size(), b.size());
  const auto size_in = [](const std::string& term, const Shape& shape, char letter) {
    const std::size_t at = term.find(letter);
    return at == std::string::npos ? Count{0} : shape[at];
  };
  Count d = 1, e = 1, l = 1, instances = 1;
  std::string letters = terms.first + terms.second;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  for (const char letter : letters) {
    for (const std::string* term : {&terms.first, &terms.second, &terms.result})
      if (std::count(term->begin(), term->end(), letter) > 1) return std::nullopt;  // a diagonal
    const bool in_a = terms.first.find(letter) != std::string::npos;
    const bool in_b = terms.second.find(letter) != std::string::npos;
    const bool kept = terms.result.find(letter) != std::string::npos;
    const Count of_a = size_in(terms.first, a, letter), of_b = size_in(terms.second, b, letter);
    const bool wide_a = in_a && (!in_b || of_a != 1 || of_b == 1), wide_b = in_b && (!in_a || of_b != 1 || of_a == 1);
    const Count size = wide_a ? of_a : of_b;
    if (!kept && !(wide_a && wide_b)) {
      if (size != 1) return std::nullopt;  // summed before the product
      continue;
    }
    Count& grown = !kept ? e : wide_a && wide_b ? instances : wide_a ? l : d;
    grown = checked_multiply(grown, size);
  }
  return matmul(d, e, l, instances);
}

// Timeloop's names: N batch, M output channels, C input channels, P and Q the output, R and S the kernel.
std::optional<Product> convolution(const Node& node, const Shape& x, const Shape& w, const Shape& result, bool unfold) {
  const std::size_t spatial = x.size() - 2;
  const Count groups = node.integer("group", 1), n = x[0], m = w[0] / groups, c = w[1];
  for (const Shape* shape : {&x, &w, &result})
    if (std::count(shape->begin(), shape->end(), 0) > 0) return Product{{}, 0};
  if (unfold) {
    Count e = c, l = n;
    for (std::size_t i = 0; i < spatial; ++i) {
      e = checked_multiply(e, w[i + 2]);
      l = checked_multiply(l, result[i + 2]);
    }
    return matmul(m, e, l, groups);
  }
  if (spatial > 2) return std::nullopt;
  const Windows window = windows(node, Shape(w.begin() + 2, w.end()));
  Einsum out;
  out.dimensions = {{"N", n}, {"M", m}, {"C", c}};
  const auto plain = [](int dimension) { return Rank{{{dimension, 1}}}; };
  enum { kN, kM, kC, kSpatial };
  std::vector<Rank> weights = {plain(kM), plain(kC)}, inputs = {plain(kN), plain(kC)}, outputs = {plain(kN), plain(kM)};
  for (std::size_t i = 0; i < spatial; ++i) {
    const int position = static_cast<int>(out.dimensions.size()), offset = position + 1;
    out.dimensions.push_back({i == 0 ? "P" : "Q", result[i + 2]});
    out.dimensions.push_back({i == 0 ? "R" : "S", w[i + 2]});
    weights.push_back(plain(offset));
    inputs.push_back(Rank{{{position, window.stride[i]}, {offset, window.dilation[i]}}});
    outputs.push_back(plain(position));
  }
  out.dataspaces = {{"Weights", weights, false}, {"Inputs", inputs, false}, {"Outputs", outputs, true}};
  return Product{out, groups};
}

std::optional<Count> times(std::initializer_list<Count> factors) {
  Count product = 1;
  for (const Count factor : factors) {
    if (factor < 0) return std::nullopt;
    product = checked_multiply(product, factor);
  }
  return product;
}

// Scores and what they weigh: 2 * batch * tokens * others * width, with all heads in the width.
std::optional<Count> attention(const Node& node, const Shapes& shapes) {
  const auto shape = [&](std::size_t i) { return i < node.inputs.size() ? shapes.whole(node.inputs[i]) : nullptr; };
  // Tokens that went before: dimension `at` of input `i`; 0 where it is left out, nothing where it is not known.
  const auto before = [&](std::size_t i, std::size_t rank, std::size_t at) -> std::optional<Count> {
    if (i >= node.inputs.size() || node.inputs[i].empty()) return 0;
    const Shape* past = shape(i);
    if (!past || past->size() != rank) return std::nullopt;
    return (*past)[at];
  };
  const Shape *query = shape(0), *key = shape(1), *value = shape(2);
  if (!query) return std::nullopt;
  if (node.type == "Attention" && !node.domain.empty()) {
    const Shape* made = node.outputs.empty() ? nullptr : shapes.whole(node.outputs[0]);
    const std::optional<Count> past = before(4, 5, 3);  // keys and values: 2, batch, heads, tokens, width
    if (!key || key->size() != 2 || query->size() != 3 || !made || !past) return std::nullopt;
    const auto projected = times({(*query)[0], (*query)[1], (*query)[2], (*key)[1]});
    const auto scores = times({2, (*query)[0], (*query)[1], base::checked_add((*query)[1], *past), made->back()});
    if (!projected || !scores) return std::nullopt;
    return base::checked_add(*projected, *scores);
  }
  if (node.type == "GroupQueryAttention") {  // the cache (input 3) has what went before
    const std::optional<Count> past = before(3, 4, 2);
    const Shape* made = node.outputs.empty() ? nullptr : shapes.whole(node.outputs[0]);
    if (query->size() != 3 || !made || !past) return std::nullopt;
    return times({2, (*query)[0], (*query)[1], base::checked_add((*query)[1], *past), made->back()});
  }
  if (!key || !value || query->size() != key->size() || key->size() != value->size()) return std::nullopt;
  const std::size_t rank = query->size();
  if (rank != 3 && rank != 4) return std::nullopt;
  const std::optional<Count> past = before(node.type == "Attention" ? 4 : 6, 4, 2);
  if (!past) return std::nullopt;
  const Count others = base::checked_add((*key)[rank - 2], *past), heads = rank == 4 ? (*query)[1] : 1;
  const Shape* made = node.outputs.empty() ? nullptr : shapes.whole(node.outputs[0]);
  const auto scores = times({(*query)[0], heads, (*query)[rank - 2], others, query->back()});
  const auto sums = times({(*query)[0], heads, (*query)[rank - 2], others, made ? made->back() : query->back()});
  if (!scores || !sums) return std::nullopt;
  return base::checked_add(*scores, *sums);
}

}  // namespace

std::optional<Product> product_of(const Node& node, const Shape& first, const Shape& second, const Shape& result,
                                  bool unfold) {
  const std::string& type = node.type;
  if (type == "Einsum") return einsum(node, first, second);
  if (type == "Conv" || type == "ConvInteger" || type == "QLinearConv" || type == "FusedConv")
    return convolution(node, first, second, result, unfold);
  return matrix_product(node, first, second);
}

std::optional<Count> products_inside(const Node& node, const Shapes& shapes) {
  const auto shape = [&](std::size_t i) { return i < node.inputs.size() ? shapes.whole(node.inputs[i]) : nullptr; };
  const std::string& type = node.type;
  if (type == "LSTM" || type == "GRU" || type == "RNN") {
    const Shape *x = shape(0), *w = shape(1), *r = shape(2);
    if (!x || !w || !r || x->size() != 3 || w->size() != 3 || r->size() != 3) return std::nullopt;
    return times({(*x)[0], (*x)[1], (*w)[0], (*w)[1], base::checked_add((*w)[2], (*r)[2])});
  }
  const Operands which = operands(node);
  const Shape *x = shape(which.first), *w = shape(which.second);
  const Shape* made = node.outputs.empty() ? nullptr : shapes.whole(node.outputs[0]);
  if (type == "ConvTranspose") {  // every input element meets a kernel of each of its outputs
    if (!x || !w || w->size() < 2) return std::nullopt;
    return times({elements(*x), elements(Shape(w->begin() + 1, w->end()))});
  }
  if (type == "Conv" || type == "ConvInteger" || type == "QLinearConv" || type == "FusedConv") {
    if (!made || !w || w->size() < 2) return std::nullopt;
    return times({elements(*made), elements(Shape(w->begin() + 1, w->end()))});
  }
  if (type == "Einsum") return std::nullopt;
  return attention(node, shapes);
}

}  // namespace orrery::formats::onnx
