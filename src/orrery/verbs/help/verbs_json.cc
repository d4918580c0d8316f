#include "orrery/verbs/help/verbs_json.h"

namespace orrery::verbs {
namespace {

using formats::orrery::Entry;
using formats::orrery::FigureSource;

constexpr const char* kFound = "What was found.";

Record<CatalogueEntry> entry() {
  const Record<FigureSource> figure = {{"component", "Of the chip.", &FigureSource::component},
                                       {"figure", "Its name.", &FigureSource::figure},
                                       {"source", "Where its value comes from.", &FigureSource::source}};
  const Record<Entry> name = {{"name", "As on the command line.", &Entry::name}};
  const Record<Entry> rest = {{"title", "In one line.", &Entry::title},
                              {"description", "In some more.", &Entry::description},
                              {"path", "Of its file.", &Entry::path},
                              {"sources", "Literature and files that its figures come from.", &Entry::sources},
                              {"figures", "Of chips: the origin of each figure.", &Entry::figures, figure}};
  Record<CatalogueEntry> out = name.of<CatalogueEntry>(&CatalogueEntry::entry);
  out.add({{"kind", "What it is.", &CatalogueEntry::kind, OneOf{{"chip", "model", "system", "stack"}}}});
  return out.add(rest.of<CatalogueEntry>(&CatalogueEntry::entry));
}

Record<ModelFacts> facts() {
  using workload::Part;
  const Record<Part> part = {{"name", "What it is.", &Part::name},
                             {"parameters", "All of them.", &Part::parameters},
                             {"active_parameters", "Those that a token meets.", &Part::active}};
  const Record<OperatorFacts> op = {{"name", "As of `map`.", &OperatorFacts::name},
                                    {"produced", "Rows of the result.", &OperatorFacts::produced},
                                    {"reduced", "Elements that a result sums over.", &OperatorFacts::reduced},
                                    {"columns", "Columns of the result: tokens.", &OperatorFacts::columns},
                                    {"instances", "Equal copies in a block.", &OperatorFacts::instances}};
  const Record<BlockFacts> block = {
      {"stack", "The encoder or the decoder.", &BlockFacts::stack},
      {"kind", "What tells the stack's kinds apart; empty where there is one.", &BlockFacts::kind},
      {"layers", "Of this kind.", &BlockFacts::layers},
      {"operators", "Of one, in order of execution.", &BlockFacts::operators, op}};
  return {{"kind", "What it is.", [](const ModelFacts&) { return std::string("model"); }, OneOf{{"model"}}},
          {"name", "As on the command line.", [](const ModelFacts& f) { return f.entry.name; }},
          {"title", "In one line.", [](const ModelFacts& f) { return f.entry.title; }},
          {"path", "Of its file.", [](const ModelFacts& f) { return f.entry.path; }},
          {"sources", "Literature and files that its figures come from.",
           [](const ModelFacts& f) { return f.entry.sources; }},
          {"family", "Its `model_type`.", &ModelFacts::family},
          {"parameters", "All, shared ones once.", &ModelFacts::parameters},
          {"embedding_parameters", "Of tables that are looked up: tokens, positions, types.",
           &ModelFacts::embedding_parameters},
          {"active_parameters", "Less the routed experts that a token does not visit.", &ModelFacts::active_parameters},
          {"parts", "They add up to the parameters.", &ModelFacts::parts, part},
          {"weight_bits", "Of most weights, as the file says; 16 where it does not.",
           [](const ModelFacts& f) { return f.weights.bits; }},
          {"weight_bytes", "Of all parameters as the file stores them, scales of quantised ones included.",
           [](const ModelFacts& f) { return f.weights.bytes; }},
          {"unconverted_weight_bits", "Of what is not quantised: tables, norms, biases, matrices that the file names.",
           [](const ModelFacts& f) { return f.weights.plain_bits; }},
          {"quantised_parameters", "Those that are; 0 where nothing is.",
           [](const ModelFacts& f) { return f.weights.converted; }},
          {"quantisation_scale_bytes", "Of the bytes, those beside quantised weights: scales, zeros, orders.",
           [](const ModelFacts& f) { return f.weights.scale_bytes; }},
          {"layers", "Blocks, of encoder and decoder.", &ModelFacts::layers},
          {"kv_cache_bytes_per_token", "That one more token adds to the caches, of 16-bit elements.",
           &ModelFacts::kv_cache_bytes_per_token},
          {"kv_cache_growing_bytes_per_token", "Of them, those of layers that no window bounds.",
           &ModelFacts::kv_cache_growing_bytes_per_token},
          {"state_elements_per_sequence", "Of recurrences.", &ModelFacts::state_elements},
          {"sequence", "Tokens of a sequence.", &ModelFacts::sequence},
          {"forward_flop_per_token",
           "Of products and attention, two for a multiply-accumulate, every token attending to every other.",
           &ModelFacts::forward_flop_per_token},
          {"attention_flop_per_token", "Of them, scores and weighted values.", &ModelFacts::attention_flop_per_token},
          {"visible_attention_flop_per_token", "What masks, windows and chunks leave of those.",
           &ModelFacts::visible_attention_flop_per_token},
          {"blocks", "One for each kind, for one sequence.", &ModelFacts::blocks, block},
          {"not_counted", "What the operations leave out.", &ModelFacts::not_counted},
          {"predicted_ahead", "Further layers that predict tokens beyond the next; not counted.",
           &ModelFacts::predicted_ahead}};
  return out;
}

// Any keys: which there are depends on the installation.
struct HealthElement {
  template <typename V>
  static constexpr bool kHolds = std::is_same_v<V, Health>;
  static Json json(const Health& health) {
    Json::Object out = {{"ok", health.ok}};
    for (const auto& [what, value] : health.findings) out.emplace_back(what, value);
    return out;
  }
  template <typename V>
  static Json schema() {
    Json ok = typed("boolean");
    ok["description"] = "Whether nothing is wrong.";
    Json out = map_schema(typed("string"));
    out["properties"] = Json::Object{{"ok", std::move(ok)}};
    out["required"] = Json::List{"ok"};
    return out;
  }
};

Record<ErrorPage> page_title() {
  return {{"code", "Such as O0710.", &ErrorPage::code}, {"title", "What it means, in short.", &ErrorPage::title}};
}

}  // namespace

Document<std::vector<CatalogueEntry>> catalogue_document() {
  using Entries = std::vector<CatalogueEntry>;
  return {"catalog", kFound, Record<Entries>{{"entries", "By kind and name.", std::identity(), entry()}}, 0};
}

Document<CatalogueEntry> entry_document() {
  return {"catalog", kFound, entry(), 0};
}

Document<ModelFacts> model_document() {
  return {"catalog", kFound, facts(), kWarnings};
}

Document<Health> doctor_document() {
  return {"doctor", {{"result", "What was looked for, and what was found.", std::identity(), HealthElement()}}, 0};
}

Document<std::vector<ErrorPage>> codes_document() {
  using Pages = std::vector<ErrorPage>;
  return {"explain", kFound, Record<Pages>{{"codes", "All of them.", std::identity(), page_title()}}, 0};
}

Document<ErrorPage> page_document() {
  return {"explain", kFound, page_title().add({{"page", "The whole text, in Markdown.", &ErrorPage::page}}), 0};
}

Document<std::vector<std::string>> kinds_document() {
  using Lines = std::vector<std::string>;
  return {"schema", kFound, Record<Lines>{{"kinds", "What `orrery schema KIND` knows.", std::identity()}}, 0};
}

}  // namespace orrery::verbs
