#include "orrery/formats/dfmodel/setup_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::formats::dfmodel {

namespace {

// What passes through 32 bits is less. Beyond, products of sizes might leave the range of a double.
constexpr double kMost = 1e60;

}  // namespace

base::Location Fields::where(std::string_view field) const {
  const Entry* entry = block_.find(field);
  return entry ? entry->where : block_.where;
}

void Fields::missing(std::string_view field, std::string_view meaning, const std::string& way_out) {
  const FieldType* type = block_.type->find(field);
  base::Diagnostic& error =
      found_.error("O1404", fmt::format("{} has no `{}`: {}", name_, field, meaning), block_.where);
  if (!way_out.empty()) error.hint(way_out);
  if (type && type->choices) error.hint(fmt::format("give `{}: {}`", field, type->choices->values.front()));
}

std::optional<base::Count> Fields::stated_count(std::string_view field, base::Count least) {
  const Entry* entry = block_.find(field);
  if (!entry) return std::nullopt;
  if (entry->broken) return std::max<base::Count>(least, 1);
  if (entry->integer >= least) return entry->integer;
  found_.error("O1405", fmt::format("`{}` of {} cannot be {}", field, name_, entry->integer), entry->where)
      .label(least == 0 ? "must not be negative" : fmt::format("must be at least {}", least));
  return std::max<base::Count>(least, 1);
}

base::Count Fields::required_count(std::string_view field, base::Count least, std::string_view meaning) {
  if (!has(field)) missing(field, meaning);
  return stated_count(field, least).value_or(std::max<base::Count>(least, 1));
}

base::Count Fields::count(std::string_view field, base::Count least, base::Count otherwise) {
  return stated_count(field, least).value_or(otherwise);
}

std::optional<double> Fields::stated_real(std::string_view field, Range range) {
  const Entry* entry = block_.find(field);
  if (!entry) return std::nullopt;
  if (entry->broken) return 1.0;
  const double value = entry->real;
  if (std::isfinite(value) && value > kMost) {
    found_.error("O1405", fmt::format("`{}` of {} cannot be {}", field, name_, value), entry->where)
        .label(fmt::format("must be at most {:g}", kMost));
    return 1.0;
  }
  if (std::isfinite(value) && (value > 0 || (value == 0 && range == Range::kNotNegative))) {
    return std::abs(value);  // no -0
  }
  base::Diagnostic& error =
      found_.error("O1405", fmt::format("`{}` of {} cannot be {}", field, name_, value), entry->where);
  if (std::isnan(value)) {
    error.label("must be a number");
  } else if (std::isinf(value)) {
    error.label("must be finite");
  } else {
    error.label(range == Range::kPositive ? "must be above 0" : "must not be negative");
  }
  return 1.0;
}

double Fields::required_positive(std::string_view field, std::string_view meaning) {
  if (!has(field)) missing(field, meaning);
  return stated_real(field, Range::kPositive).value_or(1.0);
}

double Fields::positive(std::string_view field, double otherwise) {
  return stated_real(field, Range::kPositive).value_or(otherwise);
}

double Fields::not_negative(std::string_view field) {
  return stated_real(field, Range::kNotNegative).value_or(0.0);
}

bool Fields::flag(std::string_view field) {
  const Entry* entry = block_.find(field);
  return entry && entry->flag;
}

std::string Fields::text(std::string_view field) {
  const Entry* entry = block_.find(field);
  return entry ? entry->text : std::string();
}

int Fields::choice(std::string_view field) {
  const Entry* entry = block_.find(field);
  return entry ? entry->choice : 0;
}

int Fields::required_choice(std::string_view field, std::string_view meaning) {
  const Entry* entry = block_.find(field);
  if (!entry || (entry->choice == 0 && !entry->broken)) missing(field, meaning);
  return choice(field);
}

const Block* Fields::inner(std::string_view field) const {
  const Entry* entry = block_.find(field);
  return entry ? &entry->block : nullptr;
}

const Block* Fields::required_inner(std::string_view field, std::string_view meaning, const std::string& way_out) {
  if (!has(field)) missing(field, meaning, way_out);
  return inner(field);
}

std::string name_list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "`" : i + 1 == names.size() ? " or `" : ", `") + names[i] + "`";
  return out;
}

}  // namespace orrery::formats::dfmodel
