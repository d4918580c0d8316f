#include "orrery/report/facts_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/report/table.h"

namespace orrery::report {
namespace {

using base::Count;

std::string grouped(Count number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string flop(double value) {
  constexpr const char* kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

}  // namespace

std::string facts_table(const scenario::ModelFacts& facts) {
  Table parts;
  parts.header = {"parameters", "all", "active"};
  for (const workload::Part& part : facts.parts)
    parts.rows.push_back({part.name, grouped(part.parameters), grouped(part.active)});
  parts.rules_before = {parts.rows.size()};
  parts.rows.push_back({"total", grouped(facts.parameters), grouped(facts.active_parameters)});
  std::string out = text(parts) + "\n";
  out += fmt::format("weights           {:.4g} GB, were all of them in {} bit\n", facts.weight_bytes / 1e9,
                     facts.weight_bits);

  if (facts.kv_cache_bytes_per_token > 0) {
    out += fmt::format("cache of a token  {} B in 16 bit", grouped(facts.kv_cache_bytes_per_token));
    if (facts.kv_cache_growing_bytes_per_token != facts.kv_cache_bytes_per_token)
      out += fmt::format(", {} B once the windows are full", grouped(facts.kv_cache_growing_bytes_per_token));
    out += "\n";
  }
  if (facts.state_elements > 0)
    out += fmt::format("state             {} elements for a sequence\n", grouped(facts.state_elements));
  out += fmt::format("forward           {} for each token of a sequence of {}, {} of it attention to all others\n",
                     flop(facts.forward_flop_per_token), grouped(facts.sequence), flop(facts.attention_flop_per_token));
  if (facts.visible_attention_flop_per_token < facts.attention_flop_per_token)
    out += fmt::format("                  {} of attention are left by masks and windows\n",
                       flop(facts.visible_attention_flop_per_token));
  if (!facts.not_counted.empty()) out += fmt::format("not counted       {}\n", fmt::join(facts.not_counted, "; "));
  if (facts.predicted_ahead > 0)
    out += fmt::format("not counted       {} layer{} predicting tokens beyond the next\n", facts.predicted_ahead,
                       facts.predicted_ahead == 1 ? "" : "s");

  for (const scenario::BlockFacts& block : facts.blocks) {
    Table operators;
    operators.header = {fmt::format("{}, {} layer{}{}{}", block.stack, block.layers, block.layers == 1 ? "" : "s",
                                    block.kind.empty() ? "" : ": ", block.kind),
                        "instances", "produced", "reduced", "columns"};
    for (const scenario::OperatorFacts& op : block.operators)
      operators.rows.push_back(
          {op.name, grouped(op.instances), grouped(op.produced), grouped(op.reduced), grouped(op.columns)});
    out += "\n" + text(operators);
  }
  return out;
}

}  // namespace orrery::report
