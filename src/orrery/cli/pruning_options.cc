#include "orrery/cli/pruning_options.h"

namespace orrery::verbs {

void declare_pruning(CommandLine& line, PruningRequest& request, bool calibrates) {
  line.group("Pruned attention");
  line.text("--sparse-config", request.config, "FILE|none",
            "Sanger's keys (quant_qk, prune_score, ...); default: those of the checkpoint's config.json; none: dense");
  line.text("--static", request.pattern, "KIND|FILE",
            "A mask that does not look at scores: longformer, bigbird, ... or Sanger's JSON file");
  if (calibrates)
    line.toggle("--calibrate", request.calibrate, "Clip thresholds from these texts, whatever the checkpoint has");
}

void check_prunes(const PruningRequest& request) {
  if (request.config != "none" || !request.pattern.empty()) return;
  misuse("O1103", "`--sparse-config none` leaves nothing that prunes",
         "leave it out, or say what prunes; `--static dense` keeps every pair");
}

}  // namespace orrery::verbs
