// A layer's operators, their words and operations, and how near to a machine's limits a roofline sees them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/runtime/tuning/operator_profile.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

struct LedgerRequest {
  LayerRequest layer;
  bool training = true;
  std::optional<bool> dropout;  // default: as the model is trained; of given sizes: yes
  std::string system, chip;     // of the catalogue or files; neither: this machine, measured
  std::optional<machine::Precision> precision;
  int threads = 0;  // of this machine; <= 0: all cores
};

struct JudgedOperator {
  tuning::ProfileRow row;
  double seconds = 0;    // modelled
  double intensity = 0;  // operations a byte
  tuning::Efficiency at;
};

struct LedgerAnswer {
  RunnableLayer layer;
  tuning::LayerOptions options;
  tuning::OperatorProfile ledger;
  std::vector<JudgedOperator> operators;
  std::string machine;
  bool measured = false;  // its peaks, by this run; else they are figures of the catalogue or a file
  machine::Precision precision = machine::Precision::kFp32;
  tuning::Rates peaks;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  double seconds() const;  // of all operators, one after the other
  double bytes(base::Count words) const { return static_cast<double>(words) * peaks.bytes_per_word; }
};

// Throws InputError: what runnable_layer says; O1701 where a count exceeds 64 bits; O1702 where the machine has no peak
// of the precision; what the system's or the chip's files say.
LedgerAnswer tune_ledger(const LedgerRequest& request);

}  // namespace orrery::verbs
