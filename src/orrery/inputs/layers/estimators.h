// Everything Orrery knows about the energy and area of components, put together for one run.
//
// Who takes part: the user's tables, a `cacti` program where one is named, the catalogue's figures. Nothing is read
// before the first estimate is asked for, and of the SRAM figures only the technologies that occur: a run whose chip
// has an ERT pays nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/energy_options.h"
#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/energy/estimator.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

struct EstimatorSetup {
  std::vector<std::string> tables;  // folders of estimation tables; of equally accurate sets the first counts
  std::string cacti;                // a program to ask for SRAMs; empty: the catalogue's figures, and between them the
                                    // program of that name in $PATH, where there is one
  base::Reproduced<energy::Defects> reproduced;  // of Accelergy 0.4
  std::string catalogue;                         // its directory; empty: wherever catalogue_directory() finds it

  energy::EstimateOptions options() const {
    energy::EstimateOptions options{reproduced.defects, {}, {}};
    if (!cacti.empty()) {
      options.insisted_on = "cacti";
      options.insisted_as = "`--cacti " + cacti + "`";
    }
    return options;
  }
};

// Not thread-safe: one run reads its layers one after the other.
class Estimators {
 public:
  explicit Estimators(EstimatorSetup setup) : setup_(std::move(setup)) {}

  // Figures of the components of one architecture; equal lists are estimated once. With errors in `found` (O12xx;
  // O0100 for a file that cannot be read) there are none: null. Errors of a list are said each time it comes.
  Estimates estimate(const std::vector<energy::Component>& components, base::Diagnostics& found);

  // All that take part, the first one asked first. Throws InputError where they cannot be read.
  const std::vector<std::unique_ptr<energy::Estimator>>& all();

  const EstimatorSetup& setup() const { return setup_; }

 private:
  void load();

  EstimatorSetup setup_;
  bool loaded_ = false;
  base::Diagnostics loading_;  // warnings and errors of the tables
  std::vector<std::unique_ptr<energy::Estimator>> estimators_;
  std::map<std::string, std::pair<Estimates, base::Diagnostics>> known_;
};

// The program `cacti` in $PATH; empty: there is none.
std::string find_cacti();

// Warning O1261 where `setup` asks for something that a run without any estimate does not do.
void mention_unused(const EstimatorSetup& setup, base::Diagnostics& found);

}  // namespace orrery::verbs
