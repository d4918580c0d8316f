// The time of an operator is the roofline's (machine/roofline.h): a contraction by its product of matrices, everything
// else by the bytes that it moves, or by its operations where these take longer.
#include "orrery/scenario/tune_ledger.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/machine/roofline.h"
#include "orrery/scenario/system_reading.h"
#include "orrery/scenario/this_machine.h"

namespace orrery::scenario {
namespace {

using machine::Precision;

struct Machine {
  machine::Accelerator accelerator;
  std::string name;
  bool measured = false;
};

Machine read_machine(const LedgerRequest& request, LedgerAnswer& out) {
  const auto take = [&](SystemReading reading, std::string name) {
    out.inputs.insert(out.inputs.end(), reading.inputs.begin(), reading.inputs.end());
    out.warnings.append(reading.warnings);
    return Machine{reading.system.accelerator, std::move(name)};
  };
  if (!request.system.empty() && request.system != kThisMachine) {
    const std::string name = request.chip.empty() ? request.system : request.chip + " in " + request.system;
    return take(read_system(catalogue_directory(), request.system, {}, request.chip), name);
  }
  if (!request.chip.empty()) {
    const SystemChip chip(request.chip, {}, {});
    out.inputs.insert(out.inputs.end(), chip.inputs().begin(), chip.inputs().end());
    out.warnings.append(chip.warnings());
    return {chip.seen_from_outside({}), request.chip};
  }
  const ThisMachine here(request.threads);
  SystemReading reading = with_chip(formats::orrery::read_system(catalogue_directory(), here.document(), {}));
  Machine machine{reading.system.accelerator, reading.system.accelerator.name, true};
  return machine;
}

Precision chosen_precision(const LedgerRequest& request, const Machine& machine) {
  const auto has = [&](Precision one) { return machine.accelerator.peak(one) > 0; };
  if (!request.precision) return machine.measured || !has(Precision::kBf16) ? Precision::kFp32 : Precision::kBf16;
  if (has(*request.precision)) return *request.precision;
  std::vector<std::string_view> others;
  for (const Precision one : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp8})
    if (has(one)) others.push_back(machine::name(one));
  base::fail(
      "O1702",
      fmt::format("`{}` has no peak of {}, which shares of it need", machine.name, machine::name(*request.precision)),
      {}, fmt::format("it has {}", fmt::join(others, ", ")));
}

double modelled_seconds(const tuning::LedgerRow& row, const machine::Roofline& roofline, const tuning::Rates& peaks,
                        Precision precision) {
  if (row.what == tuning::Class::kContraction)
    return roofline.matrix_product_seconds({row.batch, row.m, row.n, row.k, precision});
  const double bytes = static_cast<double>(row.words()) * peaks.bytes_per_word;
  return std::max(roofline.memory_bound_seconds(bytes), static_cast<double>(row.flop) / peaks.flop_per_s);
}

tuning::Ledger counted(const tuning::LayerOptions& options) {
  try {
    return tuning::ledger(options);
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

LedgerAnswer tune_ledger(const LedgerRequest& request) {
  LedgerAnswer out;
  out.layer = runnable_layer(request.layer);
  out.inputs = out.layer.inputs;
  out.warnings = out.layer.warnings;
  out.options = {out.layer.shape, request.training, request.training && request.dropout.value_or(out.layer.drops)};
  out.ledger = counted(out.options);
  const Machine machine = read_machine(request, out);
  out.machine = machine.name;
  out.measured = machine.measured;
  out.precision = chosen_precision(request, machine);
  out.peaks = {machine.accelerator.peak(out.precision), machine.accelerator.memory_bytes_per_s,
               machine::bytes_per_element(out.precision)};
  const machine::Roofline roofline(machine.accelerator);
  for (const tuning::LedgerRow& row : out.ledger.operators) {
    JudgedOperator one{row};
    one.seconds = modelled_seconds(row, roofline, out.peaks, out.precision);
    const double bytes = out.bytes(row.words());
    one.intensity = bytes > 0 ? static_cast<double>(row.flop) / bytes : 0;
    one.at = tuning::efficiency(row, one.seconds, out.peaks);
    out.operators.push_back(std::move(one));
  }
  return out;
}

}  // namespace orrery::scenario
