#include "orrery/program/verbs.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace orrery::verbs {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> rows = {
      {"map", "One chip", "the best mapping of each layer on a chip, with proof", run_map},
      {"eval", "One chip", "energy and cycles of a given mapping", run_eval},
      {"energy", "One chip", "energy and area of a chip's components, with the origin of each figure", run_energy},
      {"train", "Many accelerators", "time and memory of a training run on a cluster", run_train},
      {"place", "Many accelerators", "shards, fuses and places a graph of kernels on many accelerators", run_place},
      {"graph", "Many accelerators", "generates the kernel graph of a workload, for `place`", run_graph},
      {"validate", "Many accelerators", "predictions against published and measured runs", run_validate},
      {"sweep", "Many points", "a study: many points of the verbs above, stored, resumed, ranked", run_sweep},
      {"merge", "Many points", "joins the stores of a study's shards", run_merge},
      {"tune", "This machine", "`tune run`: a transformer layer, run here and measured", run_tune},
      {"sparse", "This machine",
       "`sparse measure`: which scores of attention matter, and what skipping the rest is worth", run_sparse},
      {"check", "Files and figures", "reads files and says what is wrong with them", run_check},
      {"catalog", "Files and figures", "the chips, models, systems and stacks that come with Orrery", run_catalog},
      {"schema", "Files and figures", "JSON Schema of a kind of document, for editors", run_schema},
      {"explain", "Files and figures", "what a diagnostic code means", run_explain},
      {"doctor", "Files and figures", "what this installation has", run_doctor},
  };
  return rows;
}

std::string help() {
  std::string out =
      "orrery: models and optimises how transformers run on accelerators\n\n"
      "usage: orrery VERB [FILES] [options]\n";
  std::string_view heading;
  for (const Verb& verb : verbs()) {
    if (heading != verb.heading) out += fmt::format("\n{}:\n", verb.heading);
    heading = verb.heading;
    out += fmt::format("  {:<10}{}\n", verb.name, verb.summary);
  }
  return out +
         "\n`orrery VERB --help` shows a verb's options. Example:\n"
         "  orrery map --chip gemmini --model bert-large --seq 4096\n";
}

std::string first_steps() {
  return "orrery: models and optimises how transformers run on accelerators\n\n"
         "Try these first:\n"
         "  orrery map --chip gemmini --model bert-large --seq 4096\n"
         "      the best mapping of every layer of BERT-large on a chip, with proof\n"
         "  orrery train --model gpt3-175b --system a100-selene --gpus 1024 --global-batch 1536 --tp 8 --pp 8\n"
         "      time and memory of an iteration of GPT-3 on 1,024 accelerators\n"
         "  orrery catalog\n"
         "      the chips, models, systems and stacks that come with Orrery\n\n"
         "`orrery --help` lists all verbs; `orrery VERB --help` shows the options of one.\n";
}

}  // namespace orrery::verbs
