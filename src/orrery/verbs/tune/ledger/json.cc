#include "orrery/verbs/tune/ledger/report.h"

#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {
namespace {

using tuning::MovedRow;
using tuning::ProfileRow;
using tuning::ProfileTotals;

const char* pass(bool backward) {
  return backward ? "backward" : "forward";
}

Record<ProfileRow> row() {
  const auto product = [](const ProfileRow& r) { return r.what == tuning::Class::kContraction; };
  return {{"name", "Name of the operator: Substation's where it has one.", &ProfileRow::name},
          {"class", "Class of the operator.", [](const ProfileRow& r) { return class_name(r.what); },
           OneOf{{"tensor_contraction", "statistical_normalization", "element_wise"}}},
          {"pass", "Pass in which it runs.", [](const ProfileRow& r) { return pass(r.backward); },
           OneOf{{"forward", "backward"}}},
          {"einsum", "Contraction in Einstein notation; only of contractions.", &ProfileRow::einsum, when(product)},
          {"m", "Rows of the result; only of contractions, which take 2 m n k batch operations.", &ProfileRow::m,
           when(product)},
          {"n", "Columns of the result; only of contractions.", &ProfileRow::n, when(product)},
          {"k", "Length of the sum; only of contractions.", &ProfileRow::k, when(product)},
          {"batch", "Equal GEMMs; only of contractions.", &ProfileRow::batch, when(product)},
          {"space", "Letters of the iteration space.", &ProfileRow::space},
          {"reduced", "Letters that a kernel sums or normalises over.", &ProfileRow::reduced},
          {"elementary", "Elementary operators that it does, or parts of them.", &ProfileRow::operators},
          {"flop", "Floating-point operations.", &ProfileRow::flop},
          {"flop_seen", "Floating-point operations without scores that a mask hides.", &ProfileRow::flop_seen},
          {"words_read", "Words read, each operand once.", &ProfileRow::words_read},
          {"words_written", "Words written, each result once.", &ProfileRow::words_written},
          {"words_unread", "Words written that nothing reads.", &ProfileRow::words_unread}};
}

Record<JudgedOperator> judged() {
  using J = JudgedOperator;
  Record<J> out = row().of<J>(&J::row);
  out.add(
      {{"flop_per_byte", "Floating-point operations over bytes moved.", &J::intensity},
       {"modelled_s", "Time by the machine's roofline, in seconds.", &J::seconds},
       {"mue", "Memory usage efficiency in that time, in percent.", [](const J& j) { return j.at.mue; }},
       {"peak_percent", "Share of the arithmetic peak in that time, in percent.",
        [](const J& j) { return j.at.peak_share; }},
       {"memory_bound", "Whether `mue` is more than `peak_percent`.", [](const J& j) { return j.at.memory_bound(); }}});
  return out;
}

Record<ProfileTotals> sums() {
  return {
      {"flop", "Floating-point operations of all operators.", &ProfileTotals::flop},
      {"flop_contractions", "Floating-point operations of contractions.", &ProfileTotals::flop_contractions},
      {"flop_seen", "Floating-point operations without scores that a mask hides.", &ProfileTotals::flop_seen},
      {"words_contractions", "Words that contractions read and write.", &ProfileTotals::words_contractions},
      {"words_unfused", "Words moved by contractions and by every other operator alone.",
       &ProfileTotals::words_unfused},
      {"words_fused", "Words moved by contractions and fused kernels, as in `operators`.", &ProfileTotals::words_fused},
      {"words_minimal", "Words moved by the operators of `minimal`.", &ProfileTotals::words_minimal},
      {"words_compulsory", "Words of inputs, weights, outputs and gradients alone.", &ProfileTotals::words_compulsory}};
}

Record<LedgerAnswer> ledger_config() {
  using layer::Shape;
  return {{"model", "Name of the model; empty where sizes were given.",
           [](const LedgerAnswer& a) { return a.layer.model; }},
          {"layer", "Sizes of the layer.", [](const LedgerAnswer& a) -> const Shape& { return a.layer.shape; },
           sizes_of_layer()},
          {"train", "Whether the backward pass is counted.", [](const LedgerAnswer& a) { return a.options.training; }},
          {"dropout", "Whether dropout masks are counted.", [](const LedgerAnswer& a) { return a.options.dropout; }}};
}

Record<LedgerAnswer> ledger_result() {
  using L = LedgerAnswer;
  const Record<MovedRow> moved = {{"name", "What the operator does.", &MovedRow::name},
                                  {"pass", "Pass in which it runs.", [](const MovedRow& r) { return pass(r.backward); },
                                   OneOf{{"forward", "backward"}}},
                                  {"words_read", "Words read, each operand once.", &MovedRow::words_read},
                                  {"words_written", "Words written, each result once.", &MovedRow::words_written}};
  const Record<L> machine = {
      {"name", "Name of the system, the chip or this processor.", &L::machine},
      {"basis", "Whether its peaks were measured or are published figures.",
       [](const L& a) { return a.measured ? "measured" : "figures"; }, OneOf{{"measured", "figures"}}},
      {"precision", "Number format of words and arithmetic; of a chip the width of its words.", &L::format},
      {"bytes_per_word", "Bytes of a word.", [](const L& a) { return a.peaks.bytes_per_word; }},
      {"peak_gflops", "Peak of arithmetic, in 1e9 operations a second.",
       [](const L& a) { return a.peaks.flop_per_s / 1e9; }},
      {"gbytes_per_s", "Bandwidth of memory, in 1e9 bytes a second.",
       [](const L& a) { return a.peaks.bytes_per_s / 1e9; }},
      {"modelled_s", "Time of all operators one after the other, in seconds.", &L::seconds}};
  return {
      {"operators", "Contractions and fused kernels, in launch order.", &L::operators, judged()},
      {"elementary", "Operators that are no contractions, each alone.",
       [](const L& a) -> const std::vector<ProfileRow>& { return a.ledger.elementary; }, row()},
      {"minimal", "Operators at the minimal level of data movement.",
       [](const L& a) -> const std::vector<MovedRow>& { return a.ledger.minimal; }, moved},
      {"totals", "Totals of both passes.", [](const L& a) -> const ProfileTotals& { return a.ledger.total; }, sums()},
      {"forward", "Totals of the forward pass.", [](const L& a) -> const ProfileTotals& { return a.ledger.forward; },
       sums()},
      {"backward", "Totals of the backward pass.", [](const L& a) -> const ProfileTotals& { return a.ledger.backward; },
       sums()},
      {"weights", "Words of weights, biases and norms.", [](const L& a) { return a.ledger.weights; }},
      {"machine", "Machine whose peaks the operators are compared with.", std::identity(), machine},
      {"config", "The layer that was counted.", std::identity(), ledger_config()}};
}

}  // namespace

Document<LedgerAnswer> tune_ledger_document() {
  return {"tune_ledger", "Operations and words of a layer, counted; times are modelled.", ledger_result()};
}

}  // namespace orrery::verbs
