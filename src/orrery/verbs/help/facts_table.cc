#include "orrery/verbs/help/facts_table.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
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

// Bytes as the file stores them.
std::string weights(const ModelFacts& facts) {
  const auto& w = facts.weights;
  std::string out = fmt::format("weights           {:.4g} GB", w.bytes / 1e9);
  if (w.converted == 0)
    return out + fmt::format(" in {} bit{}\n", w.plain_bits, w.stated ? "" : " (the file does not say how wide)");
  return out + fmt::format(" by {}: {} parameters converted, {} in {} bit, {:.4g} GB of scales\n", w.method,
                           grouped(w.converted), grouped(facts.parameters - w.converted), w.plain_bits,
                           w.scale_bytes / 1e9);
}

}  // namespace

std::string facts_table(const ModelFacts& facts) {
  Table parts;
  parts.header = {"parameters", "all", "active"};
  for (const workload::Part& part : facts.parts)
    parts.rows.push_back({part.name, grouped(part.parameters), grouped(part.active)});
  parts.rules_before = {parts.rows.size()};
  parts.rows.push_back({"total", grouped(facts.parameters), grouped(facts.active_parameters)});
  // Papers often print what is left: a token reads a row of each table.
  const Count tables = facts.embedding_parameters;
  if (tables > 0)
    parts.rows.push_back(
        {"less the tables", grouped(facts.parameters - tables), grouped(facts.active_parameters - tables)});
  std::string out = text(parts) + "\n";
  out += weights(facts);
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
  if (!facts.not_counted.empty()) out += fmt::format("not counted       {}\n", base::joined(facts.not_counted, "; "));
  if (facts.predicted_ahead > 0)
    out += fmt::format("not counted       {} layer{} predicting tokens beyond the next: `--mtp` counts {}\n",
                       facts.predicted_ahead, base::plural(facts.predicted_ahead),
                       base::plural(facts.predicted_ahead, "it", "them"));

  for (const BlockFacts& block : facts.blocks) {
    Table operators;
    operators.header = {fmt::format("{}, {} layer{}{}{}", block.stack, block.layers, base::plural(block.layers),
                                    block.kind.empty() ? "" : ": ", block.kind),
                        "instances", "produced", "reduced", "columns"};
    for (const OperatorFacts& op : block.operators)
      operators.rows.push_back(
          {op.name, grouped(op.instances), grouped(op.produced), grouped(op.reduced), grouped(op.columns)});
    out += "\n" + text(operators);
  }
  return out;
}

}  // namespace orrery::verbs
