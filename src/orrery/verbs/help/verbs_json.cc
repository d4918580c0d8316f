#include "orrery/verbs/help/verbs_json.h"

namespace orrery::verbs {
namespace {

using formats::orrery::Entry;
using formats::orrery::FigureSource;

constexpr const char* kFound = "What was found.";

Record<CatalogueEntry> entry() {
  const Record<FigureSource> figure = {{"component", "Component of the chip.", &FigureSource::component},
                                       {"figure", "Name of the figure.", &FigureSource::figure},
                                       {"source", "Where the value comes from.", &FigureSource::source}};
  const Record<Entry> name = {{"name", "Name as on the command line.", &Entry::name}};
  const Record<Entry> rest = {{"title", "What it is, in one line.", &Entry::title},
                              {"description", "What it is, in some lines.", &Entry::description},
                              {"path", "Path of its file.", &Entry::path},
                              {"sources", "Literature and files that the figures come from.", &Entry::sources},
                              {"figures", "Origin of each figure; only of chips.", &Entry::figures, figure}};
  Record<CatalogueEntry> out = name.of<CatalogueEntry>(&CatalogueEntry::entry);
  out.add({{"kind", "Kind of entry.", &CatalogueEntry::kind, OneOf{{"chip", "model", "system", "stack"}}}});
  return out.add(rest.of<CatalogueEntry>(&CatalogueEntry::entry));
}

Record<ModelFacts> facts() {
  using workload::Part;
  const Record<Part> part = {{"name", "Name of the part.", &Part::name},
                             {"parameters", "Parameters of the part.", &Part::parameters},
                             {"active_parameters", "Parameters of the part that a token meets.", &Part::active}};
  const Record<OperatorFacts> op = {
      {"name", "Name of the operator, as `map` calls it.", &OperatorFacts::name},
      {"produced", "Rows of the result.", &OperatorFacts::produced},
      {"reduced", "Length of the sum of an element of the result.", &OperatorFacts::reduced},
      {"columns", "Columns of the result: tokens.", &OperatorFacts::columns},
      {"instances", "Equal copies in a block.", &OperatorFacts::instances}};
  const Record<BlockFacts> block = {
      {"stack", "Stack of the block: encoder or decoder.", &BlockFacts::stack},
      {"kind", "What sets this kind of block apart in its stack; empty where there is only one.", &BlockFacts::kind},
      {"layers", "Blocks of this kind.", &BlockFacts::layers},
      {"operators", "Operators of one block, in the order of execution.", &BlockFacts::operators, op}};
  return {
      {"kind", "Kind of entry.", [](const ModelFacts&) { return std::string("model"); }, OneOf{{"model"}}},
      {"name", "Name as on the command line.", [](const ModelFacts& f) { return f.entry.name; }},
      {"title", "What it is, in one line.", [](const ModelFacts& f) { return f.entry.title; }},
      {"path", "Path of its file.", [](const ModelFacts& f) { return f.entry.path; }},
      {"sources", "Literature and files that the figures come from.",
       [](const ModelFacts& f) { return f.entry.sources; }},
      {"family", "Family of the model: its `model_type`.", &ModelFacts::family},
      {"parameters", "Parameters of the model, shared ones counted once.", &ModelFacts::parameters},
      {"embedding_parameters", "Parameters of tables that are looked up: tokens, positions, types.",
       &ModelFacts::embedding_parameters},
      {"active_parameters", "Parameters without those of routed experts that a token does not visit.",
       &ModelFacts::active_parameters},
      {"parts", "Parameters by part; they add up to `parameters`.", &ModelFacts::parts, part},
      {"weight_bits", "Bits of most weights, as the file says; 16 where it says nothing.",
       [](const ModelFacts& f) { return f.weights.bits; }},
      {"weight_bytes", "Bytes of all parameters as the file stores them, scales of quantised ones included.",
       [](const ModelFacts& f) { return f.weights.bytes; }},
      {"unconverted_weight_bits",
       "Bits of weights that are not quantised: tables, norms, biases, matrices that the file names.",
       [](const ModelFacts& f) { return f.weights.plain_bits; }},
      {"quantised_parameters", "Parameters that are quantised; 0: none.",
       [](const ModelFacts& f) { return f.weights.converted; }},
      {"quantisation_scale_bytes",
       "Bytes of `weight_bytes` that stand beside quantised weights: scales, zeros, orders.",
       [](const ModelFacts& f) { return f.weights.scale_bytes; }},
      {"layers", "Blocks of encoder and decoder.", &ModelFacts::layers},
      {"kv_cache_bytes_per_token", "Bytes that one more token adds to the caches, with 16-bit elements.",
       &ModelFacts::kv_cache_bytes_per_token},
      {"kv_cache_growing_bytes_per_token", "Bytes that one more token adds to the caches of layers without a window.",
       &ModelFacts::kv_cache_growing_bytes_per_token},
      {"state_elements_per_sequence", "Elements of the state that recurrences keep for a sequence.",
       &ModelFacts::state_elements},
      {"sequence", "Tokens of a sequence.", &ModelFacts::sequence},
      {"forward_flop_per_token",
       "Floating-point operations a token of GEMMs and attention, two for a multiply-accumulate, every token attending "
       "to every other.",
       &ModelFacts::forward_flop_per_token},
      {"attention_flop_per_token", "Part of `forward_flop_per_token` for scores and weighted values.",
       &ModelFacts::attention_flop_per_token},
      {"visible_attention_flop_per_token", "What masks, windows and chunks leave of `attention_flop_per_token`.",
       &ModelFacts::visible_attention_flop_per_token},
      {"blocks", "Operators of a block, one entry for each kind of block, for one sequence.", &ModelFacts::blocks,
       block},
      {"not_counted", "What the operations leave out.", &ModelFacts::not_counted},
      {"predicted_ahead", "Further layers that predict tokens beyond the next one; not counted.",
       &ModelFacts::predicted_ahead},
      {"counted_ahead", "Modules that predict tokens beyond the next one and are counted, by `--mtp`.",
       &ModelFacts::counted_ahead}};
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
  return {{"code", "Code of the diagnostic, such as O0710.", &ErrorPage::code},
          {"title", "What it means, in short.", &ErrorPage::title}};
}

}  // namespace

Document<std::vector<CatalogueEntry>> catalogue_document() {
  using Entries = std::vector<CatalogueEntry>;
  return {"catalog", kFound,
          Record<Entries>{{"entries", "Entries of the catalogue, by kind and name.", std::identity(), entry()}}, 0};
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
  return {"explain", kFound, Record<Pages>{{"codes", "All codes.", std::identity(), page_title()}}, 0};
}

Document<ErrorPage> page_document() {
  return {"explain", kFound, page_title().add({{"page", "The whole page, in Markdown.", &ErrorPage::page}}), 0};
}

Document<std::vector<std::string>> kinds_document() {
  using Lines = std::vector<std::string>;
  return {"schema", kFound,
          Record<Lines>{{"kinds", "Kinds of documents that `orrery schema KIND` knows.", std::identity()}}, 0};
}

}  // namespace orrery::verbs
