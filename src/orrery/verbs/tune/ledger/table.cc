#include <array>
#include <utility>

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/tune/ledger/report.h"

namespace orrery::verbs {
namespace {

using base::Count;
using tuning::ProfileTotals;

std::string mega(Count words) {
  return fmt::format("{:.3f}", static_cast<double>(words) / 1e6);
}

std::string short_class(tuning::Class what) {
  return what == tuning::Class::kContraction     ? "contraction"
         : what == tuning::Class::kNormalisation ? "normalisation"
                                                 : "element-wise";
}

std::string operators(const LedgerAnswer& answer) {
  Table table;
  table.header = {"operator",  "class", "Gflop",     "read Mwords", "written Mwords",
                  "flop/byte", "MUE %", "of peak %", "bound by"};
  table.left_columns = {1, 8};
  bool backward = false;
  for (const JudgedOperator& one : answer.operators) {
    if (one.row.backward != backward) table.rules_before.push_back(table.rows.size());
    backward = one.row.backward;
    table.rows.push_back({one.row.name, short_class(one.row.what),
                          fmt::format("{:.3f}", static_cast<double>(one.row.flop) / 1e9), mega(one.row.words_read),
                          mega(one.row.words_written), fmt::format("{:.2f}", one.intensity),
                          fmt::format("{:.1f}", one.at.mue), fmt::format("{:.1f}", one.at.peak_share),
                          one.at.memory_bound() ? "memory" : "compute"});
  }
  return text(table);
}

std::string totals(const LedgerAnswer& answer) {
  const tuning::OperatorProfile& l = answer.ledger;
  constexpr std::array<std::pair<const char*, Count ProfileTotals::*>, 4> kLevels = {
      {{"unfused", &ProfileTotals::words_unfused},
       {"fused", &ProfileTotals::words_fused},
       {"minimal", &ProfileTotals::words_minimal},
       {"compulsory", &ProfileTotals::words_compulsory}}};
  Table table;
  table.header = {"words", "forward Mwords", "backward Mwords", "both", "GB", "of unfused %"};
  for (const auto& [name, part] : kLevels)
    table.rows.push_back({name, mega(l.forward.*part), mega(l.backward.*part), mega(l.total.*part),
                          fmt::format("{:.3f}", answer.bytes(l.total.*part) / 1e9),
                          fmt::format("{:.1f}", 100.0 * static_cast<double>(l.total.*part) /
                                                    static_cast<double>(l.total.words_unfused))});
  std::string out = text(table);
  const auto giga = [](Count flop) { return fmt::format("{:.3f}", static_cast<double>(flop) / 1e9); };
  out += fmt::format("\noperations  {} Gflop, {} of contractions (forward {}, backward {})", giga(l.total.flop),
                     giga(l.total.flop_contractions), giga(l.forward.flop_contractions),
                     giga(l.backward.flop_contractions));
  if (l.total.flop_seen != l.total.flop)
    out += fmt::format("; {} of scores that the mask does not hide and of the rest", giga(l.total.flop_seen));
  return out + "\n";
}

}  // namespace

std::string class_name(tuning::Class what) {
  return what == tuning::Class::kContraction     ? "tensor_contraction"
         : what == tuning::Class::kNormalisation ? "statistical_normalization"
                                                 : "element_wise";
}

std::string described(const LedgerAnswer& answer) {
  const layer::Shape& s = answer.layer.shape;
  std::string out = answer.layer.model.empty() ? "a layer of given sizes" : "one layer of " + answer.layer.model;
  if (!answer.layer.stack.empty()) out += fmt::format(" ({})", answer.layer.stack);
  out += fmt::format(": width {}, {} heads of {}", s.width, s.heads, s.head());
  if (s.kv_heads() != s.heads) out += fmt::format(" ({} of keys and values)", s.kv_heads());
  out += fmt::format(", {}{} of {}, {} norms", s.gated ? "gated " : "", verbs::activation_name(s.activation), s.hidden,
                     s.norms == layer::Place::kPost ? "post" : "pre");
  if (s.causal) out += ", causal";
  if (s.window > 0) out += fmt::format(", window of {}", s.window);
  if (s.cross) out += fmt::format(", attends to {} tokens of an encoder", s.memory_length);
  out += fmt::format("; batch {}, sequence {}; {}", s.batch, s.length,
                     !answer.options.training ? "inference"
                     : answer.options.dropout ? "training with dropout"
                                              : "training without dropout");
  return out;
}

std::string ledger_table(const LedgerAnswer& answer) {
  std::string out = described(answer) + "\n\n" + operators(answer) + "\n" + totals(answer) + "\n";
  out += roofline_chart(answer) + "\n";
  out += fmt::format("{}: {} {:.1f} TFLOP/s, {:.1f} GB/s, {}\n", answer.machine, answer.format(),
                     answer.peaks.flop_per_s / 1e12, answer.peaks.bytes_per_s / 1e9,
                     answer.measured ? "measured by this run" : "figures of its file");
  return out +
         "words and operations are counted; times behind MUE, shares of the peak and bounds are modelled by a "
         "roofline\n";
}

}  // namespace orrery::verbs
