// The time of an operator is the roofline's (describe/machine/roofline.h): a contraction by its product of matrices,
// everything else by the bytes that it moves, or by its operations where these take longer. A chip moves words of its
// own width, results too, where the roofline of a GPU has 16 bits at least.
#include "orrery/verbs/tune/ledger/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/verbs/tune/rated_machine.h"

namespace orrery::verbs {
namespace {

using machine::Precision;

double modelled_seconds(const tuning::ProfileRow& row, const machine::Roofline& roofline, const tuning::Rates& peaks,
                        Precision precision, bool chip) {
  const bool product = row.what == tuning::Class::kContraction;
  if (product && !chip) return roofline.matrix_product_seconds({row.batch, row.m, row.n, row.k, precision});
  const double bytes = static_cast<double>(row.words()) * peaks.bytes_per_word;
  return std::max(roofline.memory_bound_seconds(bytes), static_cast<double>(row.flop) / peaks.flop_per_s);
}

tuning::OperatorProfile counted(const tuning::LayerOptions& options) {
  try {
    return tuning::operator_profile(options);
  } catch (const base::OverflowError&) {
    const layer::Shape& s = options.shape;
    base::Diagnostics found;
    found.error("O1701", "the layer has more words or operations than a count of 64 bits holds")
        .note(fmt::format("{} sequences of {} tokens, width {}, {} heads of {}, network of {}", s.batch, s.length,
                          s.width, s.heads, s.head(), s.hidden))
        .note(fmt::format("scores alone are {} x {} x {} x {}", s.batch, s.heads, s.length, s.length))
        .hint("fewer or shorter sequences: everything but the weights is in proportion to their number");
    found.throw_if_errors();
    throw;
  }
}

}  // namespace

double LedgerAnswer::seconds() const {
  double sum = 0;
  for (const JudgedOperator& one : operators) sum += one.seconds;
  return sum;
}

std::string LedgerAnswer::format() const {
  return word_bits > 0 ? fmt::format("{}-bit words", word_bits) : std::string(machine::name(precision));
}

LedgerAnswer tune_ledger(const LedgerRequest& request) {
  LedgerAnswer out;
  out.layer = runnable_layer(request.layer);
  out.inputs = out.layer.inputs;
  out.warnings = out.layer.warnings;
  out.options = {out.layer.shape, request.training, request.training && request.dropout.value_or(out.layer.drops)};
  out.ledger = counted(out.options);
  const RatedMachine machine = rated_machine(request.system, request.chip, request.threads);
  out.inputs.insert(out.inputs.end(), machine.inputs.begin(), machine.inputs.end());
  out.warnings.append(machine.warnings);
  out.machine = machine.name;
  out.measured = machine.measured;
  out.precision = chosen_precision(request.precision, machine);
  out.word_bits = machine.word_bits;
  out.peaks = {machine.accelerator.peak(out.precision), machine.accelerator.memory_bytes_per_s,
               out.word_bits > 0 ? out.word_bits / 8.0 : machine::bytes_per_element(out.precision)};
  const machine::Roofline roofline(machine.accelerator);
  for (const tuning::ProfileRow& row : out.ledger.operators) {
    JudgedOperator one{row};
    one.seconds = modelled_seconds(row, roofline, out.peaks, out.precision, out.word_bits > 0);
    const double bytes = out.bytes(row.words());
    one.intensity = bytes > 0 ? static_cast<double>(row.flop) / bytes : 0;
    one.at = tuning::efficiency(row, one.seconds, out.peaks);
    out.operators.push_back(std::move(one));
  }
  return out;
}

}  // namespace orrery::verbs
