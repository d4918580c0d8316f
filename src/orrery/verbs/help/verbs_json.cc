#include "orrery/verbs/help/verbs_json.h"

#include "orrery/present/answer.h"
#include "orrery/present/schemas.h"
#include "orrery/verbs/help/json_schema.h"

namespace orrery::verbs {
namespace {

using formats::orrery::Entry;
using formats::orrery::FigureSource;

// What a verb found, and who says so.
template <typename Result>
struct Said {
  const std::string& version;
  const Result& result;
  const base::Diagnostics* warnings = nullptr;
};

template <typename Result>
Record<Said<Result>> answer(const char* kind, const Record<Result>& result, unsigned parts = 0) {
  using S = Said<Result>;
  return document<S>(
      kind, parts,
      [](const S& said) {
        return Envelope{said.version, {}, nullptr, said.warnings};
      },
      {{"result", "What was found.", [](const S& said) -> const Result& { return said.result; }, result}});
}

using Lines = std::vector<std::string>;

auto check() {
  const Record<Lines> result = {
      {"ok", "True: what is wrong is printed as a document of kind `error`.", [](const Lines&) { return true; }},
      {"contents", "What the files describe, in words.", std::identity()}};
  return answer("check", result, kWarnings);
}

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

Record<ModelFacts> model_facts() {
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
  Record<ModelFacts> out = {
      {"kind", "What it is.", [](const ModelFacts&) { return std::string("model"); }, OneOf{{"model"}}},
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

using Entries = std::vector<CatalogueEntry>;

auto catalog() {
  return answer("catalog", Record<Entries>{{"entries", "By kind and name.", std::identity(), entry()}});
}

struct Health {
  bool ok;
  const std::vector<std::pair<std::string, std::string>>& findings;
};

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

auto doctor() {
  using S = Said<Health>;
  return document<S>("doctor", 0, [](const S& said) { return Envelope{said.version}; },
                     {{"result", "What was looked for, and what was found.",
                       [](const S& said) -> const Health& { return said.result; }, HealthElement()}});
}

auto rtl() {
  return answer("sparse_rtl",
                Record<RtlFiles>{{"files", "What was written, with folders.", &RtlFiles::files},
                                 {"parameters", "Of module `accelerator`.", &RtlFiles::parameters},
                                 {"cycles", "That the vectors take, from START to DONE.", &RtlFiles::cycles},
                                 {"blocks", "Packed blocks of the vectors.", &RtlFiles::blocks}});
}

Record<ErrorPage> page_title() {
  return {{"code", "Such as O0710.", &ErrorPage::code}, {"title", "What it means, in short.", &ErrorPage::title}};
}

using Pages = std::vector<ErrorPage>;

auto codes() {
  return answer("explain", Record<Pages>{{"codes", "All of them.", std::identity(), page_title()}});
}

auto page() {
  return answer("explain", page_title().add({{"page", "The whole text, in Markdown.", &ErrorPage::page}}));
}

auto kinds() {
  return answer("schema", Record<Lines>{{"kinds", "What `orrery schema KIND` knows.", std::identity()}});
}

}  // namespace

std::string check_json(const std::string& version, const Lines& contents, const base::Diagnostics& warnings) {
  return text(check().json({version, contents, &warnings}));
}

std::string catalog_json(const std::string& version, const Entries& entries) {
  return text(catalog().json({version, entries}));
}

std::string catalog_json(const std::string& version, const CatalogueEntry& shown) {
  return text(answer("catalog", entry()).json({version, shown}));
}

std::string catalog_json(const std::string& version, const ModelFacts& facts) {
  return text(answer("catalog", model_facts(), kWarnings).json({version, facts, &facts.warnings}));
}

std::string doctor_json(const std::string& version, bool ok,
                        const std::vector<std::pair<std::string, std::string>>& findings) {
  const Health health{ok, findings};
  return text(doctor().json({version, health}));
}

std::string sparse_rtl_json(const std::string& version, const RtlFiles& said) {
  return text(rtl().json({version, said}));
}

std::string explain_json(const std::string& version, const Pages& pages) {
  return text(codes().json({version, pages}));
}

std::string explain_json(const std::string& version, const ErrorPage& shown) {
  return text(page().json({version, shown}));
}

std::string schema_kinds_json(const std::string& version) {
  return text(kinds().json({version, schema_names()}));
}

Json sparse_rtl_schema() {
  return rtl().schema();
}

Json check_schema() {
  return check().schema();
}

Json catalog_schema() {
  return any_of(
      {catalog().schema(), answer("catalog", entry()).schema(), answer("catalog", model_facts(), kWarnings).schema()});
}

Json doctor_schema() {
  return doctor().schema();
}

Json explain_schema() {
  return any_of({codes().schema(), page().schema()});
}

Json kinds_schema() {
  return kinds().schema();
}

}  // namespace orrery::verbs
