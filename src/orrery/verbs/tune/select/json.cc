#include "orrery/verbs/tune/select/json.h"

#include <map>

#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {
namespace {

using tuning::ChosenOperator;

// A part of the answer that needs the whole to be told.
struct Judged {
  const TunedSelection& whole;
  const Alternative& one;
};

using Times = std::vector<std::pair<std::string, double>>;
using Texts = std::vector<std::pair<std::string, std::string>>;

Times times(const tuning::Selection& selection) {
  Times out;
  for (const ChosenOperator& one : selection.operators) out.emplace_back(one.name, tuning::ms(one.time));
  return out;
}

Texts layouts(const TunedSelection& answer) {
  Texts out;
  if (answer.selection)
    for (const tuning::Variable& one : answer.graph->variables)
      out.emplace_back(one.name, answer.layout(*answer.selection, one.name));
  return out;
}

std::optional<double> loss(const TunedSelection& answer, const std::optional<tuning::Selection>& other) {
  if (!answer.selection || !other) return std::nullopt;
  return tuning::ms(other->time - answer.selection->time);
}

// By how much operators pay for another choice; those that do not change are left out.
Times paid(const TunedSelection& answer, const tuning::Selection& other) {
  Times out;
  for (std::size_t i = 0; answer.selection && i < other.operators.size(); ++i)
    if (const base::Count more = other.operators[i].time - answer.selection->operators[i].time; more != 0)
      out.emplace_back(other.operators[i].name, tuning::ms(more));
  return out;
}

Record<Judged> alternative() {
  return {{"asked", "VARIABLE=LAYOUT, or the file.", [](const Judged& j) { return j.one.asked; }},
          {"time_ms", "Of the best choice that has it; null where there is none.",
           [](const Judged& j) {
             return j.one.selection ? std::optional(tuning::ms(j.one.selection->time)) : std::nullopt;
           }},
          {"loss_ms", "That, less the optimum; null where there is none.",
           [](const Judged& j) { return loss(j.whole, j.one.selection); }},
          {"paid_ms", "By operator that is slower (above 0) or faster so.",
           [](const Judged& j) { return j.one.selection ? paid(j.whole, *j.one.selection) : Times(); }},
          {"missing", "What was not measured so, or operators that cannot agree with it.",
           [](const Judged& j) { return j.one.missing; }},
          {"proven", "Whether a limit left it undecided is false.", [](const Judged& j) { return j.one.proven; }}};
}

struct JudgedMode {
  const TunedSelection& whole;
  const SelectMode& one;
};

Record<JudgedMode> mode() {
  const auto time = [](const JudgedMode& m) {
    return m.one.outcome.selection ? std::optional(tuning::ms(m.one.outcome.selection->time)) : std::nullopt;
  };
  return {{"time_ms", "Of its choice; null where it ended without one.", time},
          {"loss_ms", "That, less the optimum.",
           [](const JudgedMode& m) { return loss(m.whole, m.one.outcome.selection); }},
          {"reason", "Why it has none; null where it has.", [](const JudgedMode& m) {
             return m.one.outcome.selection ? std::nullopt : std::optional(m.one.outcome.reason);
           }}};
}

Record<tuning::Relayout> transposition() {
  return {{"variable", "The tensor.", &tuning::Relayout::variable},
          {"reader", "The operator that reads it so.", &tuning::Relayout::reader},
          {"from", "The layout that it was made in.", &tuning::Relayout::from},
          {"to", "The layout that it is read in.", &tuning::Relayout::to},
          {"time_ms", "Modelled: it is read and written once.",
           [](const tuning::Relayout& one) { return tuning::ms(one.time); }}};
}

Record<Relayouts> with_relayouts() {
  return {
      {"time_ms", "Of operators and transpositions; null where nothing is allowed or found.",
       [](const Relayouts& r) { return r.selection ? std::optional(tuning::ms(r.selection->time)) : std::nullopt; }},
      {"bandwidth_gb_per_s", "Of transpositions.", [](const Relayouts& r) { return r.bytes_per_s / 1e9; }},
      {"lower_bound_ms", "No choice with them takes less.", [](const Relayouts& r) { return tuning::ms(r.bound); }},
      {"proven", "Whether a limit left it undecided is false.", [](const Relayouts& r) { return r.proven; }},
      {"transpositions", "Which tensors, for whom.",
       [](const Relayouts& r) { return r.selection ? r.selection->relayouts : std::vector<tuning::Relayout>(); },
       transposition()}};
}

struct Modelled {
  const ModelledLayer& layer;
  const tuning::Measurements& times;
};

Record<Modelled> modelled() {
  return {
      {"machine", "The system, or this machine.", [](const Modelled& m) { return m.layer.machine; }},
      {"precision", "Of words and arithmetic.",
       [](const Modelled& m) { return std::string(machine::name(m.layer.precision)); }},
      {"model", "Whose sizes these are; empty where they were given.", [](const Modelled& m) { return m.layer.model; }},
      {"batch", "Sequences.", [](const Modelled& m) { return m.times.sizes['b']; }},
      {"sequence", "Tokens of each.", [](const Modelled& m) { return m.times.sizes['j']; }},
      {"width", "Of a token.", [](const Modelled& m) { return m.times.sizes['i']; }},
      {"heads", "Of attention.", [](const Modelled& m) { return m.times.sizes['h']; }},
      {"hidden", "Width of the network.", [](const Modelled& m) { return m.times.sizes['u']; }}};
}

Record<TunedSelection> result() {
  const auto time = [](const TunedSelection& a) {
    return a.selection ? std::optional(tuning::ms(a.selection->time)) : std::nullopt;
  };
  const auto specials = [](const TunedSelection& a) {
    std::vector<std::pair<std::string, Texts>> out;
    if (a.selection)
      for (const ChosenOperator& one : a.selection->operators)
        out.emplace_back(one.name, Texts(one.specials.begin(), one.specials.end()));
    return out;
  };
  const auto modes = [](const TunedSelection& a) {
    std::vector<std::pair<std::string, JudgedMode>> out;
    for (const SelectMode& one : a.modes) out.emplace_back(one.name, JudgedMode{a, one});
    return out;
  };
  const auto why = [](const TunedSelection& a) {
    std::vector<Judged> out;
    for (const Alternative& one : a.why) out.push_back({a, one});
    return out;
  };
  const auto evaluated = [](const TunedSelection& a) {
    return a.evaluated ? std::optional(Judged{a, *a.evaluated}) : std::nullopt;
  };
  const auto conflict = [](const TunedSelection& a) {
    std::vector<std::string> out;
    for (const int f : a.conflict.factors) out.push_back(a.problem.factors.factors[static_cast<std::size_t>(f)].name);
    return out;
  };
  const auto rows = [](const TunedSelection& a) {
    std::uint64_t out = 0;
    for (const auto& [name, table] : a.measurements->tables) out += table.rows();
    return out;
  };
  return {
      {"layouts", "Of every tensor, the leftmost letter slowest in memory.", layouts},
      {"time_ms", "Sum over operators; null where nothing is allowed or found.", time},
      {"lower_bound_without_layouts_ms", "Every operator at its fastest, whatever the layouts.",
       [](const TunedSelection& a) { return tuning::ms(a.without_layouts); }},
      {"lower_bound_arc_consistent_ms",
       "The same of rows that have a partner in every neighbour; 0 where a limit came first.",
       [](const TunedSelection& a) { return tuning::ms(a.arc_consistent); }},
      {"per_operator", "ms, by operator.",
       [](const TunedSelection& a) { return a.selection ? times(*a.selection) : Times(); }},
      {"configurations", "Dimensions and implementation of the fastest row, by operator.", specials},
      {"modes", "What Substation's search finds, by mode.", modes, mode()},
      {"why", "With `--why`: the best choice with each layout asked for.", why, alternative()},
      {"evaluated", "With `--evaluate`: the file's choice; null without.", evaluated, alternative()},
      {"relayout", "With `--relayout`: the best choice with transpositions between operators; null without.",
       [](const TunedSelection& a) { return a.relayouts; }, with_relayouts()},
      {"plan",
       "Of a folder that was measured here, built-in layer included: what `tune run` trains by; null otherwise.",
       [](const TunedSelection& a) { return a.plan; }, layer_plan()},
      {"conflict", "Operators of which no choice of layouts was measured for all; empty where one exists.", conflict},
      {"width", "Most classes of tensors in a table of the elimination.",
       [](const TunedSelection& a) { return a.minimum.width; }},
      {"rows", "Measured rows that were read, or modelled ones.", rows},
      {"times", "measured, or modelled",
       [](const TunedSelection& a) { return std::string(a.modelled ? "modelled" : "measured"); }},
      {"modelled", "What modelled times are of; null where they were measured.",
       [](const TunedSelection& a) {
         return a.modelled ? std::optional(Modelled{*a.modelled, *a.measurements}) : std::nullopt;
       },
       modelled()}};
}

}  // namespace

Document<TunedSelection> tune_select_document() {
  return {"tune_select",
          {{"result", "The choice. Times are those that were measured, or modelled: `times` says which.",
            std::identity(), result()},
           {"certificate", "What is proven of it; in ms.", &TunedSelection::certificate, proof()}}};
}

}  // namespace orrery::verbs
