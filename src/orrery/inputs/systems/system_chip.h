// A chip in the place of a system's accelerator: its loop nests time the products, its memory holds the model.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/inputs.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/priced_chip.h"
#include "orrery/inputs/systems/chip_operators.h"

namespace orrery::verbs {

// A chip of the catalogue, or one of files, ready to be asked about any product. Neither copied nor moved: its
// operators refer to it.
class SystemChip {
 public:
  // `name`: of the catalogue, or the path of a file or of a folder. `overrides`: of its documents. Searches begin when
  // operators are asked. Throws InputError for what cannot be read, and O1390 for a chip without a memory port.
  SystemChip(const std::string& name, const base::Overrides& overrides, const EstimatorSetup& estimators);
  SystemChip(const SystemChip&) = delete;
  SystemChip& operator=(const SystemChip&) = delete;

  const std::string& name() const { return name_; }
  const machine::Chip& chip() const { return *chip_; }
  // With `operators(fuse)` the files of the chip on which softmaxes run, too.
  const std::vector<base::Input>& inputs() const { return inputs_; }
  const base::Diagnostics& warnings() const { return warnings_; }

  // What it does not say is `otherwise`'s; so is its name, where that has one.
  machine::Accelerator seen_from_outside(const machine::Accelerator& otherwise) const;

  // The system with this chip for its accelerator. Networks and prices stay; what was calibrated of the accelerator it
  // had does not.
  cluster::System in(cluster::System system) const;

  // Answers about products, by search, and with `fuse` about attention as one operator. `limits.seconds` counts from
  // this call on. Throws InputError for what cannot be read of the chip on which softmaxes run.
  std::unique_ptr<ChipOperators> operators(const base::Limits& limits, double issue_seconds, bool fuse = false);

 private:
  std::unique_ptr<PricedChip> read(const std::vector<File>& files, const formats::timeloop::Parsed& known);
  void read_normalisation();

  std::string name_, path_;  // as it is called, as it was asked for
  formats::timeloop::ReadOptions how_;
  std::deque<formats::timeloop::Documents> documents_;   // of both
  std::unique_ptr<PricedChip> reading_, normalisation_;  // the second runs softmaxes; null: the first does
  Estimators estimators_;
  std::shared_ptr<const machine::Chip> chip_;
  std::vector<base::Input> inputs_;
  base::Diagnostics warnings_;
};

// Warns where the chip's words are not as wide as the numbers of what runs (O1394). `what`: "the run stores
// activations in"; `counted`: what becomes of products on those words, "timed".
void warn_of_words(const SystemChip& chip, int stored_bits, const std::string& what, const std::string& counted,
                   const std::string& hint, base::Diagnostics& found);

// Throws InputError O1396 where `--fuse` has no chip (null), or where an array does the attention (`array`; empty:
// none), and warns where no storage of the chip can hold what is handed on.
void check_fusion(const SystemChip* chip, const std::string& array, base::Diagnostics& warnings);

// Warns of mappings that a limit left without a proof (O1395), and says by how much a product may take less: 0 where
// all are proven. `what`: "the run".
// `interrupted`: by the user, who knows.
double warn_of_unproven(const ChipOperators& nests, const std::string& what, bool interrupted,
                        base::Diagnostics& found);

}  // namespace orrery::verbs
