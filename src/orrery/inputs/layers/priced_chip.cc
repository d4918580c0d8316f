#include "orrery/inputs/layers/priced_chip.h"

#include "orrery/formats/timeloop/architecture/apply_estimates.h"
#include "orrery/formats/timeloop/documents/sparse_document.h"

namespace orrery::verbs {

void require_parts(bool chip, bool problem, const std::string& other, base::Diagnostics& missing) {
  if (!chip)
    missing.error("O1003", "no file has an `architecture`")
        .hint(
            "give the file that describes the chip, or `--chip NAME`; `orrery catalog` lists the chips that come "
            "along");
  if (!problem)
    missing.error("O1003", "no file has a `problem`").hint("give the file that describes the layer" + other);
}

void PricedChip::give(Estimators& estimators, LayerQuestion& question, base::Diagnostics& found) {
  if (!asked_) {
    asked_ = true;
    auto chip = std::make_shared<machine::Chip>(reading_.architecture()->chip);
    if (!reading_.has_energy_tables() && !reading_.components().empty()) {
      estimates_ = estimators.estimate(reading_.components(), said_);
      if (!said_.has_errors()) formats::timeloop::apply_estimates(*estimates_, *chip);
    }
    chip_ = std::move(chip);
  }
  found.append(said_);
  found.throw_if_errors();
  question.chip = chip_;
  question.estimates = estimates_;
}

void PricedChip::give_sparse(std::shared_ptr<nest::SparseDesign> design, LayerQuestion& question,
                             base::Diagnostics& found) const {
  if (!design) return;
  formats::timeloop::PricesOf prices;
  if (estimates_) {
    prices = [this](const std::string& component) { return formats::timeloop::prices_in(*estimates_, component); };
    formats::timeloop::price_sparse_design(prices, *chip_, *design, found);
  } else {
    reading_.price(*design, found);
  }
  if (!chip_->networks.empty())
    found.warning("O2041", "transfers on networks are counted as those of dense tensors")
        .note("neither formats nor gating and skipping make them fewer, as in Timeloop");
  question.sparse = std::move(design);
}

LayerQuestion PricedChip::ask(const workload::Einsum& einsum, Estimators& estimators, base::Diagnostics& found) {
  formats::timeloop::LayerReading read = reading_.layer(&einsum);
  base::Diagnostics missing;
  require_parts(reading_.architecture().has_value(), read.problem.has_value(), "", missing);
  missing.throw_if_errors();
  if (read.sparse)
    base::fail("O2039", "a chip with sparse optimisations takes no part in a system", {},
               "leave them out: without them the chip is dense");
  LayerQuestion question;
  give(estimators, question, read.diagnostics);
  question.einsum = std::move(read.problem->einsum);
  question.name = question.einsum.name;
  question.space = std::move(read.problem->space);
  question.objective = std::move(read.mapper.objective);
  found.append(read.diagnostics);
  return question;
}

}  // namespace orrery::verbs
