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
  return {{"asked", "The choice that was asked for: VARIABLE=LAYOUT, or the file.",
           [](const Judged& j) { return j.one.asked; }},
          {"time_ms", "Time of the best choice that has it, in milliseconds; null where there is none.",
           [](const Judged& j) {
             return j.one.selection ? std::optional(tuning::ms(j.one.selection->time)) : std::nullopt;
           }},
          {"loss_ms", "How much more that takes than the optimum, in milliseconds; null where there is none.",
           [](const Judged& j) { return loss(j.whole, j.one.selection); }},
          {"paid_ms", "By operator: how much slower (above 0) or faster it is with that choice, in milliseconds.",
           [](const Judged& j) { return j.one.selection ? paid(j.whole, *j.one.selection) : Times(); }},
          {"missing", "Combinations that were not measured, or operators that cannot agree with the choice.",
           [](const Judged& j) { return j.one.missing; }},
          {"proven", "Whether the figures are proven; false: a limit came first.",
           [](const Judged& j) { return j.one.proven; }}};
}

struct JudgedMode {
  const TunedSelection& whole;
  const SelectMode& one;
};

Record<JudgedMode> mode() {
  const auto time = [](const JudgedMode& m) {
    return m.one.outcome.selection ? std::optional(tuning::ms(m.one.outcome.selection->time)) : std::nullopt;
  };
  return {
      {"time_ms", "Time of the mode's choice, in milliseconds; null where it ended without one.", time},
      {"loss_ms", "How much more that takes than the optimum, in milliseconds; null where it ended without a choice.",
       [](const JudgedMode& m) { return loss(m.whole, m.one.outcome.selection); }},
      {"reason", "Why the mode found no choice; null where it did.", [](const JudgedMode& m) {
         return m.one.outcome.selection ? std::nullopt : std::optional(m.one.outcome.reason);
       }}};
}

Record<tuning::LayoutConversion> transposition() {
  return {{"variable", "Tensor that is transposed.", &tuning::LayoutConversion::variable},
          {"reader", "Operator that reads it.", &tuning::LayoutConversion::reader},
          {"from", "Layout in which it was made.", &tuning::LayoutConversion::from},
          {"to", "Layout in which it is read.", &tuning::LayoutConversion::to},
          {"time_ms", "Time of the transposition, in milliseconds, modelled: the tensor is read and written once.",
           [](const tuning::LayoutConversion& one) { return tuning::ms(one.time); }}};
}

Record<Conversions> with_conversions() {
  return {
      {"time_ms", "Time of operators and transpositions, in milliseconds; null where nothing is allowed or found.",
       [](const Conversions& r) { return r.selection ? std::optional(tuning::ms(r.selection->time)) : std::nullopt; }},
      {"bandwidth_gb_per_s", "Bandwidth of transpositions, in GB/s.",
       [](const Conversions& r) { return r.bytes_per_s / 1e9; }},
      {"lower_bound_ms", "Lower bound of the time of any choice with transpositions, in milliseconds.",
       [](const Conversions& r) { return tuning::ms(r.bound); }},
      {"proven", "Whether the choice is proven to be the best; false: a limit came first.",
       [](const Conversions& r) { return r.proven; }},
      {"transpositions", "Tensors that are transposed, and the operators that read them.",
       [](const Conversions& r) {
         return r.selection ? r.selection->conversions : std::vector<tuning::LayoutConversion>();
       },
       transposition()}};
}

struct Modelled {
  const ModelledLayer& layer;
  const tuning::Measurements& times;
};

Record<Modelled> modelled() {
  return {{"machine", "The system, or this machine.", [](const Modelled& m) { return m.layer.machine; }},
          {"precision", "Number format of words and arithmetic.",
           [](const Modelled& m) { return std::string(machine::name(m.layer.precision)); }},
          {"model", "Model whose sizes these are; empty where sizes were given.",
           [](const Modelled& m) { return m.layer.model; }},
          {"batch", "Sequences of a batch.", [](const Modelled& m) { return m.times.sizes['b']; }},
          {"sequence", "Tokens of a sequence.", [](const Modelled& m) { return m.times.sizes['j']; }},
          {"width", "Elements of a token.", [](const Modelled& m) { return m.times.sizes['i']; }},
          {"heads", "Attention heads.", [](const Modelled& m) { return m.times.sizes['h']; }},
          {"hidden", "Width of the feed-forward network.", [](const Modelled& m) { return m.times.sizes['u']; }}};
}

Record<TunedSelection> select_result() {
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
      {"layouts", "Layout of every tensor; the leftmost letter is slowest in memory.", layouts},
      {"time_ms", "Sum of the operators' times, in milliseconds; null where nothing is allowed or found.", time},
      {"lower_bound_without_layouts_ms", "Sum of every operator's fastest time, whatever the layouts, in milliseconds.",
       [](const TunedSelection& a) { return tuning::ms(a.without_layouts); }},
      {"lower_bound_arc_consistent_ms",
       "The same sum over rows that have a partner in every neighbour, in milliseconds; 0 where a limit came first.",
       [](const TunedSelection& a) { return tuning::ms(a.arc_consistent); }},
      {"per_operator", "Time of each operator, in milliseconds.",
       [](const TunedSelection& a) { return a.selection ? times(*a.selection) : Times(); }},
      {"configurations", "Dimensions and implementation of each operator's fastest row.", specials},
      {"modes", "What each mode of Substation's search finds.", modes, mode()},
      {"why", "With `--why`: the best choice with each layout that was asked for.", why, alternative()},
      {"evaluated", "With `--evaluate`: what the file's choice costs; null without.", evaluated, alternative()},
      {"relayout", "With `--relayout`: the best choice with transpositions between operators; null without.",
       [](const TunedSelection& a) { return a.conversions; }, with_conversions()},
      {"plan", "Plan of a folder measured here with the built-in layer: what `tune run` trains by; null otherwise.",
       [](const TunedSelection& a) { return a.plan; }, layer_plan()},
      {"conflict", "Operators for which no common choice of layouts was measured; empty where one exists.", conflict},
      {"width", "Most classes of tensors in one table of the elimination.",
       [](const TunedSelection& a) { return a.minimum.width; }},
      {"rows", "Rows that were read or modelled.", rows},
      {"times", "Whether times were measured or modelled.",
       [](const TunedSelection& a) { return std::string(a.modelled ? "modelled" : "measured"); }},
      {"modelled", "Machine and sizes of modelled times; null where times were measured.",
       [](const TunedSelection& a) {
         return a.modelled ? std::optional(Modelled{*a.modelled, *a.measurements}) : std::nullopt;
       },
       modelled()}};
}

}  // namespace

Document<TunedSelection> tune_select_document() {
  return {"tune_select",
          {{"result", "The choice of layouts; `times` says whether times were measured or modelled.", std::identity(),
            select_result()},
           {"certificate", "What is proven of the choice; bounds in milliseconds.", &TunedSelection::certificate,
            proof()}}};
}

}  // namespace orrery::verbs
