// What `tune ledger` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/runtime/tuning/layer_operators.h"
#include "orrery/runtime/tuning/operator_profile.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

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
  int word_bits = 0;  // of a chip, whose words are no format of these; 0: those of `precision`
  tuning::Rates peaks;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  double seconds() const;      // of all operators, one after the other
  std::string format() const;  // of words: "bf16", "8-bit words"
  double bytes(base::Count words) const { return static_cast<double>(words) * peaks.bytes_per_word; }
};

}  // namespace orrery::verbs
