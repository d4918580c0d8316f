#include "orrery/program/verbs.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "orrery/cli/sub_verbs.h"

namespace orrery::verbs {

// In the options.cc of each verb.
VerbFunction run_map, run_eval, run_energy, run_train, run_serve, run_place, run_graph, run_validate, run_sweep,
    run_merge, run_check, run_report, run_chart, run_catalog, run_schema, run_explain, run_doctor;
VerbFunction run_tune_run, run_tune_bench, run_tune_ledger, run_tune_layouts, run_tune_select, run_tune_train,
    run_tune_eval, run_tune_embed, run_tune_generate;
VerbFunction run_sparse_measure, run_sparse_mask, run_sparse_latency, run_sparse_pack, run_sparse_run, run_sparse_study,
    run_sparse_bench, run_sparse_break_even, run_sparse_sweep, run_sparse_simulate, run_sparse_design, run_sparse_rtl;

namespace {

int run_tune(const Arguments& arguments, Console& console) {
  static constexpr SubVerb kVerbs[] = {
      {"run", "a transformer layer, run on this machine and measured", run_tune_run},
      {"bench", "its operators, measured in every layout that may matter", run_tune_bench},
      {"ledger", "what a layer computes and moves, operator by operator", run_tune_ledger},
      {"layouts", "every layout of a layer's operators", run_tune_layouts},
      {"select", "the layouts that make a layer fastest, from measurements", run_tune_select},
      {"train", "fine-tune a model on texts, here", run_tune_train},
      {"eval", "how well a model does a task on texts", run_tune_eval},
      {"embed", "vectors of texts by a model", run_tune_embed},
      {"generate", "how texts go on, by a model", run_tune_generate}};
  return run_sub_verb({"tune", "layers and models that run on this machine", kVerbs,
                       "orrery tune run --model bert-large --batch 8 --seq 512"},
                      arguments, console);
}

int run_sparse(const Arguments& arguments, Console& console) {
  static constexpr SubVerb kVerbs[] = {
      {"measure", "a mask, predicted from queries and keys or read: density, load balance, error", run_sparse_measure},
      {"mask", "a mask that does not look at scores: windows, blocks, global tokens", run_sparse_mask},
      {"latency", "how long Sanger's array takes, by its two published models", run_sparse_latency},
      {"pack", "a mask packed onto an array: blocks, utilisation, control words", run_sparse_pack},
      {"run", "a model on texts, attention dense and pruned: density, error, time, quality", run_sparse_run},
      {"study", "a task learned and judged with dense, predicted and static attention", run_sparse_study},
      {"bench", "a dense attention block on this machine, as Sanger's benchmark has it", run_sparse_bench},
      {"break-even", "from which length and density on pruned attention pays here", run_sparse_break_even},
      {"sweep", "thresholds x bits x predictors x packings x arrays: which are worth their error", run_sparse_sweep},
      {"simulate", "masks, arrays or a model on an accelerator, cycle by cycle: time, energy, area, error",
       run_sparse_simulate},
      {"design", "accelerators of many proportions on the same masks: which are worth it", run_sparse_design},
      {"rtl", "the accelerator as SystemVerilog, with vectors that run on it", run_sparse_rtl}};
  return run_sub_verb({"sparse", "attention that skips the scores that do not matter", kVerbs,
                       "orrery sparse measure --q Q.npy --k K.npy --threshold 0.002"},
                      arguments, console);
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> rows = {
      {"map", "One chip", "the best mapping of each layer on a chip, with proof", run_map},
      {"eval", "One chip", "energy and cycles of a given mapping", run_eval},
      {"energy", "One chip", "energy and area of a chip's components, with the origin of each figure", run_energy},
      {"train", "Many accelerators", "time and memory of a training run on a cluster", run_train},
      {"serve", "Many accelerators", "how fast a model is served: deployment, first tokens, price, with proof",
       run_serve},
      {"place", "Many accelerators", "shards, fuses and places a graph of kernels on many accelerators", run_place},
      {"graph", "Many accelerators", "generates the kernel graph of a workload, for `place`", run_graph},
      {"validate", "Many accelerators", "predictions against published and measured runs", run_validate},
      {"sweep", "Many points", "a study: many points of the verbs above, stored, resumed, ranked", run_sweep},
      {"merge", "Many points", "joins the stores of a study's shards", run_merge},
      {"tune", "This machine", "layers and models that run here: measured (`tune run`), tuned, trained, used",
       run_tune},
      {"sparse", "This machine",
       "attention that skips scores: its masks (`sparse measure`), error, speed, and an accelerator for it",
       run_sparse},
      {"report", "Files and figures", "answers and studies as one page: charts, tables, what differs", run_report},
      {"chart", "Files and figures", "a chart of an answer, as a Vega specification", run_chart},
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
