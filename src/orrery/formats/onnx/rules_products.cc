// Products: of matrices, convolutions, einsums, attention.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

Count bounded(std::int64_t value, const char* what, std::int64_t least, std::int64_t most = std::int64_t{1} << 31) {
  if (value < least || value > most) misfit(fmt::format("its {} is {}", what, value));
  return value;
}

Integers filled(std::optional<Integers> given, std::size_t count, std::int64_t otherwise, const char* what) {
  Integers out = given && !given->empty() ? std::move(*given) : Integers(count, otherwise);
  if (out.size() != count) misfit(fmt::format("`{}` has {} numbers, where {} are expected", what, out.size(), count));
  for (const std::int64_t value : out) bounded(value, what, std::min<std::int64_t>(otherwise, 1));
  return out;
}

Count agreed(Count a, Count b, const char* what) {
  if (a == kUnknown || b == kUnknown) return std::max(a, b);
  if (a != b) misfit(fmt::format("{} is {} in one operand and {} in the other", what, a, b));
  return a;
}

// Weights of low precision, packed: their sizes are attributes.
void packed_product(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape || shape->empty()) return;
  Shape out = *shape;
  agreed(out.back(), bounded(site.node.integer("K", 0), "K", 1), "the reduced dimension");
  out.back() = bounded(site.node.integer("N", 0), "N", 1);
  site.make(0, out);
}

}  // namespace

Operands operands(const Node& node) {
  if (node.type == "QLinearMatMul" || node.type == "QLinearConv") return {0, 3};
  return {};
}

void matrix_product(Site& site) {
  if (site.node.type == "MatMulNBits") return packed_product(site);
  if (site.node.integer("transBatchA", 0) != 0 || site.node.integer("transBatchB", 0) != 0)
    misfit("operands whose batch is not their first dimension (`transBatchA`, `transBatchB`) are not understood");
  const auto [first, second] = operands(site.node);
  const Shape *left = site.shape(first), *right = site.shape(second);
  if (!left || !right) return;
  if (left->empty() || right->empty()) misfit("an operand is a scalar");
  Shape a = *left, b = *right;
  const auto flip = [](Shape& shape, bool wanted) {
    if (wanted && shape.size() > 1) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  };
  flip(a, site.node.integer("transA", 0) != 0);
  flip(b, site.node.integer("transB", 0) != 0);
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  agreed(a.back(), b[b.size() - 2], "the reduced dimension");
  Shape out = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!row) out.push_back(a[a.size() - 2]);
  if (!column) out.push_back(b.back());
  site.make(0, out);
}

void general_product(Site& site) {
  const Shape *a = site.shape(0), *b = site.shape(1);
  if (!a || !b) return;
  if (a->size() != 2 || b->size() != 2) misfit(fmt::format("operands of {} and {}, not matrices", text(*a), text(*b)));
  const bool flip_a = site.node.integer("transA", 0) != 0, flip_b = site.node.integer("transB", 0) != 0;
  agreed((*a)[flip_a ? 0 : 1], (*b)[flip_b ? 1 : 0], "the reduced dimension");
  site.make(0, {(*a)[flip_a ? 1 : 0], (*b)[flip_b ? 0 : 1]});
}

Windows windows(const Node& node, const Integers& kernel) {
  Windows out;
  const std::size_t count = kernel.size();
  out.kernel = kernel;
  for (const std::int64_t size : kernel) bounded(size, "kernel", 1);
  out.stride = filled(node.integers("strides"), count, 1, "strides");
  out.dilation = filled(node.integers("dilations"), count, 1, "dilations");
  const Integers pads = filled(node.integers("pads"), 2 * count, 0, "pads");
  out.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  out.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  out.same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  out.valid = automatic == "VALID";
  out.ceil = node.integer("ceil_mode", 0) != 0;
  return out;
}

Count positions(const Windows& w, std::size_t d, Count input) {
  if (input == kUnknown) return kUnknown;
  if (w.same) return base::ceil_divide(input, w.stride[d]);
  const Count reach = base::checked_add(base::checked_multiply(w.dilation[d], w.kernel[d] - 1), 1);
  const Count padded = w.valid ? input : base::checked_add(input, w.before[d] + w.after[d]);
  if (padded < reach) misfit(fmt::format("a window of {} does not fit into {} elements", reach, padded));
  const Count room = padded - reach;
  if (!w.ceil) return room / w.stride[d] + 1;
  const Count count = base::ceil_divide(room, w.stride[d]) + 1;
  // A window that begins in the padding behind is left out.
  return (count - 1) * w.stride[d] >= input + (w.valid ? 0 : w.before[d]) ? count - 1 : count;
}

// `kernel_shape` says again how large the windows of a weight are.
void check_kernel(const Node& node, const Shape& weight) {
  const std::optional<Integers> stated = node.integers("kernel_shape");
  if (!stated || stated->empty()) return;
  const Shape kernel(weight.begin() + 2, weight.end());
  bool agrees = stated->size() == kernel.size();
  for (std::size_t d = 0; agrees && d < kernel.size(); ++d) agrees = kernel[d] == kUnknown || kernel[d] == (*stated)[d];
  if (!agrees)
    misfit(fmt::format("its `kernel_shape` is {}, and the windows of its weight are {}",
                       text(Shape(stated->begin(), stated->end())), text(kernel)));
}

void convolution(Site& site) {
  const auto [first, second] = operands(site.node);
  const Shape *x = site.shape(first), *w = site.shape(second);
  if (!x || !w) return;
  if (x->size() < 3 || x->size() != w->size()) misfit(fmt::format("operands of {} and {}", text(*x), text(*w)));
  check_kernel(site.node, *w);
  const Count groups = bounded(site.node.integer("group", 1), "group", 1);
  if ((*w)[1] != kUnknown) agreed((*x)[1], base::checked_multiply((*w)[1], groups), "the number of channels");
  if ((*w)[0] != kUnknown && (*w)[0] % groups != 0)
    misfit(fmt::format("{} output channels in {} groups", (*w)[0], groups));
  Shape out = {(*x)[0], (*w)[0]};
  const Shape kernel(w->begin() + 2, w->end());
  if (!whole(kernel)) {
    out.resize(x->size(), kUnknown);
    return site.make(0, out);
  }
  const Windows window = windows(site.node, kernel);
  for (std::size_t d = 0; d < kernel.size(); ++d) out.push_back(positions(window, d, (*x)[d + 2]));
  site.make(0, out);
}

void transposed_convolution(Site& site) {
  const Shape *x = site.shape(0), *w = site.shape(1);
  if (!x || !w) return;
  if (x->size() < 3 || x->size() != w->size()) misfit(fmt::format("operands of {} and {}", text(*x), text(*w)));
  check_kernel(site.node, *w);
  const Count groups = bounded(site.node.integer("group", 1), "group", 1);
  agreed((*x)[1], (*w)[0], "the number of channels");
  Shape out = {(*x)[0], (*w)[1] == kUnknown ? kUnknown : base::checked_multiply((*w)[1], groups)};
  const Shape kernel(w->begin() + 2, w->end());
  const std::optional<Integers> asked = site.node.integers("output_shape");
  if (!whole(kernel)) return;
  const Windows window = windows(site.node, kernel);
  const Integers more = filled(site.node.integers("output_padding"), kernel.size(), 0, "output_padding");
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const Count size = (*x)[d + 2];
    if (asked && asked->size() >= kernel.size()) {
      out.push_back(bounded((*asked)[asked->size() - kernel.size() + d], "output_shape", 1));
    } else if (size == kUnknown) {
      out.push_back(kUnknown);
    } else if (window.same) {
      out.push_back(base::checked_multiply(size, window.stride[d]));
    } else {
      const Count reach = base::checked_add(base::checked_multiply(window.dilation[d], kernel[d] - 1), 1);
      const Count full =
          base::checked_add(base::checked_multiply(window.stride[d], std::max<Count>(size - 1, 0)), reach);
      const Count made = full + more[d] - (window.valid ? 0 : window.before[d] + window.after[d]);
      if (made < 0) misfit("its padding leaves nothing");
      out.push_back(made);
    }
  }
  site.make(0, out);
}

Equation equation(const Node& node, std::size_t first_rank, std::size_t second_rank) {
  std::string all;
  for (const char c : node.text("equation"))
    if (c != ' ') all += c;
  const std::size_t comma = all.find(','), arrow = all.find("->");
  if (comma == std::string::npos || (arrow != std::string::npos && arrow < comma) ||
      all.find(',', comma + 1) != std::string::npos)
    misfit("an equation that is not of two operands");
  Equation out = {all.substr(0, comma), all.substr(comma + 1, arrow == std::string::npos ? arrow : arrow - comma - 1),
                  arrow == std::string::npos ? "" : all.substr(arrow + 2)};
  // An ellipsis stands for the dimensions that letters leave, aligned at their end.
  std::size_t widest = 0;
  const auto spread = [&](std::string& term, std::size_t rank, bool result) {
    const std::size_t dots = term.find("...");
    const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (!result && (letters > rank || (dots == std::string::npos && letters != rank)))
      misfit(fmt::format("an equation with {} letters for an operand of {} dimensions", letters, rank));
    const std::size_t count = result ? widest : rank - letters;
    if (count > 10) misfit("an equation whose ellipsis stands for more than 10 dimensions");
    if (!result && dots != std::string::npos) widest = std::max(widest, count);
    std::string digits;
    for (std::size_t i = count; i > 0; --i) digits += static_cast<char>('0' + i - 1);
    if (dots != std::string::npos) term.replace(dots, 3, digits);
    for (const char c : term)
      if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9'))
        misfit("an equation that is not of letters");
  };
  spread(out.first, first_rank, false);
  spread(out.second, second_rank, false);
  if (arrow == std::string::npos) {  // the dots, then letters that occur once, by the alphabet
    for (std::size_t i = widest; i > 0; --i) out.result += static_cast<char>('0' + i - 1);
    std::multiset<char> used(out.first.begin(), out.first.end());
    used.insert(out.second.begin(), out.second.end());
    for (const char c : std::set<char>(used.begin(), used.end()))
      if (used.count(c) == 1 && c > '9') out.result += c;
  } else {
    spread(out.result, 0, true);
  }
  return out;
}

void einsum(Site& site) {
  const Shape *a = site.shape(0), *b = site.shape(1);
  if (!a || !b || site.in.size() != 2) return;
  const Equation terms = equation(site.node, a->size(), b->size());
  Shape out;
  for (const char letter : terms.result) {
    Count size = kUnknown;
    bool found = false;
    for (const auto& [term, shape] : {std::pair{&terms.first, a}, std::pair{&terms.second, b}})
      for (std::size_t i = 0; i < term->size(); ++i) {
        if ((*term)[i] != letter) continue;
        size = found ? broadcast({size}, {(*shape)[i]})[0] : (*shape)[i];
        found = true;
      }
    if (!found) misfit("an equation whose result has a letter that no operand has");
    out.push_back(size);
  }
  site.make(0, out);
}

void pool(Site& site) {
  const Shape* x = site.shape(0);
  const std::optional<Integers> kernel = site.node.integers("kernel_shape");
  if (!x || !kernel) return;
  if (x->size() != kernel->size() + 2) misfit(fmt::format("a window of {} dimensions on {}", kernel->size(), text(*x)));
  const Windows window = windows(site.node, *kernel);
  Shape out = {(*x)[0], (*x)[1]};
  for (std::size_t d = 0; d < kernel->size(); ++d) out.push_back(positions(window, d, (*x)[d + 2]));
  site.make(0, out);
  site.make(1, out);
}

void global_pool(Site& site) {
  const Shape* x = site.shape(0);
  if (!x) return;
  if (x->size() < 2) misfit(fmt::format("a pool over {}", text(*x)));
  Shape out(x->size(), 1);
  out[0] = (*x)[0];
  out[1] = (*x)[1];
  site.make(0, out);
}

// X [sequence, batch, width], W [directions, gates * hidden, width].
void recurrent(Site& site) {
  const Shape *x = site.shape(0), *r = site.shape(2);
  if (!x || !r) return;
  if (x->size() != 3 || r->size() != 3) misfit(fmt::format("operands of {} and {}", text(*x), text(*r)));
  const Count directions = (*r)[0], hidden = (*r)[2];
  const bool batch_first = site.node.integer("layout", 0) != 0;
  const Count batch = (*x)[batch_first ? 0 : 1], sequence = (*x)[batch_first ? 1 : 0];
  site.make(0, batch_first ? Shape{batch, sequence, directions, hidden} : Shape{sequence, directions, batch, hidden});
  for (const std::size_t last : {1u, 2u})
    site.make(last, batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

// Attention in one operator: the result is as wide as the query, or as the values.
void attention(Site& site) {
  const Shape* query = site.shape(0);
  if (!query) return;
  const std::string& type = site.node.type;
  Shape out = *query;
  if (type == "Attention" && !site.node.domain.empty()) {  // weights of all three projections side by side
    const Shape* weights = site.shape(1);
    if (!weights || weights->size() != 2 || out.size() != 3) return;
    const std::optional<Integers> widths = site.node.integers("qkv_hidden_sizes");
    out[2] = widths && widths->size() == 3 ? (*widths)[2] : (*weights)[1] == kUnknown ? kUnknown : (*weights)[1] / 3;
    if (out[2] < 0) out[2] = kUnknown;
  } else if (type == "GroupQueryAttention") {
    const Count heads = bounded(site.node.integer("num_heads", 1), "num_heads", 1);
    const Count shared = bounded(site.node.integer("kv_num_heads", heads), "kv_num_heads", 1);
    if (out.size() == 3 && !site.has(1) && out[2] != kUnknown) out[2] = out[2] / (heads + 2 * shared) * heads;
  } else if (type == "MultiHeadAttention") {
    if (out.size() != 3) return;
    const Shape* value = site.shape(2);
    if (value && value->size() == 3) out[2] = value->back();
  } else {  // ONNX's own: [batch, heads, tokens, width] or [batch, tokens, heads * width]
    const Shape* value = site.shape(2);
    if (!value || value->empty()) return;
    const Count heads = bounded(site.node.integer("q_num_heads", 1), "q_num_heads", 1);
    const Count shared = bounded(site.node.integer("kv_num_heads", heads), "kv_num_heads", 1);
    out.back() = value->back() == kUnknown || out.size() != 3 ? value->back()
                                                              : base::checked_multiply(value->back() / shared, heads);
  }
  site.make(0, out);
}

}  // namespace orrery::formats::onnx
