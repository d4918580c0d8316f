#include "orrery/verbs/tune/layouts/report.h"

#include <set>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"
#include "orrery/runtime/tuning/kernel_space.h"

namespace orrery::verbs {
namespace {

using base::Count;
using tuning::KernelColumn;
using tuning::KernelSpace;

struct Product {
  Count m = 0, n = 0, k = 0, batch = 0;
  auto operator<=>(const Product&) const = default;
};

std::vector<Product> products(const ContractionAnswer& one) {
  std::set<Product> all;
  for (const tuning::BlasCall& call : one.space.calls) all.insert({call.m, call.n, call.k, call.batch});
  return {all.begin(), all.end()};
}

Count kernel_configurations() {
  Count sum = 0;
  for (const KernelSpace& space : tuning::kernel_spaces()) sum += tuning::configurations(space);
  return sum;
}

Record<LayoutsAnswer> layouts_result() {
  using C = ContractionAnswer;
  const Record<Product> product = {{"m", "Rows of the result.", &Product::m},
                                   {"n", "Columns of the result.", &Product::n},
                                   {"k", "Length of the sum.", &Product::k},
                                   {"batch", "Equal GEMMs side by side.", &Product::batch}};
  const Record<C> contraction = {
      {"name", "Name of the contraction, as Substation calls it.", &C::name},
      {"einsum", "What the contraction computes.", &C::einsum},
      {"used", "Whether the encoder's layer uses it.", &C::used},
      {"permutations", "Orders of the letters of its three tensors.", [](const C& c) { return c.space.permutations; }},
      {"valid", "Orders that are one call of BLAS.",
       [](const C& c) { return static_cast<Count>(c.space.layouts.size()); }},
      {"without_unit_stride", "Orders with a matrix that BLAS cannot read, since neither of its strides is 1.",
       [](const C& c) { return c.space.without_unit_stride; }},
      {"calls", "Number of different calls of BLAS.",
       [](const C& c) { return static_cast<Count>(c.space.calls.size()); }},
      {"products", "Sizes of the calls.", products, product}};
  const Record<KernelColumn> column = {
      {"name", "Name of the tensor in the kernel's file.", &KernelColumn::name},
      {"dims", "Letters of the tensor; each order of them is a layout.", &KernelColumn::dims},
      {"same_as", "Index of the column whose layout it shares; -1: it has its own.", &KernelColumn::same_as}};
  const Record<KernelSpace> kernel = {
      {"name", "Name of the kernel, as Substation calls it.", &KernelSpace::kernel},
      {"configurations", "Layouts of its tensors times dimensions of vectors, threads and warps.",
       tuning::configurations},
      {"columns", "Tensors of the kernel.", &KernelSpace::columns, column}};
  const auto sizes = [](const LayoutsAnswer& a) {
    std::vector<std::pair<std::string, Count>> out;
    for (const char letter : {'b', 'h', 'i', 'j', 'k', 'p', 'u', 'q', 'v'})
      out.emplace_back(std::string(1, letter), a.sizes[letter]);
    return out;
  };
  return {
      {"sizes", "Size of each letter.", sizes},
      {"layouts", "Valid layouts of the contractions that are used.", &LayoutsAnswer::layouts},
      {"calls", "Different calls of BLAS, counted contraction by contraction.", &LayoutsAnswer::calls},
      {"kernel_configurations", "Configurations of all kernels.",
       [](const LayoutsAnswer&) { return kernel_configurations(); }},
      {"contractions", "Contractions of the layer, also those that are not used.", &LayoutsAnswer::contractions,
       contraction},
      {"kernels", "Fused kernels of the layer.", [](const LayoutsAnswer&) { return tuning::kernel_spaces(); }, kernel}};
}

}  // namespace

Document<LayoutsAnswer> tune_layouts_document() {
  return {"tune_layouts", "Layouts of a layer's operators, counted.", layouts_result()};
}

std::string layouts_table(const LayoutsAnswer& answer) {
  Table table;
  table.header = {"contraction", "einsum", "permutations", "layouts", "no unit stride", "calls", "M x N x K (x batch)"};
  table.left_columns = {1, 6};
  for (const ContractionAnswer& one : answer.contractions) {
    std::vector<std::string> sizes;
    for (const Product& p : products(one))
      sizes.push_back(fmt::format("{} x {} x {}{}", p.m, p.n, p.k, p.batch == 1 ? "" : fmt::format(" x {}", p.batch)));
    table.rows.push_back({one.name + (one.used ? "" : "*"), one.einsum, fmt::format("{}", one.space.permutations),
                          fmt::format("{}", one.space.layouts.size()), fmt::format("{}", one.space.without_unit_stride),
                          fmt::format("{}", one.space.calls.size()), base::joined(sizes, ", ")});
  }
  Table kernels;
  kernels.header = {"kernel", "configurations"};
  for (const KernelSpace& space : tuning::kernel_spaces())
    kernels.rows.push_back({space.kernel, fmt::format("{}", tuning::configurations(space))});
  kernels.rules_before.push_back(kernels.rows.size());
  kernels.rows.push_back({"all", fmt::format("{}", kernel_configurations())});
  return text(table) + "* not used by the encoder's layer\n\n" + text(kernels) +
         fmt::format("\ncontractions of the layer: {} layouts, {} different calls\n", answer.layouts(), answer.calls());
}

}  // namespace orrery::verbs
