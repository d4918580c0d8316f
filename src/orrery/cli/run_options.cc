#include "orrery/cli/run_options.h"

#include <algorithm>

#include "orrery/cli/shared_options.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::verbs {

void declare_run(CommandLine& line, RunQuestion& question, const std::string& instead) {
  line.text("--model", question.model, "NAME|FILE",
            instead.empty() ? "Model from the catalogue, or its config.json"
                            : instead + ": a model from the catalogue, or its config.json");
  declare_ignored(line, question.ignored);
  declare_like(line, question.like);
  line.text("--system", question.system, "NAME|FILE", "System from the catalogue, or its file");
  line.text("--chip", question.chip, "NAME|FILE",
            "Chip in the place of the system's accelerator: its optimal loop nests time the GEMMs");
  line.toggle("--fuse", question.fuse,
              "Attention as one operator of the chip in forward passes, its scores never leaving it");
  line.count("--seq", question.seq, "Tokens of a sequence; default: what the model was trained with",
             cluster::kMostInPlan);
}

void declare_degree(CommandLine& line, const char* field, std::optional<base::Count>& value, const std::string& what) {
  cluster::Plan plan;
  std::string option = std::string("--") + field;
  std::replace(option.begin(), option.end(), '_', '-');
  line.count(option, value, what, base::find_field(cluster::fields(plan), field)->most);
}

void declare_sizes(CommandLine& line, RunQuestion& question) {
  declare_degree(line, "gpus", question.gpus, "Accelerators; default: the product of the degrees");
  declare_degree(line, "global_batch", question.global_batch, "Sequences per iteration");
}

void declare_spread(CommandLine& line, RunQuestion& question, const std::string& micro_batch, const std::string& open) {
  declare_degree(line, "micro_batch", question.micro_batch, "Sequences per microbatch; default: " + micro_batch);
  declare_degree(line, "tp", question.tp, "Tensor-parallel degree; degrees not given are " + open);
  declare_degree(line, "pp", question.pp, "Pipeline stages");
  declare_degree(line, "dp", question.dp, "Data-parallel degree");
  line.choice("--precision", question.precision, cluster::precisions(),
              "fp32, tf32, bf16 (default), fp8, mxfp8, nvfp4");
}

}  // namespace orrery::verbs
