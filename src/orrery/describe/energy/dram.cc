#include "orrery/describe/energy/dram.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

constexpr double kAccuracyPercent = 80;

std::string known(const std::vector<DramType>& types) {
  std::vector<std::string> names;
  for (const DramType& type : types) names.push_back(type.name);
  return base::joined(names, ", ");
}

}  // namespace

std::optional<double> Dram::accuracy(const Query& query) const {
  if (query.class_name != "DRAM") return std::nullopt;
  return kAccuracyPercent;
}

Answer Dram::estimate(const Query& query) const {
  if (types_.empty()) return Refusal{"its table of types is empty"};
  Figure figure;
  figure.accuracy_percent = kAccuracyPercent;
  figure.estimator = name();

  const Value* wanted = find(query.attributes, "type");
  const Value* own = find(query.attributes, "pj_per_bit");
  const auto given = own ? number(*own) : std::nullopt;
  if (own && (!given || *given <= 0))
    return Refusal{fmt::format("`pj_per_bit` is not a positive number, but `{}`", text(*own))};
  const auto type = wanted ? std::find_if(types_.begin(), types_.end(),
                                          [&](const DramType& one) { return one.name == text(*wanted); })
                           : types_.begin();
  if (type == types_.end() && !given) {
    // DDR4 is not a misspelt DDR3: only another spelling of the same letters is suggested.
    const auto meant = std::find_if(types_.begin(), types_.end(), [&](const DramType& one) {
      return base::lower(one.name) == base::lower(text(*wanted));
    });
    return Refusal{fmt::format("has no energy per bit of type `{}`; it knows {}{}", text(*wanted), known(types_),
                               meant == types_.end() ? "" : fmt::format(" (did you mean `{}`?)", meant->name)),
                   "give the memory's own figure beside its type: `pj_per_bit: 5`"};
  }
  if (query.wants_area() || query.action == "leak") {
    figure.basis = Basis::kAssumed;
    figure.source =
        query.wants_area() ? "the DRAM chip is not part of the die" : "standby is part of the energy per bit";
    return figure;
  }
  if (query.action != "read" && query.action != "write" && query.action != "update")
    return Refusal{"knows read, write, update and leak of a DRAM"};
  const Value* width = find(query.attributes, "width");
  if (!width) return Refusal{"needs attribute `width`, the bits of one access"};
  const auto bits = number(*width);
  // A width of 0 would make the memory free.
  if (!bits || *bits <= 0)
    return Refusal{fmt::format("`width` is not a positive number of bits, but `{}`", text(*width))};
  if (given) {
    figure.value = *given * *bits;
    figure.basis = Basis::kAssumed;
    figure.source = fmt::format("{:g} pJ/bit of the description x {:g} bit", *given, *bits);
    return figure;
  }
  figure.value = type->pj_per_bit * *bits;
  figure.source = fmt::format("{} {:g} pJ/bit x {:g} bit ({}{})", type->name, type->pj_per_bit, *bits, type->source,
                              wanted ? "" : "; type not given");
  return figure;
}

}  // namespace orrery::energy
