#include "orrery/verbs/sparse/run/report.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/sparse/mask_figures_json.h"

namespace orrery::verbs {
namespace {

std::optional<double> run_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Record<SparseRunLayer> layer_record() {
  using L = SparseRunLayer;
  const Record<SparseRunHead> head = {
      {"density", "Kept pairs over pairs of existing tokens of the head, 0 to 1.", &SparseRunHead::density},
      {"error", "|pruned - dense| / |dense| of its output.", &SparseRunHead::error},
      {"kept_mass", "Share of the dense probabilities that is kept, 0 to 1.", &SparseRunHead::kept_mass}};
  const auto clip = [](bool query) {
    return [query](const L& l) {
      return l.clips ? std::optional<double>(query ? l.clips->first : l.clips->second) : std::nullopt;
    };
  };
  Record<L> out = {{"name", "Name of the attention: encoder.I, decoder.I or decoder.I.cross.",
                    [](const L& l) { return l.place.name(); }}};
  out.add(sparse_figures().of<L>(&L::figures));
  out.add({{"emptied_rows", "Queries that lost every key.", &L::emptied},
           {"error", "|pruned - dense| / |dense| of its output, from the same queries, keys and values.", &L::error},
           {"kept_mass", "Share of the dense probabilities that is kept, 0 to 1.", &L::kept_mass},
           {"dense_ms", "Dense attention of all texts, measured, in milliseconds.", &L::dense_ms},
           {"predict_ms", "Prediction of the masks of all texts, measured, in milliseconds.", &L::predict_ms},
           {"sparse_ms", "Prediction and pruned attention of all texts, measured, in milliseconds.", &L::sparse_ms},
           {"query_clip", "Clip threshold of the quantiser of queries; null: nothing was quantised.", clip(true)},
           {"key_clip", "Clip threshold of the quantiser of keys; null: nothing was quantised.", clip(false)},
           {"packing", "Utilisation of the published array, by packing scheme, 0 to 1.", &L::packing},
           {"heads", "Figures of each head.", &L::heads, head}});
  return out;
}

Record<SparseRun> run_result() {
  using S = SparseRun;
  const Record<LanguageQuality> language = {
      {"loss", "Mean loss over words.", [](const LanguageQuality& q) { return run_finite(q.loss); }},
      {"perplexity", "Exponential of the loss.", [](const LanguageQuality& q) { return run_finite(q.perplexity); }},
      {"accuracy", "Share of masked words that were predicted, 0 to 1; null for causal models.",
       &LanguageQuality::accuracy}};
  const Record<SparseRunQuality> quality = {
      {"cosine",
       "Cosine between a text's vectors (mean of the last layer's tokens) with dense and with pruned attention, mean "
       "over texts; null without texts.",
       &SparseRunQuality::cosine},
      {"least_cosine", "Least of these cosines over texts; null without texts.", &SparseRunQuality::least_cosine},
      {"task", "Language task, mlm or causal; null: the model has no such head.",
       [](const SparseRunQuality& q) { return q.task.empty() ? std::nullopt : std::optional(q.task); }},
      {"dense", "Quality with dense attention; null without a language head.", &SparseRunQuality::dense, language},
      {"pruned", "Quality with pruned attention; null without a language head.", &SparseRunQuality::pruned, language}};
  Record<S> out = {
      {"model", "Folder of the model.", &S::model},
      {"rule", "Which pairs are kept, in words.", &S::rule},
      {"clips_from", "Where the quantisers' clip thresholds come from.",
       [](const S& s) { return verbs::name_of(s.clips); }, OneOf{{"none", "checkpoint", "texts", "training"}}},
      {"texts", "Texts that were run.", &S::texts},
      {"tokens", "Tokens of these texts.", &S::tokens},
      {"batches", "Batches of texts of similar length.", &S::batches}};
  out.add(sparse_figures().of<S>(&S::mean));
  out.add({{"error", "|pruned - dense| / |dense| of the outputs of all layers.", &S::error},
           {"dense_ms", "Dense attention, sum over layers, in milliseconds.", &S::dense_ms},
           {"sparse_ms", "Prediction and pruned attention, sum over layers, in milliseconds.", &S::sparse_ms},
           {"quality", "Quality of the whole model, dense and pruned.", &S::quality, quality},
           {"isa", "Instruction set that the kernels used.", &S::isa},
           {"threads", "Threads that computed.", &S::threads},
           {"complete", "False: a limit or an interrupt ended it early.", [](const S& s) { return !s.ended_early; }},
           {"layers", "Figures of each attention.", &S::layers, layer_record()}});
  return out;
}

std::vector<std::string> row(const std::string& name, const masks::Measured& figures, double error, double dense,
                             double sparse) {
  return {name,
          percent(figures.density),
          fmt::format("{:.4f}", figures.load_balance[3]),
          fmt::format("{:.4f}", error),
          fmt::format("{:.2f}", dense),
          fmt::format("{:.2f}", sparse),
          sparse > 0 ? fmt::format("{:.2f}", dense / sparse) : "-"};
}

std::string words(const char* name, const std::optional<LanguageQuality>& quality) {
  if (!quality) return "";
  const std::string accuracy = quality->accuracy ? fmt::format(", accuracy {:.4f}", *quality->accuracy) : "";
  return fmt::format("{:<13} loss {:.4f}, perplexity {:.4f}{}\n", name, quality->loss, quality->perplexity, accuracy);
}

}  // namespace

Document<SparseRun> sparse_run_document() {
  return {"sparse_run", "Figures over all texts.", run_result()};
}

std::string sparse_run_table(const SparseRun& answer) {
  std::string out = fmt::format("{}: {}, {}, in {} batch{}\nkept: {}\n", answer.model,
                                base::counted(answer.texts, "text"), base::counted(answer.tokens, "token"),
                                answer.batches, base::plural(answer.batches, "", "es"), answer.rule);
  if (answer.clips == ClipsFrom::kCheckpoint) out += "clip thresholds: of the checkpoint\n";
  if (answer.clips == ClipsFrom::kTexts) out += "clip thresholds: calibrated, the largest magnitudes of these texts\n";
  if (answer.ended_early) out += "ended early: these are the figures of what was done by then\n";
  if (answer.texts == 0) return out;
  Table table;
  table.header = {"attention", "density %", "25%-skip", "error", "dense ms", "sparse ms", "dense / sparse"};
  base::Count emptied = 0;
  for (const SparseRunLayer& layer : answer.layers) {
    table.rows.push_back(row(layer.place.name(), layer.figures, layer.error, layer.dense_ms, layer.sparse_ms));
    emptied += layer.emptied;
  }
  if (answer.layers.size() > 1) {
    table.rules_before.push_back(table.rows.size());
    table.rows.push_back(row("all", answer.mean, answer.error, answer.dense_ms, answer.sparse_ms));
  }
  out += "\n" + text(table) + "\n";
  if (answer.quality.cosine)
    out += fmt::format("cosine        {:.6f} of texts' vectors, {:.6f} the least\n", *answer.quality.cosine,
                       *answer.quality.least_cosine);
  out += words("dense", answer.quality.dense) + words("pruned", answer.quality.pruned);
  if (emptied > 0) out += fmt::format("empty rows    {} lost every key\n", emptied);
  if (!answer.layers.empty() && !answer.layers[0].packing.empty()) {
    out += "packing      ";
    for (std::size_t i = 0; i < answer.layers[0].packing.size(); ++i) {
      double kept = 0, slots = 0;
      for (const SparseRunLayer& layer : answer.layers)
        if (layer.packing[i].second > 0) {
          kept += static_cast<double>(layer.figures.kept);
          slots += static_cast<double>(layer.figures.kept) / layer.packing[i].second;
        }
      out += fmt::format("{} {} {} %", i > 0 ? "," : "", answer.layers[0].packing[i].first,
                         percent(slots > 0 ? kept / slots : 0));
    }
    out += " of the published array\n";
  }
  return out + fmt::format("times are measured: {}, {}; `--json` has every head\n", answer.isa,
                           base::counted(answer.threads, "thread"));
}

}  // namespace orrery::verbs
