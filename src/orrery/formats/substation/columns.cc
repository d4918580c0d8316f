#include "orrery/formats/substation/columns.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::substation {
namespace {

std::vector<std::string> letters(std::string_view dims) {
  std::vector<std::string> out;
  for (const char c : dims) out.emplace_back(1, c);
  return out;
}

}  // namespace

const Expected::Layout* Expected::layout(std::string_view column) const {
  for (const Layout& one : layouts)
    if (one.column == column) return &one;
  return nullptr;
}

std::vector<Expected> expected_files(const tuning::Graph& graph) {
  std::vector<Expected> out;
  for (const tuning::Operator& op : graph.operators) {
    if (op.kind != tuning::Kind::kContraction && op.kind != tuning::Kind::kKernel) continue;
    auto file = std::find_if(out.begin(), out.end(), [&](const Expected& e) { return e.benchmark == op.benchmark(); });
    if (file == out.end()) {
      const bool contraction = op.kind == tuning::Kind::kContraction;
      out.push_back(
          {op.benchmark(), contraction, {}, {}, contraction && op.benchmark().find("fused") != std::string::npos});
      file = out.end() - 1;
    }
    for (const auto* uses : {&op.inputs, &op.outputs})
      for (const tuning::Use& use : *uses)
        if (file->layout(base::lower(use.column)) == nullptr)
          file->layouts.push_back({base::lower(use.column), use.dims});
    if (file->specials.empty())
      for (const tuning::Special& special : op.specials)
        file->specials.push_back({base::lower(special.column), base::lower(special.name)});
  }
  return out;
}

tuning::Measured empty_table(const Expected& expected) {
  tuning::Measured out;
  out.benchmark = expected.benchmark;
  out.contraction = expected.contraction;
  for (const Expected::Layout& one : expected.layouts) out.columns.push_back({one.column, {}});
  for (const Expected::Choice& one : expected.specials) out.specials.push_back({one.short_name, {}});
  return out;
}

std::string layout_mistake(std::string_view written, const Expected::Layout& expected) {
  std::string have = dimensions(written), want = expected.dims;
  for (const char c : have)
    if (want.find(c) == std::string::npos)
      return fmt::format("`{}` names no dimension of `{}` with `{}`", shown(written), expected.column, c);
  std::sort(have.begin(), have.end());
  std::sort(want.begin(), want.end());
  if (have == want) return {};
  return fmt::format("`{}` is not an order of the dimensions {}", shown(written),
                     base::joined(letters(expected.dims), ", "));
}

void SizesSeen::see(char letter, base::Count size, const base::Location& where, base::Diagnostics& found) {
  const auto [known, first] = told_.emplace(letter, where);
  if (first) {
    sizes_[letter] = size;
    return;
  }
  if (sizes_[letter] == size) return;
  found.error("O1713", fmt::format("dimension {} is {} here and {} elsewhere", letter, size, sizes_[letter]), where)
      .also(known->second, fmt::format("{} here", sizes_[letter]))
      .hint("a choice needs measurements of one size; keep those of others in folders of their own");
}

void SizesSeen::join(const SizesSeen& other, base::Diagnostics& found) {
  for (const auto& [letter, where] : other.told_) see(letter, other.sizes_[letter], where, found);
  products_.insert(products_.end(), other.products_.begin(), other.products_.end());
}

bool SizesSeen::within(const SizesSeen& other) const {
  return std::all_of(told_.begin(), told_.end(), [&](const auto& told) {
    return other.told_.contains(told.first) && other.sizes_[told.first] == sizes_[told.first];
  });
}

void SizesSeen::see_product(const std::string& letters, base::Count product, const base::Location& where) {
  products_.push_back({letters, product, where});
}

void SizesSeen::check_products(base::Diagnostics& found) const {
  for (const Product& one : products_) {
    base::Count wanted = 1;
    std::vector<std::string> terms;
    bool known = true;
    for (const char c : one.letters) {
      const base::Count size = c == 'q' ? 3 : sizes_[c];
      known = known && size > 0 && !__builtin_mul_overflow(wanted, size, &wanted);
      terms.push_back(fmt::format("{} {}", c, size));
    }
    if (!known || wanted == one.product) continue;
    found
        .error("O1713", fmt::format("M N K batch is {} here, and the kernels' files say {}", one.product, wanted),
               one.where)
        .note(fmt::format("the dimensions are {}", base::joined(terms, ", ")))
        .hint("a choice needs measurements of one size; keep those of others in folders of their own");
  }
}

}  // namespace orrery::formats::substation
