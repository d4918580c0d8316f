#include "orrery/verbs/tune/run/json.h"

#include <cmath>

#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {
namespace {

using kernels::MachinePeaks;
using layer::Dropout;
using layer::Shape;

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Record<MeasuredOperator> one_operator() {
  using M = MeasuredOperator;
  const auto rate = [](const M& m, double amount) { return m.seconds > 0 ? amount / m.seconds / 1e9 : 0; };
  return {{"name", "As the layer calls it.", &M::name},
          {"pass", "When it runs.", [](const M& m) { return m.backward ? "backward" : "forward"; },
           OneOf{{"forward", "backward"}}},
          {"ms", "Median over iterations.", [](const M& m) { return m.seconds * 1e3; }},
          {"gflops", "1e9 operations of products a second; 0 where there are none.",
           [=](const M& m) { return rate(m, m.operations); }},
          {"gbytes_per_s", "1e9 bytes a second, each operand read once and each result written once.",
           [=](const M& m) { return rate(m, m.bytes); }},
          {"bound", "Which of the machine's peaks it comes closer to.", &M::bound, OneOf{{"compute", "memory"}}},
          {"peak_fraction", "Share of that peak.", &M::of_bound}};
}

Record<base::Sample> spread() {
  using base::Sample;
  return {{"min", "ms", [](const Sample& s) { return s.min * 1e3; }},
          {"max", "ms", [](const Sample& s) { return s.max * 1e3; }},
          {"stddev", "ms, of the sample; null of one.",
           [](const Sample& s) { return s.count > 1 ? std::optional(s.stddev * 1e3) : std::nullopt; }}};
}

Record<ProcessorShare> processors() {
  return {{"ran_s", "Seconds over all threads on a processor.", &ProcessorShare::ran},
          {"waited_s", "The same, ready to run while something else had the processor.", &ProcessorShare::waited},
          {"waited_fraction", "Of both together.", &ProcessorShare::lost}};
}

Record<LayerCheck> test() {
  const Record<TensorError> tensor = {
      {"name", "`y`, `dx`, `d_` and the name of a weight.", [](const TensorError& t) { return t.name; }},
      {"max_error", "Largest difference over the reference's largest number; null where it is no number.",
       [](const TensorError& t) { return finite(t.max_error); }},
      {"rms_error", "Root mean square of differences over that of the reference; null as above.",
       [](const TensorError& t) { return finite(t.rms_error); }}};
  return {{"against", "Type of the reference.", [](const LayerCheck& c) { return verbs::type_name(c.against); }},
          {"batch", "Sequences that were compared.", [](const LayerCheck& c) { return c.shape.batch; }},
          {"seq", "Tokens of each.", [](const LayerCheck& c) { return c.shape.length; }},
          {"tolerance", "That no tensor's `rms_error` should pass.", &LayerCheck::tolerance},
          {"passed", "Whether none does.", &LayerCheck::passed},
          {"tensors", "One by one.", &LayerCheck::tensors, tensor}};
}

Record<TunedRun> config() {
  const auto shape = [](const TunedRun& r) -> const Shape& { return r.layer.shape; };
  const Record<Dropout> dropout = {{"attention", "Of probabilities.", &Dropout::attention},
                                   {"first", "Behind attention.", &Dropout::first},
                                   {"hidden", "Behind the activation.", &Dropout::hidden},
                                   {"second", "Behind the network.", &Dropout::second}};
  const Record<Shape> biases = {{"qkv", "Of queries, keys and values.", &Shape::qkv_bias},
                                {"output", "Of attention's output.", &Shape::out_bias},
                                {"network", "Of the network's maps.", &Shape::network_bias},
                                {"norms", "Of norms.", &Shape::shift}};
  const Record<Shape> rotary = {
      {"elements", "Of a head that are turned, the first ones.", &Shape::turned},
      {"base", "Whose powers are the angles.", &Shape::rotary_base},
      {"pairs", "Elements turned together: i and i + half, or 2 i and 2 i + 1.",
       [](const Shape& s) { return s.rotary == layer::Rotary::kPairs ? "neighbours" : "halves"; },
       OneOf{{"halves", "neighbours"}}}};
  const Record<Shape> sizes = {
      {"batch", "Sequences.", &Shape::batch},
      {"seq", "Tokens of one.", &Shape::length},
      {"width", "Of a token.", &Shape::width},
      {"heads", "Of queries.", &Shape::heads},
      {"kv_heads", "Of keys and values.", &Shape::kv_heads},
      {"head_width", "Of each.", &Shape::head},
      {"ffn", "Width of the network.", &Shape::hidden},
      {"activation", "Its function.", [](const Shape& s) { return verbs::activation_name(s.activation); }},
      {"gated", "Whether a gate multiplies it.", &Shape::gated},
      {"norms", "Where they stand.", [](const Shape& s) { return s.norms == layer::Place::kPost ? "post" : "pre"; },
       OneOf{{"post", "pre"}}},
      {"norm", "Its kind.", [](const Shape& s) { return s.centred ? "LayerNorm" : "RMSNorm"; },
       OneOf{{"LayerNorm", "RMSNorm"}}},
      {"epsilon", "Of norms.", [](const Shape& s) { return static_cast<double>(s.epsilon); }},
      {"biases", "Which exist.", std::identity(), biases},
      {"rotary", "Positions that turn queries and keys; null: none.",
       [](const Shape& s) { return s.rotary == layer::Rotary::kNone ? std::nullopt : std::optional(s); }, rotary},
      {"score_factor", "Of scores.", &Shape::score_factor},
      {"window", "Tokens that a token sees at most, itself among them; null: all.",
       [](const Shape& s) { return s.window > 0 ? std::optional(s.window) : std::nullopt; }},
      {"causal", "Whether tokens see those before them only.", &Shape::causal},
      {"cross", "Whether attention to an encoder's output follows.", &Shape::cross},
      {"dtype", "Of activations.", [](const Shape& s) { return verbs::type_name(s.type); },
       OneOf{{"fp32", "bf16", "fp16", "fp64"}}}};
  return {
      {"model", "Its name; empty: plain sizes.", [](const TunedRun& r) { return r.layer.model; }},
      {"layer", "As run.", shape, sizes},
      {"train", "Whether the backward pass ran.", &TunedRun::training},
      {"dropout", "Rates.", &TunedRun::dropout, dropout},
      {"layout", "The layout file that it ran by; null: as it is built in.",
       [](const TunedRun& r) { return r.layout.empty() ? std::nullopt : std::optional(r.layout); }},
      {"plan", "What `tune select` kept for this machine and these sizes; null: nothing, or a layout was asked for.",
       [](const TunedRun& r) { return r.plan; }, layer_plan()},
      {"iterations", "That were measured.",
       [](const TunedRun& r) { return static_cast<base::Count>(r.forward_s.size()); }}};
}

Record<TunedRun> result() {
  const Record<MachinePeaks> peaks = {
      {"fp32_gflops", "Fused multiply-adds.", [](const MachinePeaks& p) { return p.fp32 / 1e9; }},
      {"bf16_gflops", "Products of bf16.", [](const MachinePeaks& p) { return p.bf16 / 1e9; }},
      {"memory_gbytes_per_s", "Reads and writes of a = b + 3 c.",
       [](const MachinePeaks& p) { return p.memory / 1e9; }}};
  const auto trains = [](const TunedRun& r) { return r.training; };
  const auto known = [](const ProcessorShare& got) { return got.known ? std::optional(got) : std::nullopt; };
  return {
      {"forward_ms", "Median over iterations.", [](const TunedRun& r) { return r.forward.median * 1e3; }},
      {"backward_ms", "The same; null without training.",
       [](const TunedRun& r) { return r.training ? std::optional(r.backward.median * 1e3) : std::nullopt; }},
      {"forward", "Its spread.", &TunedRun::forward, spread()},
      {"backward", "Its spread; null without training.",
       [=](const TunedRun& r) { return trains(r) ? std::optional(r.backward) : std::nullopt; }, spread()},
      {"gflops", "1e9 operations of products a second, of both passes.",
       [](const TunedRun& r) { return r.rate() / 1e9; }},
      {"peak_fraction", "That over the peak of the type.",
       [](const TunedRun& r) { return r.peak > 0 ? r.rate() / r.peak : 0; }},
      {"gflop", "1e9 operations of products of an iteration.", [](const TunedRun& r) { return r.operations / 1e9; }},
      {"bytes_saved_state", "What the forward pass leaves to the backward pass, the layer's input apart.",
       [](const TunedRun& r) { return r.saved_bytes; }},
      {"max_error_vs_fp64",
       "With `--test`: the largest of any tensor, differences over the reference's largest number; "
       "null without, where the reference is another type, or where it is no number.",
       [](const TunedRun& r) {
         return r.check && r.check->against == kernels::Type::kF64 ? finite(r.check->max_error) : std::nullopt;
       }},
      {"isa", "Instruction set.", &TunedRun::isa},
      {"threads", "That ran it.", &TunedRun::threads},
      {"complete", "False: a limit or an interrupt ended it early.", [](const TunedRun& r) { return !r.ended_early; }},
      {"peaks", "Of this machine on so many threads, measured in the same run.", &TunedRun::peaks, peaks},
      {"processors", "What threads got during the measured iterations; null where the system does not tell.",
       [=](const TunedRun& r) { return known(r.got); }, processors()},
      {"processors_for_peaks", "The same while peaks were probed.",
       [=](const TunedRun& r) { return known(r.got_by_peaks); }, processors()},
      {"operators", "In the order in which they run.", &TunedRun::operators, one_operator()},
      {"test", "With `--test`: tensor by tensor; null without.", &TunedRun::check, test()},
      {"config", "What was run.", std::identity(), config()}};
}

}  // namespace

Document<TunedRun> tune_run_document() {
  return {"tune_run", "The figures, all measured.", result(), kInputs | kWarnings | kTiming,
          [](const TunedRun& r) { return Envelope{.inputs = &r.layer.inputs, .warnings = &r.warnings}; }};
}

}  // namespace orrery::verbs
