#include "orrery/verbs/tune/layouts/run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

using base::Count;
using tuning::BlasCall;

// In the order in which einsum_perms prints them.
constexpr const char* kLetters = "bhijkpuqv";

tuning::Sizes sizes_of(const LayoutsRequest& request) {
  base::Diagnostics found;
  const auto demand = [&](const std::optional<Count>& size, const char* option, const char* what) {
    if (!size)
      found.error("O1700", fmt::format("`{}` is missing: {}", option, what))
          .hint("such as `--b 8 --h 16 --i 1024 --j 512`");
  };
  demand(request.b, "--b", "sequences");
  demand(request.h, "--h", "heads");
  demand(request.i, "--i", "the width of a token");
  demand(request.j, "--j", "positions");
  found.throw_if_errors();
  if (!request.p && *request.i % *request.h != 0)
    found.error("O1700", fmt::format("{} heads do not divide a width of {}", *request.h, *request.i))
        .note(
            fmt::format("{} = {} x {} + {}", *request.i, *request.h, *request.i / *request.h, *request.i % *request.h))
        .hint("give the width of a head: `--p N`");
  Count hidden = request.u.value_or(0);
  if (!request.u && __builtin_mul_overflow(*request.i, Count{4}, &hidden))
    found.error("O1701", fmt::format("4 x {}, the width of the network, exceeds 64 bits", *request.i))
        .hint("give it: `--u N`");
  found.throw_if_errors();
  tuning::Sizes sizes = tuning::Sizes::encoder(*request.b, *request.j, *request.h, *request.i, hidden);
  if (request.k) sizes['k'] = *request.k;
  if (request.p) sizes['p'] = *request.p;
  return sizes;
}

// Tensors of the contractions that are too large to count, each once.
void check_words(const tuning::Sizes& sizes) {
  base::Diagnostics found;
  std::set<std::string> told;
  for (const tuning::NamedContraction& one : tuning::named_contractions()) {
    const auto [a, b, c] = tuning::tensors_of(one.einsum);
    for (const std::string& dims : {a, b, c}) {
      try {
        sizes.words(dims);
      } catch (const base::OverflowError&) {
        std::string letters = dims;
        std::sort(letters.begin(), letters.end());
        if (!told.insert(letters).second) continue;
        std::string product;
        for (const char letter : dims)
          product += fmt::format("{}{} = {}", product.empty() ? "" : ", ", letter, sizes[letter]);
        found.error("O1701", fmt::format("the tensor `{}` of `{}` has more words than 64 bits count", dims, one.name))
            .note(product);
      }
    }
  }
  found.throw_if_errors();
}

// einsum_perms ends the rows of products without a batch before these cells.
std::string without_gaps(std::string row) {
  if (row.ends_with(",,,,")) row.resize(row.size() - 4);
  return row;
}

}  // namespace

Count LayoutsAnswer::layouts() const {
  Count sum = 0;
  for (const ContractionAnswer& one : contractions)
    if (one.used) sum += static_cast<Count>(one.space.layouts.size());
  return sum;
}

Count LayoutsAnswer::calls() const {
  Count sum = 0;
  for (const ContractionAnswer& one : contractions)
    if (one.used) sum += static_cast<Count>(one.space.calls.size());
  return sum;
}

LayoutsAnswer tune_layouts(const LayoutsRequest& request) {
  LayoutsAnswer out;
  out.sizes = sizes_of(request);
  check_words(out.sizes);
  for (const tuning::NamedContraction& one : tuning::named_contractions())
    out.contractions.push_back({one.name, one.einsum, one.used, tuning::contraction_space(one.einsum, out.sizes)});
  return out;
}

std::vector<OutputFile> layout_files(const LayoutsAnswer& answer) {
  std::vector<OutputFile> files;
  for (const ContractionAnswer& one : answer.contractions) {
    std::string all = fmt::format("A,B,C,{}\n", tuning::kCallColumns),
                pruned = fmt::format("{}\n", tuning::kCallColumns);
    for (const tuning::ContractionLayout& layout : one.space.layouts)
      all += fmt::format("{},{},{},{}\n", layout.a, layout.b, layout.c, without_gaps(tuning::call_cells(layout.call)));
    for (const BlasCall& call : one.space.calls) pruned += tuning::call_cells(call) + "\n";
    files.push_back({one.name + ".csv", std::move(all)});
    files.push_back({one.name + "-pruned.csv", std::move(pruned)});
  }
  std::string sizes;
  for (const char* letter = kLetters; *letter != 0; ++letter)
    sizes += fmt::format("{}'{}': {}", sizes.empty() ? "" : ", ", *letter, answer.sizes[*letter]);
  files.push_back({"size-params.txt", "{" + sizes + "}"});
  return files;
}

}  // namespace orrery::verbs
