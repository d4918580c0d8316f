#include "orrery/verbs/tune/run/json.h"

#include <cmath>

#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {
namespace {

using kernels::MachinePeaks;
using layer::Dropout;
using layer::Shape;

std::optional<double> finite_of(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Record<MeasuredOperator> one_operator() {
  using M = MeasuredOperator;
  const auto rate = [](const M& m, double amount) { return m.seconds > 0 ? amount / m.seconds / 1e9 : 0; };
  return {{"name", "Name of the operator in the layer.", &M::name},
          {"pass", "Pass in which it runs.", [](const M& m) { return m.backward ? "backward" : "forward"; },
           OneOf{{"forward", "backward"}}},
          {"ms", "Median time over iterations, in milliseconds.", [](const M& m) { return m.seconds * 1e3; }},
          {"gflops", "1e9 operations of GEMMs a second; 0 where there are none.",
           [=](const M& m) { return rate(m, m.operations); }},
          {"gbytes_per_s", "1e9 bytes a second, each operand read once and each result written once.",
           [=](const M& m) { return rate(m, m.bytes); }},
          {"bound", "The peak of the machine that it comes closer to.", &M::bound, OneOf{{"compute", "memory"}}},
          {"peak_fraction", "Share of that peak, 0 to 1.", &M::of_bound}};
}

Record<base::Sample> spread() {
  using base::Sample;
  return {{"min", "Shortest time, in milliseconds.", [](const Sample& s) { return s.min * 1e3; }},
          {"max", "Longest time, in milliseconds.", [](const Sample& s) { return s.max * 1e3; }},
          {"stddev", "Standard deviation of the sample, in milliseconds; null of a single iteration.",
           [](const Sample& s) { return s.count > 1 ? std::optional(s.stddev * 1e3) : std::nullopt; }}};
}

Record<ProcessorShare> processors() {
  return {{"ran_s", "Time on a processor, sum over threads, in seconds.", &ProcessorShare::ran},
          {"waited_s", "Time ready to run while something else had the processor, sum over threads, in seconds.",
           &ProcessorShare::waited},
          {"waited_fraction", "Share of waiting in both together, 0 to 1.", &ProcessorShare::lost}};
}

Record<LayerCheck> test() {
  const Record<TensorError> tensor = {
      {"name", "Name of the tensor: `y`, `dx`, or `d_` and the name of a weight.",
       [](const TensorError& t) { return t.name; }},
      {"max_error", "Largest difference over the reference's largest magnitude; null where it is not a number.",
       [](const TensorError& t) { return finite_of(t.max_error); }},
      {"rms_error", "Root mean square of differences over that of the reference; null where it is not a number.",
       [](const TensorError& t) { return finite_of(t.rms_error); }}};
  return {
      {"against", "Number format of the reference.", [](const LayerCheck& c) { return verbs::type_name(c.against); }},
      {"batch", "Sequences that were compared.", [](const LayerCheck& c) { return c.shape.batch; }},
      {"seq", "Tokens of each sequence.", [](const LayerCheck& c) { return c.shape.length; }},
      {"tolerance", "Largest `rms_error` that is allowed.", &LayerCheck::tolerance},
      {"passed", "Whether every tensor is within the tolerance.", &LayerCheck::passed},
      {"tensors", "Errors of each tensor.", &LayerCheck::tensors, tensor}};
}

Record<TunedRun> run_config() {
  const auto shape = [](const TunedRun& r) -> const Shape& { return r.layer.shape; };
  const Record<Dropout> dropout = {{"attention", "Dropout rate of attention probabilities.", &Dropout::attention},
                                   {"first", "Dropout rate behind attention.", &Dropout::first},
                                   {"hidden", "Dropout rate behind the activation.", &Dropout::hidden},
                                   {"second", "Dropout rate behind the feed-forward network.", &Dropout::second}};
  const Record<Shape> biases = {
      {"qkv", "Whether queries, keys and values have biases.", &Shape::qkv_bias},
      {"output", "Whether attention's output has a bias.", &Shape::out_bias},
      {"network", "Whether the maps of the feed-forward network have biases.", &Shape::network_bias},
      {"norms", "Whether norms have biases.", &Shape::shift}};
  const Record<Shape> rotary = {
      {"elements", "Elements of a head that are rotated, the first ones.", &Shape::turned},
      {"base", "Base whose powers are the angles.", &Shape::rotary_base},
      {"pairs", "Elements rotated together: i and i + half, or 2 i and 2 i + 1.",
       [](const Shape& s) { return s.rotary == layer::Rotary::kPairs ? "neighbours" : "halves"; },
       OneOf{{"halves", "neighbours"}}}};
  Record<Shape> sizes = sizes_of_layer();
  sizes.add(
      {{"norm", "Kind of norm.", [](const Shape& s) { return s.centred ? "LayerNorm" : "RMSNorm"; },
        OneOf{{"LayerNorm", "RMSNorm"}}},
       {"epsilon", "Epsilon of norms.", [](const Shape& s) { return static_cast<double>(s.epsilon); }},
       {"biases", "Which parts have biases.", std::identity(), biases},
       {"rotary", "Rotary positions of queries and keys; null: none.",
        [](const Shape& s) { return s.rotary == layer::Rotary::kNone ? std::nullopt : std::optional(s); }, rotary},
       {"score_factor", "Factor that scores are multiplied by.", &Shape::score_factor},
       {"window", "Tokens that a token sees at most, itself included; null: all.",
        [](const Shape& s) { return s.window > 0 ? std::optional(s.window) : std::nullopt; }},
       {"dtype", "Number format of activations.", [](const Shape& s) { return verbs::type_name(s.type); },
        OneOf{{"fp32", "bf16", "fp16", "fp64"}}}});
  return {
      {"model", "Name of the model; empty where sizes were given.", [](const TunedRun& r) { return r.layer.model; }},
      {"layer", "Sizes of the layer, as run.", shape, sizes},
      {"train", "Whether the backward pass ran.", &TunedRun::training},
      {"dropout", "Dropout rates.", &TunedRun::dropout, dropout},
      {"layout", "Layout file that the layer ran by; null: the built-in layer ran.",
       [](const TunedRun& r) { return r.layout.empty() ? std::nullopt : std::optional(r.layout); }},
      {"plan",
       "Plan that `tune select` kept for this machine and these sizes; null where there is none, or where a layout was "
       "asked for.",
       [](const TunedRun& r) { return r.plan; }, layer_plan()},
      {"iterations", "Iterations that were measured.",
       [](const TunedRun& r) { return static_cast<base::Count>(r.forward_s.size()); }}};
}

Record<TunedRun> run_result() {
  const Record<MachinePeaks> peaks = {
      {"fp32_gflops", "Peak of fp32 fused multiply-adds, in 1e9 operations a second.",
       [](const MachinePeaks& p) { return p.fp32 / 1e9; }},
      {"bf16_gflops", "Peak of bf16 GEMMs, in 1e9 operations a second.",
       [](const MachinePeaks& p) { return p.bf16 / 1e9; }},
      {"memory_gbytes_per_s", "Bandwidth of memory, in 1e9 bytes a second: reads and writes of a = b + 3 c.",
       [](const MachinePeaks& p) { return p.memory / 1e9; }}};
  const auto trains = [](const TunedRun& r) { return r.training; };
  const auto known = [](const ProcessorShare& got) { return got.known ? std::optional(got) : std::nullopt; };
  return {
      {"forward_ms", "Forward pass, median over iterations, in milliseconds.",
       [](const TunedRun& r) { return r.forward.median * 1e3; }},
      {"backward_ms", "Backward pass, median over iterations, in milliseconds; null without training.",
       [](const TunedRun& r) { return r.training ? std::optional(r.backward.median * 1e3) : std::nullopt; }},
      {"forward", "Spread of the forward pass.", &TunedRun::forward, spread()},
      {"backward", "Spread of the backward pass; null without training.",
       [=](const TunedRun& r) { return trains(r) ? std::optional(r.backward) : std::nullopt; }, spread()},
      {"gflops", "1e9 operations of GEMMs a second, both passes.", [](const TunedRun& r) { return r.rate() / 1e9; }},
      {"peak_fraction", "That rate over the peak of the number format, 0 to 1.",
       [](const TunedRun& r) { return r.peak > 0 ? r.rate() / r.peak : 0; }},
      {"gflop", "Operations of GEMMs of an iteration, in 1e9.", [](const TunedRun& r) { return r.operations / 1e9; }},
      {"bytes_saved_state", "Bytes that the forward pass keeps for the backward pass, without the layer's input.",
       [](const TunedRun& r) { return r.saved_bytes; }},
      {"max_error_vs_fp64",
       "With `--test`: largest difference of any tensor over the reference's largest magnitude; null without, where "
       "the reference is not fp64, or where it is not a number.",
       [](const TunedRun& r) {
         return r.check && r.check->against == kernels::Type::kF64 ? finite_of(r.check->max_error) : std::nullopt;
       }},
      {"isa", "Instruction set that the kernels used.", &TunedRun::isa},
      {"threads", "Threads that computed.", &TunedRun::threads},
      {"complete", "False: a limit or an interrupt ended it early.", [](const TunedRun& r) { return !r.ended_early; }},
      {"peaks", "Peaks of this machine on as many threads, measured in the same run.", &TunedRun::peaks, peaks},
      {"processors",
       "Time that threads got and waited for during the measured iterations; null where the system does not tell.",
       [=](const TunedRun& r) { return known(r.got); }, processors()},
      {"processors_for_peaks",
       "Time that threads got and waited for while peaks were measured; null where the system does not tell.",
       [=](const TunedRun& r) { return known(r.got_by_peaks); }, processors()},
      {"operators", "Operators, in the order in which they run.", &TunedRun::operators, one_operator()},
      {"test", "With `--test`: comparison with a reference, tensor by tensor; null without.", &TunedRun::check, test()},
      {"config", "Layer and settings of the run.", std::identity(), run_config()}};
}

}  // namespace

Document<TunedRun> tune_run_document() {
  return {"tune_run", "Times and rates, all measured.", run_result(), kInputs | kWarnings | kTiming,
          [](const TunedRun& r) { return Envelope{.inputs = &r.layer.inputs, .warnings = &r.warnings}; }};
}

}  // namespace orrery::verbs
