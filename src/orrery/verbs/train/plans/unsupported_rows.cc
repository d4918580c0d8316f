#include "orrery/verbs/train/plans/unsupported_rows.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {

void UnsupportedRows::add(cluster::StackName stack, cluster::Features missing, std::uint64_t line) {
  Lack& lack = of_.at(static_cast<std::size_t>(stack));
  lack.missing |= missing;
  if (lack.rows++ == 0) lack.first_line = line;
}

void UnsupportedRows::take(const UnsupportedRows& other) {
  for (std::size_t i = 0; i < of_.size(); ++i) {
    if (other.of_[i].rows == 0) continue;
    if (of_[i].rows == 0) of_[i].first_line = other.of_[i].first_line;
    of_[i].missing |= other.of_[i].missing;
    of_[i].rows += other.of_[i].rows;
  }
}

void UnsupportedRows::tell(base::Diagnostics& warnings) const {
  for (const auto& [name, stack] : cluster::stacks()) {
    const Lack& lack = of_.at(static_cast<std::size_t>(stack));
    if (lack.rows == 0) continue;
    std::vector<std::string> texts;
    const std::vector<cluster::Feature>& all = cluster::features();
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((lack.missing >> i & 1) != 0) texts.emplace_back(all[i].text);
    warnings
        .warning("O1990", fmt::format("{} does not run {} of these plans, the first of line {}: it lacks {}", name,
                                      lack.rows, lack.first_line, base::joined(texts, ", ")))
        .note(fmt::format("their figures are what they would take; `orrery catalog show {}` says what it runs", name));
  }
}

}  // namespace orrery::verbs
