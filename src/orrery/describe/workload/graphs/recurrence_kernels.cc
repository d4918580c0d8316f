// Idea: a recurrence is projections (MIX_<name>) around a convolution along the tokens and a scan, both on vector
// lanes.
//
//   CONV   channels x 1 x taps x s        a filter for each channel
//   SCAN   heads x v x p k x s            a state of k x v elements for each head
//
// For every token the scan passes over its state p times: to decay it and add to it, to read it, and with the delta
// rule to read what it replaces; p is 2, of deltas 3. So K is p k, and a product on vector lanes takes an operation for
// each of outer M K N points. That is the recurrence as it is written down, token after token; programs that work on
// blocks of tokens trade it for products on matrix units. A gate (MIX_GATE) multiplies what comes before the last
// projection. Backward, the scan is passed over twice as often, once to make the states again. A token generated reads
// and writes the state, and reads the last taps - 1 columns of the convolution.
//
// Source: Gu and Dao, "Mamba", arXiv 2312.00752; Dao and Gu, arXiv 2405.21060; Yang et al., arXiv 2412.06464. DFModel
// (arXiv 2412.16432) too has scans as kernels of vector lanes. Cost: a step a kernel.
#include <algorithm>
#include <string>

#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {
namespace {

using base::Count;

std::string name_of(const Projection& p) {
  if (p.name == "gate") return "MIX_GATES";  // with which MIX_GATE multiplies
  std::string name = "MIX_";
  for (const char c : p.name) name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

bool convolves(const Recurrence& r) {
  return r.channels > 0 && r.taps > 0;
}

bool scans(const Recurrence& r) {
  return r.heads > 0 && r.key_width > 0 && r.value_width > 0;
}

Count passes(const Recurrence& r) {
  return r.kind == Recurrence::Kind::kDelta ? 3 : 2;
}

// Whom projection `at` reads: the stack (kInput), the convolution, or the projection before it.
enum class Reads { kInput, kConvolution, kBefore };
Reads reads(const Recurrence& r, std::size_t at) {
  const std::string& name = r.projections[at].name;
  if (at > 0 && (name.ends_with("-up") || (r.kind == Recurrence::Kind::kMamba && name == "dt"))) return Reads::kBefore;
  const bool gated = r.kind == Recurrence::Kind::kMamba || r.kind == Recurrence::Kind::kGatedLinear;
  if (at > 0 && gated && name == "x") return Reads::kConvolution;
  return Reads::kInput;
}

bool is_gate(const Projection& p) {
  return p.name.starts_with("gate");
}

// The projection that makes the gate: the first one, where none is called so.
std::size_t gate_of(const Recurrence& r) {
  for (std::size_t i = r.projections.size() - 1; i-- > 1;)
    if (is_gate(r.projections[i])) return i;
  return 0;
}

// Whether another projection reads this one, and nothing else does.
bool feeds_next_only(const Recurrence& r, std::size_t at) {
  return at + 2 < r.projections.size() && reads(r, at + 1) == Reads::kBefore && r.projections[at].name != "x";
}

Kernel scan(LayerWriter& out, const Recurrence& r, const char* name, Count times, Count s) {
  const Count deep = out.elements("the state", {passes(r), times, r.key_width});
  Kernel kernel = out.product(name, {r.heads, r.value_width, deep, s}, 0, 0);
  kernel.unit = KernelUnit::kSimd;
  return kernel;
}

Kernel convolution(LayerWriter& out, const Recurrence& r, const char* name, Count s) {
  Kernel kernel = out.weighted(name, {r.channels, 1, r.taps, s});
  kernel.input_bytes = 0;  // channels x s, which the shape does not say
  kernel.unit = KernelUnit::kSimd;
  return kernel;
}

}  // namespace

int recurrence_kernels(LayerContext& layer, const Recurrence& r, int input) {
  LayerWriter& out = layer.out;
  const Count s = layer.tokens.tokens;
  int mixed = kNoNode;  // what enters the scan
  std::vector<int> steps;
  for (std::size_t i = 0; i + 1 < r.projections.size(); ++i) {
    const Projection& p = r.projections[i];
    const Reads from = reads(r, i);
    const int source = from == Reads::kInput         ? input
                       : from == Reads::kConvolution ? mixed
                                                     : out.at(name_of(r.projections[i - 1]));
    const int made = out.add(out.weighted(name_of(p), {1, p.out, p.in, s}), {source});
    if (i == 0) {
      mixed = made;
      if (convolves(r)) {
        Kernel kernel = convolution(out, r, "CONV", s);
        if (out.decodes())
          kernel.memory_bytes +=
              out.bytes(out.elements("the window", {r.channels, r.taps - 1 > 0 ? r.taps - 1 : 0})) / out.chips();
        mixed = out.add(std::move(kernel), {made});
      }
    } else if (!is_gate(p) && !feeds_next_only(r, i)) {
      steps.push_back(made);
    }
  }
  if (scans(r)) {
    Kernel kernel = scan(out, r, "SCAN", 1, s);
    if (out.decodes())
      kernel.memory_bytes =
          2 * out.bytes(out.elements("the state", {r.heads, r.key_width, r.value_width})) / out.chips();
    steps.insert(steps.begin(), mixed);
    mixed = out.add(std::move(kernel), steps);
  }
  const Projection& last = r.projections.back();
  const Count rows = out.elements("what the last projection reads", {last.in, s});
  const int gated = out.add(out.binary("MIX_GATE", {1, last.in, 1, s}, rows, rows),
                            {mixed, out.at(name_of(r.projections[gate_of(r)]))});
  return out.add(out.weighted(name_of(last), {1, last.out, last.in, s}), {gated});
}

std::vector<int> recurrence_gradients(LayerContext& layer, const Recurrence& r, int gradient, int input) {
  LayerWriter& out = layer.out;
  const Count s = layer.tokens.tokens;
  const auto update = [&](const Projection& p, int from, int activation) {
    layer.updates.push_back({name_of(p), 1, p.in, p.out, s, from, activation});
  };
  const std::size_t gate = gate_of(r);
  const Projection& last = r.projections.back();
  const Count rows = out.elements("what the last projection reads", {last.in, s});
  const int mixed = out.at(scans(r) ? "SCAN" : convolves(r) ? "CONV" : name_of(r.projections.front()));
  const int back = out.add(out.weighted(name_of(last) + "_bwd", {1, last.in, last.out, s}), {gradient});
  update(last, gradient, out.at("MIX_GATE"));
  const KernelSpace space{1, last.in, 1, s};
  int of_mixed = out.add(out.binary("MIX_GATE_bwd1", space, rows, rows), {back, out.at(name_of(r.projections[gate]))});
  const int of_gate = out.add(out.binary("MIX_GATE_bwd2", space, rows, rows), {back, mixed});
  if (scans(r))
    of_mixed = out.add(scan(out, r, "SCAN_bwd", 2, s),
                       {of_mixed, out.at(convolves(r) ? "CONV" : name_of(r.projections.front()))});
  std::vector<int> gradients;
  int of_convolved = kNoNode;  // by a projection that reads the convolution
  int of_next = kNoNode;       // by the projection behind, where it reads this one
  for (std::size_t i = r.projections.size() - 1; i-- > 1;) {
    const Projection& p = r.projections[i];
    std::vector<int> from;
    if (i == gate)
      from.push_back(of_gate);
    else if (!feeds_next_only(r, i))
      from.push_back(of_mixed);
    if (of_next != kNoNode) from.push_back(of_next);
    const int node = out.add(out.weighted(name_of(p) + "_bwd", {1, p.in, p.out, s}), from);
    const Reads reading = reads(r, i);
    of_next = reading == Reads::kBefore ? node : kNoNode;
    if (reading == Reads::kConvolution) of_convolved = node;
    if (reading == Reads::kInput) gradients.push_back(node);
    update(p, from.front(),
           reading == Reads::kInput         ? input
           : reading == Reads::kConvolution ? out.at("CONV")
                                            : out.at(name_of(r.projections[i - 1])));
  }
  const Projection& first = r.projections.front();
  if (convolves(r)) {
    const int of_output = of_mixed;
    of_mixed = out.add(convolution(out, r, "CONV_bwd", s), {of_mixed, of_convolved});
    layer.updates.push_back({"CONV", r.channels, 1, r.taps, s, of_output, out.at(name_of(first)), KernelUnit::kSimd});
  }
  std::vector<int> from = {of_mixed};
  if (gate == 0) from.push_back(of_gate);
  gradients.push_back(out.add(out.weighted(name_of(first) + "_bwd", {1, first.in, first.out, s}), from));
  update(first, of_mixed, input);
  return gradients;
}

}  // namespace orrery::workload
