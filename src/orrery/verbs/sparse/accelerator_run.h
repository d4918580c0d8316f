// An accelerator and what it is given, put together: memories that hold it, faults told, packing, prices. This folder
// has what the verbs of the accelerator for pruned attention share; each verb is a folder below (`orrery sparse
// simulate`, `design`, `rtl`, `latency`, `bench`, `break-even`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/accelerator/simulate.h"
#include "orrery/verbs/sparse/array_cases.h"
#include "orrery/verbs/sparse/array_price.h"

namespace orrery::verbs {

// The accelerator as it is asked for; what is not given is made to fit.
struct ArrayChoice {
  accelerator::Instance instance;
  std::optional<base::Count> query_rows, key_tokens, score_keys, block_slots;
  std::optional<base::Count> prediction_width, quantiser_lanes, merge_lanes, latency;
  bool one_after_another = false;
  std::string packing = "pack";  // in the machine, as Sanger does; `orrery`: blocks packed beforehand
  std::string technology = "45nm";
  std::string dram = "HBM2";
};

// The instance that runs all of these cases. Throws InputError with every fault: O1890 to O1893.
accelerator::Instance instance_for(const ArrayChoice& choice, const std::vector<ArrayCase>& cases);

struct ArrayRunOptions {
  masks::PackEffort effort;
  int threads = 1;
  bool keep_mask = false;
  std::function<void(const accelerator::Interval&)> trace;
};

struct CaseRun {
  accelerator::Simulation run;  // without outputs
  base::Count kept = 0, pairs = 0;
  double load_balance = 0;               // kept pairs over PEs of vectors that are split, as LatencyShape has it
  std::optional<double> relative_error;  // |array - dense| / |dense|: pruning and fixed point together
  std::optional<double> pruning_error;   // of that, what exact arithmetic on the same mask would have
  std::optional<masks::Mask> mask;       // that was computed, where it is to be kept
};

// Throws Unfinished; O1894.
CaseRun run_case(const ArrayCase& one, const accelerator::Instance& instance, const std::string& packing,
                 const ArrayRunOptions& options, const base::Budget& budget);

// Cycles, events and memories of both, one after the other.
void add(accelerator::Simulation& sum, const accelerator::Simulation& other);

ArrayPrice price_of(const accelerator::Instance& instance, const accelerator::Simulation& run,
                    const ArrayChoice& choice, Estimators& estimators);
// Throws what price_of() would, before a long run.
void check_price(const accelerator::Instance& instance, const ArrayChoice& choice, Estimators& estimators);

}  // namespace orrery::verbs
