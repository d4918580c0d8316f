// Options of our own and those of Substation's optimize, as they are written there.

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "orrery/cli/number_text.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/layer_options.h"
#include "orrery/verbs/tune/select/json.h"
#include "orrery/verbs/tune/select/run.h"
#include "orrery/verbs/tune/select/table.h"

namespace orrery::verbs {
namespace {

struct SelectGiven {
  TuneSelectRequest request;
  ModelledRequest modelled;
  std::string layouts;  // where the layout file goes
  bool bound_only = false;
};

// Substation separates the tensors of `--split_vars` by blanks: "--split_vars X LN1" as "--split_vars X,LN1". A folder
// is the one that is read.
Arguments joined_splits(const Arguments& arguments) {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.push_back(arguments[i]);
    if (arguments[i] != "--split_vars" || ++i == arguments.size()) continue;
    out.push_back(arguments[i]);
    for (; i + 1 < arguments.size() && !arguments[i + 1].starts_with('-'); ++i) {
      std::error_code failed;
      if (std::filesystem::is_directory(arguments[i + 1], failed)) break;
      out.back() += "," + arguments[i + 1];
    }
  }
  return out;
}

// A layer and a machine in the place of a folder.
void declare_modelled(CommandLine& line, SelectGiven& options) {
  using machine::Precision;
  LayerRequest& layer = options.modelled.layer;
  line.group("Times modelled, without DIR");
  line.text("--model", layer.model, "NAME|FILE",
            "Encoder from the catalogue, or its config.json, whose sizes are taken");
  line.choice<std::string>("--stack", layer.stack, {{"encoder", "encoder"}, {"decoder", "decoder"}},
                           "encoder or decoder (default), of a model that has both");
  line.count("--batch,--batch-size", layer.batch, "Sequences of a batch; default 1, without a model 8", kMostSize);
  line.count("--seq,--max-seq-len", layer.seq,
             "Tokens of a sequence; default: the model's longest, at most 4096, without a model 512", kMostSize);
  line.count("--emb-size", layer.width, "Width of a token, without a model", kMostSize);
  line.count("--num-heads", layer.heads, "Attention heads", kMostSize);
  line.count("--ffn", layer.hidden, "Width of the feed-forward network; default: four times --emb-size", kMostSize);
  line.text("--system", options.request.system, "NAME|FILE",
            "System whose times are modelled, this-machine included; with DIR, the one whose memory --relayout uses");
  line.choice<Precision>(
      "--dtype", options.modelled.precision,
      {{"fp32", Precision::kFp32},
       {"tf32", Precision::kTf32},
       {"bf16", Precision::kBf16},
       {"fp16", Precision::kBf16},
       {"fp8", Precision::kFp8}},
      "Number format of words and arithmetic: bf16 or fp16 (default), fp32 (default of this-machine), tf32, fp8");
}

// Either a folder, or a layer and a machine.
void choose_source(SelectGiven& options) {
  TuneSelectRequest& request = options.request;
  const LayerRequest& layer = options.modelled.layer;
  const std::pair<const char*, bool> given[] = {{"--model", !layer.model.empty()},
                                                {"--batch", layer.batch.has_value()},
                                                {"--seq", layer.seq.has_value()},
                                                {"--emb-size", layer.width.has_value()},
                                                {"--num-heads", layer.heads.has_value()},
                                                {"--ffn", layer.hidden.has_value()},
                                                {"--dtype", options.modelled.precision.has_value()}};
  const auto first = std::find_if(std::begin(given), std::end(given), [](const auto& one) { return one.second; });
  if (!request.folder.empty() && first != std::end(given))
    misuse(
        "O1750",
        fmt::format("`{}` holds times, and `{}` is of a layer whose times are modelled", request.folder, first->first),
        fmt::format("leave `{}` out, or the folder", first->first));
  if (!request.folder.empty()) return;
  const bool layer_named = !layer.model.empty() || layer.width.has_value();
  if (!layer_named || request.system.empty())
    misuse("O1750",
           layer_named ? "times of the layer are to be modelled, and no machine is given"
                       : "there are no times to choose by: neither a folder nor a layer is given",
           layer_named ? "name one: `--system v100-dgx1`"
                       : "`orrery tune select DIR`, or `orrery tune select --model bert-large --system v100-dgx1`");
  options.modelled.system = request.system;
  options.modelled.threads = request.limits.threads;
  request.modelled = options.modelled;
}

bool read_select(const Arguments& arguments, Console& console, SelectGiven& options) {
  CommandLine line(
      "tune select",
      "The layouts that make a layer fastest, chosen exactly from measured or modelled times of its operators",
      "orrery tune select measurements/ --why X=bji -o layouts.json");
  TuneSelectRequest& request = options.request;
  line.word("DIR", request.folder,
            "Folder of `<kernel>-combined.csv` and `<op>-result.csv`, as Substation writes them");
  declare_modelled(line, options);
  line.group("Choice");
  line.texts("--why", request.why, "VAR=LAYOUT",
             "What the best choice with this layout costs, and which operators pay; repeatable");
  line.text("--evaluate", request.evaluate, "FILE", "What a layout file's choice costs (JSON, or Substation's pickle)");
  line.output_file("-o,--output_config", options.layouts, "FILE",
                   "Write the chosen layouts there, as a layout file in JSON");
  line.toggle("--relayout", request.relayout,
              "Also the best choice where tensors may be transposed between operators, at a bandwidth");
  line.meant("--bandwidth", "GB/s",
             "Bandwidth of a transposition, which reads and writes a tensor once, two bytes a word",
             [&request](const std::string& text) {
               const auto [rate, rest] = decimal(text);
               if (!rest.empty() || !(rate > 0 && rate <= 1e9))
                 misuse("O1102", fmt::format("`--bandwidth {}` is no bandwidth in GB/s", text),
                        "a number above 0, at most 1e9");
               request.relayout_bytes_per_s = rate * 1e9;
             });
  line.group("Comparison, as Substation's optimize has it");
  const std::vector<std::string> modes = {"fp_first", "bp_first", "combined"};
  line.meant_each("--mode,--graph_order", "NAME",
                  "Substation's searches to run: fp_first, bp_first, combined; default: all", true,
                  [&request, modes](const std::string& name) {
                    if (std::find(modes.begin(), modes.end(), name) == modes.end())
                      misuse("O1102", fmt::format("`--mode {}` is none of fp_first, bp_first, combined", name),
                             "the exact choice needs no mode");
                    request.modes.push_back(name);
                  });
  line.offer("--mode", modes);
  line.meant_each(
      "--split_vars", "VAR",
      "Tensors that `combined` keeps in one layout along its path; several by commas or blanks, or repeated", true,
      [&request](const std::string& name) { request.split_vars.push_back(name); });
  line.toggle("--min_without_layout", options.bound_only, "Print the sum of every operator's fastest time alone");
  line.group("Search");
  declare_search(line, request.limits, "Threads that read; default: one for each core",
                 "Seconds; the best so far and its gap are printed");
  line.memory(request.limits.memory);
  line.pictures();
  if (!line.read(joined_splits(arguments), console)) return false;
  choose_source(options);
  return true;
}

}  // namespace

TuneSelectRequest select_request(const Arguments& arguments) {
  SelectGiven options;
  QuietConsole console;
  if (!read_select(arguments, console, options)) refuse_help();
  return options.request;
}

int run_tune_select(const Arguments& arguments, Console& console) {
  SelectGiven options;
  if (!read_select(arguments, console, options)) return kDone;
  std::string file;
  return run_verb<TunedSelection>(
      console, {.answer =
                    [&](Run& run) {
                      options.request.interruptible = run.interruptible();
                      TunedSelection answer = tune_select(options.request);
                      if (!options.layouts.empty() && answer.selection)
                        file = layout_file(answer, *answer.selection, answer.warnings);
                      return answer;
                    },
                .document = tune_select_document,
                .table =
                    [&](const TunedSelection& answer) {
                      return options.bound_only ? fmt::format("{:.10g} ms\n", without_layouts_ms(answer))
                                                : select_table(answer);
                    },
                .files = {{options.layouts, [&](const TunedSelection&) { return file; }}},
                .outcome = [&](const TunedSelection& answer, const Run& run) -> Outcome {
                  if (!answer.read) return {kInterrupted, explain_no_selection(answer), true};
                  if (options.bound_only && !console.json) return {};
                  const bool refused = answer.evaluated && answer.evaluated->proven && !answer.evaluated->selection;
                  if (answer.selection && answer.certificate.optimal && !refused)
                    return {run.stopped() ? kInterrupted : kDone};
                  Outcome out{answer.minimum.infeasible || refused ? kNo : run.cut_short()};
                  if (!answer.selection || refused) out.reasons = explain_no_selection(answer);
                  return out;
                }});
}

}  // namespace orrery::verbs
