// A chip's documents, and the chip with its energies once the first layer on it was read.
#pragma once

#include <memory>

#include "orrery/formats/timeloop/documents/chip_reading.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

// Not thread-safe.
class PricedChip {
 public:
  // Borrows `documents`.
  explicit PricedChip(const formats::timeloop::Documents& documents) : reading_(documents) {}

  formats::timeloop::ChipReading& reading() { return reading_; }

  // Completes `question` by the chip, and appends what the estimators say to `found`. Of use after the first `layer` of
  // reading(). Throws InputError with all of `found`.
  void give(Estimators& estimators, LayerQuestion& question, base::Diagnostics& found);

  // The design with its prices; a null one stays null. After `give`.
  void give_sparse(std::shared_ptr<nest::SparseDesign> design, LayerQuestion& question, base::Diagnostics& found) const;

  // What is asked about `einsum` on this chip. Warnings go to `found`; throws InputError.
  LayerQuestion ask(const workload::Einsum& einsum, Estimators& estimators, base::Diagnostics& found);

 private:
  formats::timeloop::ChipReading reading_;
  bool asked_ = false;
  std::shared_ptr<const machine::Chip> chip_;
  Estimates estimates_;
  base::Diagnostics said_;
};

// Finds what is missing for a layer on a chip (O1003). `other`: what may stand in place of a file with a `problem`.
void require_parts(bool chip, bool problem, const std::string& other, base::Diagnostics& missing);

}  // namespace orrery::verbs
