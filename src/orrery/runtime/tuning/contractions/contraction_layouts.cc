#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

using base::Count;

// Letters of `layout` that are in `group`, if they stand together.
std::optional<std::string> together(const std::string& layout, const std::string& group) {
  const std::size_t first = layout.find_first_of(group);
  if (group.empty() || first == std::string::npos) return std::string();
  const std::string part = layout.substr(first, group.size());
  if (part.find_first_not_of(group) != std::string::npos || part.size() != group.size()) return std::nullopt;
  return part;
}

// Whether the group stands together and in one order in these layouts.
bool is_one_index(const std::string& group, std::initializer_list<const std::string*> layouts) {
  std::optional<std::string> order;
  for (const std::string* layout : layouts) {
    const std::optional<std::string> here = together(*layout, group);
    if (!here || (order && *order != *here)) return false;
    order = here;
  }
  return true;
}

// Product of the extents right of the group; 1 of an empty group.
Count stride(const std::string& layout, const std::string& group, const Sizes& sizes) {
  const std::size_t last = layout.find_last_of(group);
  return group.empty() || last == std::string::npos ? 1 : sizes.words(std::string_view(layout).substr(last + 1));
}

// A matrix of rows and columns with these strides as column-major BLAS takes it, or nothing if neither stride is 1. Of
// a single column the distance to the next never counts, but BLAS checks it against the rows.
struct Matrix {
  bool transposed = false;
  Count leading = 0;
};
std::optional<Matrix> matrix(Count rows, Count columns, Count row_stride, Count column_stride, bool rows_first) {
  const auto plain = [&] { return Matrix{false, std::max(column_stride, rows)}; };
  const auto transposed = [&] { return Matrix{true, std::max(row_stride, columns)}; };
  if (rows_first && row_stride == 1) return plain();
  if (column_stride == 1) return transposed();
  if (row_stride == 1) return plain();
  return std::nullopt;
}

std::optional<ContractionLayout> as_call(ContractionLayout layout, const ContractionGroups& groups,
                                         const Sizes& sizes) {
  const auto strides = [&](const std::string& group) {
    return std::array<Count, 3>{stride(layout.a, group, sizes), stride(layout.b, group, sizes),
                                stride(layout.c, group, sizes)};
  };
  const auto m = strides(groups.first), n = strides(groups.second), k = strides(groups.sum);
  BlasCall call{.m = sizes.words(groups.first), .n = sizes.words(groups.second), .k = sizes.words(groups.sum)};
  call.batch = sizes.words(groups.batch);
  const std::optional<Matrix> c = matrix(call.m, call.n, m[2], n[2], true);
  if (!c) return std::nullopt;
  layout.swapped = c->transposed;
  call.ldc = c->leading;
  // The dimension that a matrix shares with the result is asked first: m of A, n of B, whichever of the two comes
  // first.
  std::optional<Matrix> a, b;
  if (layout.swapped) {
    a = matrix(call.n, call.k, n[1], k[1], true);
    b = matrix(call.k, call.m, k[0], m[0], false);
    std::swap(call.m, call.n);
  } else {
    a = matrix(call.m, call.k, m[0], k[0], true);
    b = matrix(call.k, call.n, k[1], n[1], false);
  }
  if (!a || !b) return std::nullopt;
  call.transposed_a = a->transposed;
  call.transposed_b = b->transposed;
  call.lda = a->leading;
  call.ldb = b->leading;
  if (call.batched()) {
    const auto batch = strides(groups.batch);
    call.stride_a = batch[layout.swapped ? 1 : 0];
    call.stride_b = batch[layout.swapped ? 0 : 1];
    call.stride_c = batch[2];
  }
  layout.call = call;
  return layout;
}

std::vector<std::string> orders(std::string_view letters) {
  std::vector<std::size_t> places(letters.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::vector<std::string> all;
  do {
    std::string one;
    for (const std::size_t place : places) one += letters[place];
    all.push_back(std::move(one));
  } while (std::next_permutation(places.begin(), places.end()));
  return all;
}

}  // namespace

EinsumTensors tensors_of(std::string_view einsum) {
  const std::size_t comma = einsum.find(','), arrow = einsum.find("->");
  ORRERY_CHECK(comma != einsum.npos && arrow != einsum.npos && comma < arrow, "an einsum of two tensors");
  return {std::string(einsum.substr(0, comma)), std::string(einsum.substr(comma + 1, arrow - comma - 1)),
          std::string(einsum.substr(arrow + 2))};
}

ContractionGroups groups_of(std::string_view einsum) {
  const auto [a, b, c] = tensors_of(einsum);
  ContractionGroups groups;
  for (const char letter : a) {
    const bool in_b = b.find(letter) != b.npos, in_c = c.find(letter) != c.npos;
    (in_b && in_c ? groups.batch : in_b ? groups.sum : groups.first) += letter;
  }
  for (const char letter : b)
    if (a.find(letter) == a.npos) groups.second += letter;
  return groups;
}

ContractionSpace contraction_space(std::string_view einsum, const Sizes& sizes) {
  const ContractionGroups groups = groups_of(einsum);
  const EinsumTensors tensors = tensors_of(einsum);
  const std::vector<std::string> as = orders(tensors.a), bs = orders(tensors.b), cs = orders(tensors.c);
  ContractionSpace space;
  space.permutations = static_cast<Count>(as.size() * bs.size() * cs.size());
  std::set<BlasCall> seen;
  for (const std::string& a : as)
    for (const std::string& b : bs) {
      if (!is_one_index(groups.sum, {&a, &b}) || !is_one_index(groups.batch, {&a, &b})) continue;
      for (const std::string& c : cs) {
        if (!is_one_index(groups.batch, {&a, &c}) || !is_one_index(groups.first, {&a, &c}) ||
            !is_one_index(groups.second, {&b, &c}))
          continue;
        std::optional<ContractionLayout> layout = as_call({a, b, c}, groups, sizes);
        if (!layout) {
          ++space.without_unit_stride;
          continue;
        }
        if (seen.insert(layout->call).second) space.calls.push_back(layout->call);
        space.layouts.push_back(*std::move(layout));
      }
    }
  return space;
}

const std::vector<NamedContraction>& named_contractions() {
  static const std::vector<NamedContraction> all = {
      {"Q", "phi,ibj->phbj", false},
      {"lin1", "bji,ui->bju"},
      {"lin2", "bju,iu->bji"},
      {"out", "phi,phbj->bij"},
      {"QKT", "phbk,phbj->hbjk"},
      {"gamma", "phbk,hbjk->phbj"},
      {"QKV-fused", "qphi,ibj->qphbj"},
      {"KV-fused", "vphi,ibj->vphbj", false},
      {"dWlin2", "bji,bju->iu"},
      {"dXlin2", "bji,iu->bju"},
      {"dWlin1", "bju,bji->ui"},
      {"dXlin1", "bju,ui->bji"},
      {"dWout", "phbj,bij->phi"},
      {"dXout", "phi,bij->phbj"},
      {"dX2gamma", "phbj,hbjk->phbk"},
      {"dX1gamma", "phbk,phbj->hbjk"},
      {"dX2QKT", "phbj,hbjk->phbk"},
      {"dX1QKT", "phbk,hbjk->phbj"},
      {"dWQ", "ibj,phbj->phi", false},
      {"dXQ", "phi,phbj->ibj", false},
      {"dWQK-fused", "ibj,vphbj->vphi", false},
      {"dXQK-fused", "vphi,vphbj->ibj", false},
      {"dWQKV-fused", "ibj,qphbj->qphi"},
      {"dXQKV-fused", "qphi,qphbj->ibj"},
  };
  return all;
}

std::string call_cells(const BlasCall& call) {
  const auto side = [](bool transposed) { return transposed ? "T" : "N"; };
  const std::string one =
      fmt::format("{},{},{},{},{},{},{},{},{},", call.batched() ? "BMM" : "GEMM", side(call.transposed_a),
                  side(call.transposed_b), call.m, call.n, call.k, call.lda, call.ldb, call.ldc);
  return one + (call.batched() ? fmt::format("{},{},{},{}", call.stride_a, call.stride_b, call.stride_c, call.batch)
                               : std::string(",,,"));
}

}  // namespace orrery::tuning
