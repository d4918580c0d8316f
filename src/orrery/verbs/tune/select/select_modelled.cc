#include "orrery/verbs/tune/select/select_modelled.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/runtime/tuning/modelled.h"
#include "orrery/verbs/tune/rated_machine.h"

namespace orrery::verbs {
namespace {

// The graph is Substation's; what a model has beyond its operators is refused, what it does otherwise in them is told.
void compare(const RunnableLayer& layer, const std::string& called, base::Diagnostics& warnings) {
  const layer::Shape& s = layer.shape;
  std::vector<std::string> beyond, other;
  if (s.query_width() != s.width)
    beyond.push_back(fmt::format("{} heads of {} elements for a width of {}", s.heads, s.head(), s.width));
  if (s.kv_heads() != s.heads)
    beyond.push_back(fmt::format("{} heads of keys for {} of queries", s.kv_heads(), s.heads));
  if (s.gated) beyond.emplace_back("a gated network");
  if (s.cross) beyond.emplace_back("cross attention");
  if (!beyond.empty())
    base::fail("O1751",
               fmt::format("{} has operators that the graph of layouts lacks: {}", called, base::joined(beyond, ", ")),
               {}, "the graph is Substation's encoder layer; give a model of that kind, or sizes with `--emb-size`");
  if (s.activation != kernels::Activation::kRelu) other.push_back(activation_name(s.activation) + " (modelled: ReLU)");
  if (s.norms == layer::Place::kPre) other.emplace_back("norms before its branches (modelled: behind)");
  if (!s.centred) other.emplace_back("RMSNorm (modelled: LayerNorm)");
  if (s.causal) other.emplace_back("causal attention (modelled: all tokens)");
  if (s.rotary != layer::Rotary::kNone) other.emplace_back("rotary positions (modelled: none)");
  if (!other.empty())
    warnings.warning("O1752", fmt::format("{} is modelled by its sizes alone", called))
        .note(fmt::format("it has {}", base::joined(other, ", ")));
}

}  // namespace

ModelledLayer modelled_layer(const ModelledRequest& request) {
  const RunnableLayer layer = runnable_layer(request.layer);
  ModelledLayer out;
  out.warnings = layer.warnings;
  out.model = layer.model;
  compare(layer, layer.model.empty() ? "the layer" : fmt::format("the layer of `{}`", layer.model), out.warnings);
  const RatedMachine machine = rated_machine(request.system, {}, request.threads);
  out.warnings.append(machine.warnings);
  out.machine = machine.name;
  out.bytes_per_s = machine.accelerator.memory_bytes_per_s;
  out.precision = chosen_precision(request.precision, machine);
  const layer::Shape& s = layer.shape;
  out.graph = std::make_shared<const tuning::Graph>(
      tuning::encoder_graph(tuning::Sizes::encoder(s.batch, s.length, s.heads, s.width, s.hidden)));
  try {
    tuning::Measurements times = tuning::modelled(*out.graph, machine.accelerator, out.precision);
    times.inputs = layer.inputs;
    times.inputs.insert(times.inputs.end(), machine.inputs.begin(), machine.inputs.end());
    out.times = std::make_shared<const tuning::Measurements>(std::move(times));
  } catch (const base::OverflowError&) {
    base::fail("O1701", "a tensor of the layer has more words than a count of 64 bits holds", {},
               "fewer or shorter sequences: tensors are in proportion to their number");
  }
  return out;
}

}  // namespace orrery::verbs
