// Fields of a block, checked as they are read: what is missing, what is out of range. Every function reports what it
// refuses and returns a stand-in that no later check should trip over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

class Fields {
 public:
  // `name` is what the user calls the block, for messages ("`accelerator`", "kernel 3 `Q`").
  Fields(const Block& block, std::string name, base::Diagnostics& found)
      : block_(block), name_(std::move(name)), found_(found) {}

  const Block& block() const { return block_; }
  const std::string& name() const { return name_; }
  // Stated, be it broken or not.
  bool has(std::string_view field) const { return block_.find(field) != nullptr; }
  base::Location where(std::string_view field) const;

  // `meaning` completes "`accelerator` has no `core`: ...". Required fields fail with O1404, numbers out of range with
  // O1405.
  base::Count required_count(std::string_view field, base::Count least, std::string_view meaning);
  base::Count count(std::string_view field, base::Count least, base::Count otherwise);
  double required_positive(std::string_view field, std::string_view meaning);
  double positive(std::string_view field, double otherwise);
  double not_negative(std::string_view field);  // 0 when not given
  bool flag(std::string_view field);            // false when not given
  std::string text(std::string_view field);     // "" when not given
  int choice(std::string_view field);           // 0 when not given
  int required_choice(std::string_view field, std::string_view meaning);
  const Block* inner(std::string_view field) const;
  const Block* required_inner(std::string_view field, std::string_view meaning, const std::string& way_out = {});

  void missing(std::string_view field, std::string_view meaning, const std::string& way_out = {});

 private:
  enum class Range { kPositive, kNotNegative };
  std::optional<base::Count> stated_count(std::string_view field, base::Count least);
  std::optional<double> stated_real(std::string_view field, Range range);

  const Block& block_;
  std::string name_;
  base::Diagnostics& found_;
};

// `a`, `b` or `c`
std::string name_list(const std::vector<std::string>& names);

}  // namespace orrery::formats::dfmodel
