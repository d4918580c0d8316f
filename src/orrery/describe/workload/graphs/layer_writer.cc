#include "orrery/describe/workload/graphs/layer_writer.h"

#include <fmt/format.h>

#include <utility>

namespace orrery::workload {

using base::Count;

Count LayerWriter::elements(const char* what, std::initializer_list<Count> factors) {
  if (found_.has_errors()) return 1;
  Count product = word_;
  bool fits = true;
  std::string arithmetic;
  for (const Count factor : factors) {
    if (factor != 1) arithmetic += fmt::format("{} x ", factor);
    fits = fits && !__builtin_mul_overflow(product, factor, &product);
  }
  if (fits) return product / word_;
  found_.error("O1485", fmt::format("the bytes of {} cannot be counted in 64 bits", what))
      .note(arithmetic + fmt::format("{} (bytes) exceeds 9223372036854775807", word_));
  return 1;
}

Kernel LayerWriter::weighted(const std::string& name, KernelSpace s, bool dealt) {
  const Count input = elements(("the input of kernel `" + name + "`").c_str(), {dealt ? s.outer : 1, s.k, s.n});
  const Count weight = elements(("the weight of kernel `" + name + "`").c_str(), {s.outer, s.m, s.k});
  const Count output = elements(("the output of kernel `" + name + "`").c_str(), {s.outer, s.m, s.n});
  Kernel kernel = weight_product(name, s, bytes(input), bytes(weight), bytes(output));
  if (decode_) kernel.memory_bytes = bytes(weight) / chips_;
  return kernel;
}

Kernel LayerWriter::product(const std::string& name, KernelSpace s, Count first, Count second) {
  const Count output = elements(("the output of kernel `" + name + "`").c_str(), {s.outer, s.m, s.n});
  return product_of_two(name, s, bytes(first), bytes(second), bytes(output));
}

Kernel LayerWriter::unary(const std::string& name, KernelSpace s, Count input) {
  const Count output = elements(("the output of kernel `" + name + "`").c_str(), {s.outer, s.m, s.n});
  return elementwise(name, s, bytes(input), bytes(output));
}

Kernel LayerWriter::binary(const std::string& name, KernelSpace s, Count first, Count second) {
  const Count output = elements(("the output of kernel `" + name + "`").c_str(), {s.outer, s.m, s.n});
  return elementwise_of_two(name, s, bytes(first), bytes(second), bytes(output));
}

Kernel LayerWriter::update(const std::string& of, Count outer, Count in, Count out, Count tokens) {
  const std::string name = of + "_bwd_weight_update";
  const Count first = elements(("the first input of kernel `" + name + "`").c_str(), {outer, out, tokens});
  const Count second = elements(("the second input of kernel `" + name + "`").c_str(), {outer, in, tokens});
  Kernel kernel = product(name, {outer, in, tokens, out}, first, second);
  kernel.tiling = KernelDimension::kK;
  kernel.communication = Communication::kPeriodicAllReduce;
  kernel.communication_bytes = kernel.output_bytes;
  return kernel;
}

int LayerWriter::add(Kernel kernel, const std::vector<int>& from) {
  const int node = static_cast<int>(graph_.kernels.size());
  nodes_->emplace(kernel.name, node);
  kernel.name += suffix_;
  kernel.direction = direction_;
  graph_.kernels.push_back(std::move(kernel));
  for (const int source : from) connect(source, node);
  return node;
}

void LayerWriter::connect(int from, int to, Communication communication, double bytes) {
  if (from == kNoNode || to == kNoNode) return;
  graph_.edges.push_back({.from = from, .to = to, .communication = communication, .communication_bytes = bytes});
}

int LayerWriter::at(const std::string& name) const {
  const auto node = nodes_->find(name);
  return node == nodes_->end() ? kNoNode : node->second;
}

}  // namespace orrery::workload
