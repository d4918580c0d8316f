#include "orrery/cli/shared_options.h"

#include "orrery/cli/compat.h"
#include "orrery/inputs/catalogue/precisions.h"

namespace orrery::verbs {
namespace {

void choose_compat(const std::string& name, DocumentRequest& documents) {
  if (reproduces(energy::kDefects, name, documents.estimators.reproduced)) return;
  if (!reproduces(nest::kModelDefects, name, documents.compat))
    refuse_compat(name, "no original that Orrery reproduces", nest::kModelDefects, energy::kDefects);
  nest::ModelOptions& defects = documents.compat.defects;
  defects.fractional_blocks = defects.fractional_blocks || defects.count_drain_reads;
}

base::Override definition(const std::string& text, std::size_t equals) {
  if (equals == std::string::npos || equals == 0)
    misuse("O1102", fmt::format("`--define {}` lacks a `=`", text), "write `--define batch=8`");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void declare(CommandLine& line, OutputFolder& output, const std::string& what_is_written) {
  line.group("Output");
  line.destination("-o,--output", output.directory, "DIR", what_is_written);
  line.toggle("--force", output.force, "Overwrite earlier results in DIR");
}

void declare_search(CommandLine& line, base::Limits& limits, const std::string& threads, const std::string& seconds,
                    bool measures) {
  limits.threads = 0;
  line.count("--threads,-j", limits.threads, threads, 4096);
  if (!measures) line.changes_nothing("--threads");
  line.seconds("--time-limit", limits.seconds, seconds);
}

void declare_chips(CommandLine& line, DocumentRequest& documents) {
  line.texts("--chip", documents.chips, "NAME|FILE", "Chip from the catalogue, or its file (repeatable)");
  line.meant("--precision", "NAME", "Number format of a chip that has several, such as near-h100: tf32, bf16, fp8",
             [&documents](const std::string& name) { choose_precision(documents.chips, name, documents.overrides); });
}

void declare_estimation(CommandLine& line, DocumentRequest& documents) {
  line.group("Figures of the chip");
  line.texts("--tables", documents.estimators.tables, "DIR",
             "Folder of Accelergy's estimation tables, for chips without an ERT (repeatable)");
  line.text("--cacti", documents.estimators.cacti, "PATH",
            "CACTI 7's executable, used for SRAMs instead of the built-in table");
  line.settings(documents.overrides,
                "Override any field of the files (repeatable): variables.SEQ_LENGTH=512; a component's attribute, "
                "arch.Scratchpad.depth=65536; a mesh, arch.PERows.meshY=32; constraints, "
                "arch.PERows.constraints.spatial.factors=[D=16]; problem.instance.L=512");
  line.meant_each("--compat", "NAME[,NAME]",
                  "Reproduce an original, defects included: timeloop or factorflow; accelergy-0.4 (repeatable)", true,
                  [&documents](const std::string& name) { choose_compat(name, documents); });
  std::vector<std::string> originals = base::original_names(nest::kModelDefects);
  for (const std::string& name : base::original_names(energy::kDefects)) originals.push_back(name);
  line.offer("--compat", std::move(originals));
}

void declare_ignored(CommandLine& line, std::vector<std::string>& ignored) {
  line.texts("--ignore", ignored, "KEY", "Leave this key of the model's config.json out of account (repeatable)");
}

void declare_onnx(CommandLine& line, base::Overrides& defined, bool& unfold) {
  line.meant_each("--define", "NAME=SIZE",
                  "Size of a dimension that an ONNX model leaves open, such as batch=8 (repeatable)", false,
                  [&defined](const std::string& text) { defined.push_back(definition(text, text.rfind('='))); });
  declare_unfold(line, unfold);
}

void declare_templates(CommandLine& line, DocumentRequest& documents, const std::string& also) {
  line.meant_each("--define", "NAME=VALUE", fmt::format("A name that templates know{} (repeatable)", also), false,
                  [&documents](const std::string& text) {
                    documents.templates.defined.push_back(definition(text, text.find('=')));
                  });
  line.texts("--include", documents.templates.folders, "DIR",
             "Folder that templates may read, besides those of the files given (repeatable)");
  line.toggle("--ignore-density", documents.ignore_densities,
              "Take sparse data as dense, and leave formats for it aside");
}

void declare_unfold(CommandLine& line, bool& unfold) {
  line.toggle("--im2col", unfold, "Take an ONNX model's convolutions as GEMMs, windows side by side");
}

void declare_like(CommandLine& line, std::string& like) {
  line.text("--like", like, "TYPE|FILE.yaml",
            "Read the model's config.json as one of this `model_type`, or as the family that FILE.yaml describes");
}

void declare_mtp(CommandLine& line, std::optional<base::Count>& modules, bool can_be_none) {
  const std::string what = "Count N of the modules that predict tokens beyond the next; ";
  line.count_or_none(
      "--mtp", modules,
      what + (can_be_none ? "0: none; default: as many as config.json states" : "alone: as many as config.json states"),
      64, can_be_none ? 0 : 1);
}

}  // namespace orrery::verbs
