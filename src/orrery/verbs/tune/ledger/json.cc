#include "orrery/verbs/tune/ledger/report.h"

namespace orrery::verbs {
namespace {

using tuning::LedgerRow;
using tuning::LedgerTotals;
using tuning::MovedRow;

const char* pass(bool backward) {
  return backward ? "backward" : "forward";
}

Record<LedgerRow> row() {
  const auto product = [](const LedgerRow& r) { return r.what == tuning::Class::kContraction; };
  return {
      {"name", "Substation's, where it has one; else those of the elementary operators.", &LedgerRow::name},
      {"class", "Of the work.", [](const LedgerRow& r) { return class_name(r.what); },
       OneOf{{"tensor_contraction", "statistical_normalization", "element_wise"}}},
      {"pass", "When it runs.", [](const LedgerRow& r) { return pass(r.backward); }, OneOf{{"forward", "backward"}}},
      {"einsum", "Of a contraction.", &LedgerRow::einsum, when(product)},
      {"m", "Of a contraction, as of `n`, `k` and `batch`: 2 m n k batch operations.", &LedgerRow::m, when(product)},
      {"n", "See `m`.", &LedgerRow::n, when(product)},
      {"k", "See `m`.", &LedgerRow::k, when(product)},
      {"batch", "See `m`.", &LedgerRow::batch, when(product)},
      {"space", "Letters of the iteration space.", &LedgerRow::space},
      {"reduced", "Those of them that a kernel sums or normalises over.", &LedgerRow::reduced},
      {"elementary", "Names of the elementary operators that it does, or parts of them.", &LedgerRow::operators},
      {"flop", "Operations.", &LedgerRow::flop},
      {"flop_seen", "Of these, without scores that a mask hides.", &LedgerRow::flop_seen},
      {"words_read", "Each operand once.", &LedgerRow::words_read},
      {"words_written", "Each result once.", &LedgerRow::words_written},
      {"words_unread", "Of the words written, those that nothing reads.", &LedgerRow::words_unread}};
}

Record<JudgedOperator> judged() {
  using J = JudgedOperator;
  Record<J> out = row().of<J>(&J::row);
  out.add(
      {{"flop_per_byte", "Operations over bytes moved.", &J::intensity},
       {"modelled_s", "By the machine's roofline.", &J::seconds},
       {"mue", "Memory usage efficiency in that time, percent.", [](const J& j) { return j.at.mue; }},
       {"peak_percent", "Of the peak of arithmetic in that time.", [](const J& j) { return j.at.peak_share; }},
       {"memory_bound", "Whether `mue` is more than `peak_percent`.", [](const J& j) { return j.at.memory_bound(); }}});
  return out;
}

Record<LedgerTotals> sums() {
  return {{"flop", "Operations of all operators.", &LedgerTotals::flop},
          {"flop_contractions", "Of contractions alone.", &LedgerTotals::flop_contractions},
          {"flop_seen", "Without scores that a mask hides.", &LedgerTotals::flop_seen},
          {"words_contractions", "Read and written by contractions.", &LedgerTotals::words_contractions},
          {"words_unfused", "Contractions, and each other operator alone.", &LedgerTotals::words_unfused},
          {"words_fused", "Contractions and fused kernels: `operators`.", &LedgerTotals::words_fused},
          {"words_minimal", "Of `minimal`.", &LedgerTotals::words_minimal},
          {"words_compulsory", "Inputs, weights, outputs and gradients alone.", &LedgerTotals::words_compulsory}};
}

Record<LedgerAnswer> config() {
  using layer::Shape;
  const Record<Shape> sizes = {
      {"batch", "Sequences.", &Shape::batch},
      {"seq", "Tokens of one.", &Shape::length},
      {"width", "Of a token.", &Shape::width},
      {"heads", "Of queries.", &Shape::heads},
      {"kv_heads", "Of keys and values.", &Shape::kv_heads},
      {"head_width", "Of each.", &Shape::head},
      {"ffn", "Width of the network.", &Shape::hidden},
      {"activation", "Its function.", [](const Shape& s) { return verbs::activation_name(s.activation); }},
      {"gated", "Whether a gate multiplies it.", &Shape::gated},
      {"norms", "Where they stand.", [](const Shape& s) { return s.norms == layer::Place::kPost ? "post" : "pre"; },
       OneOf{{"post", "pre"}}},
      {"causal", "Whether tokens see those before them only.", &Shape::causal},
      {"cross", "Whether attention to an encoder's output follows.", &Shape::cross}};
  return {{"model", "Its name; empty: plain sizes.", [](const LedgerAnswer& a) { return a.layer.model; }},
          {"layer", "Its sizes.", [](const LedgerAnswer& a) -> const Shape& { return a.layer.shape; }, sizes},
          {"train", "Whether the backward pass is counted.", [](const LedgerAnswer& a) { return a.options.training; }},
          {"dropout", "Whether masks are.", [](const LedgerAnswer& a) { return a.options.dropout; }}};
}

Record<LedgerAnswer> result() {
  using L = LedgerAnswer;
  const Record<MovedRow> moved = {
      {"name", "What it does.", &MovedRow::name},
      {"pass", "When it runs.", [](const MovedRow& r) { return pass(r.backward); }, OneOf{{"forward", "backward"}}},
      {"words_read", "Each operand once.", &MovedRow::words_read},
      {"words_written", "Each result once.", &MovedRow::words_written}};
  const Record<L> machine = {
      {"name", "Of a system or a chip, or this processor's.", &L::machine},
      {"basis", "What its peaks are.", [](const L& a) { return a.measured ? "measured" : "figures"; },
       OneOf{{"measured", "figures"}}},
      {"precision", "Of words and arithmetic.", [](const L& a) { return machine::name(a.precision); }},
      {"bytes_per_word", "Of it.", [](const L& a) { return a.peaks.bytes_per_word; }},
      {"peak_gflops", "Of arithmetic.", [](const L& a) { return a.peaks.flop_per_s / 1e9; }},
      {"gbytes_per_s", "Of memory.", [](const L& a) { return a.peaks.bytes_per_s / 1e9; }},
      {"modelled_s", "Of all operators, one after the other.", &L::seconds}};
  return {
      {"operators", "Contractions and fused kernels in launch order.", &L::operators, judged()},
      {"elementary", "Operators that are no contractions, each alone.",
       [](const L& a) -> const std::vector<LedgerRow>& { return a.ledger.elementary; }, row()},
      {"minimal", "Operators of the minimal level.",
       [](const L& a) -> const std::vector<MovedRow>& { return a.ledger.minimal; }, moved},
      {"totals", "Of both passes.", [](const L& a) -> const LedgerTotals& { return a.ledger.total; }, sums()},
      {"forward", "Of the forward pass.", [](const L& a) -> const LedgerTotals& { return a.ledger.forward; }, sums()},
      {"backward", "Of the backward pass.", [](const L& a) -> const LedgerTotals& { return a.ledger.backward; },
       sums()},
      {"weights", "Words of weights, biases and norms.", [](const L& a) { return a.ledger.weights; }},
      {"machine", "Against which operators are held.", std::identity(), machine},
      {"config", "Which layer.", std::identity(), config()}};
}

}  // namespace

Document<LedgerAnswer> tune_ledger_document() {
  return {"tune_ledger", "Counts; times are modelled.", result()};
}

}  // namespace orrery::verbs
