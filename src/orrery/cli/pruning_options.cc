#include "orrery/cli/pruning_options.h"

namespace orrery::cli {

void declare_pruning(CommandLine& line, scenario::PruningRequest& request, bool calibrates) {
  line.group("Pruned attention");
  line.text("--sparse-config", request.config, "FILE|none",
            "Sanger's keys (quant_qk, prune_score, ...); default: those of the checkpoint's config.json; none: dense");
  line.text("--static", request.pattern, "KIND|FILE",
            "A mask that does not look at scores: longformer, bigbird, ... or Sanger's JSON file");
  if (calibrates)
    line.toggle("--calibrate", request.calibrate, "Clip thresholds from these texts, whatever the checkpoint has");
}

}  // namespace orrery::cli
