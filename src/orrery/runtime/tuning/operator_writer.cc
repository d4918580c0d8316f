#include "orrery/runtime/tuning/operator_writer.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::tuning {
namespace {

using base::Count;

std::string sorted(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return letters;
}

Sizes sizes_of(const layer::Shape& shape) {
  Sizes sizes;
  sizes['b'] = shape.batch;
  sizes['j'] = sizes['k'] = shape.length;
  sizes['p'] = shape.head();
  sizes['h'] = shape.heads;
  sizes['i'] = shape.width;
  sizes['u'] = shape.hidden;
  sizes['q'] = 3;
  sizes['v'] = sizes['w'] = 2;
  if (shape.kv_heads() != shape.heads) {
    sizes['g'] = shape.kv_heads();
    sizes['t'] = shape.heads / shape.kv_heads();
  }
  sizes['z'] = base::checked_multiply(base::checked_add(shape.heads, shape.kv_heads()), shape.head());
  sizes['r'] = base::checked_add(sizes['z'], base::checked_multiply(shape.kv_heads(), shape.head()));
  if (shape.cross) {
    sizes['l'] = shape.memory_length;
    sizes['e'] = shape.memory();
  }
  return sizes;
}

}  // namespace

OperatorWriter::OperatorWriter(const LayerOptions& options) : options_(options) {
  out_.sizes = sizes_of(options.shape);
  out_.training = options.training;
}

std::string OperatorWriter::tensor(const std::string& name, const std::string& dims, Role role) {
  const auto found =
      std::find_if(out_.tensors.begin(), out_.tensors.end(), [&](const Variable& one) { return one.name == name; });
  if (found == out_.tensors.end()) out_.tensors.push_back({name, dims, role});
  return name;
}

std::string OperatorWriter::weight(const std::string& name, const std::string& dims) {
  return tensor(name, dims, Role::kWeight);
}

std::string OperatorWriter::gradient(const std::string& weight_name) {
  return tensor("D" + weight_name, out_.tensor(weight_name).dims, Role::kGradient);
}

void OperatorWriter::contraction(const std::string& name, const std::string& einsum, const std::string& a,
                                 const std::string& b, const std::string& c) {
  const EinsumTensors tensors = tensors_of(einsum);
  tensor(c, tensors.c);
  const ContractionGroups groups = groups_of(einsum);
  LayerOperator one{.name = name, .what = Class::kContraction, .einsum = einsum};
  one.space = sorted(groups.batch + groups.sum + groups.first + groups.second);
  one.flop = 2;
  one.reads = {a, b};
  one.writes = {c};
  one.steps = {step(one.space, one.flop, one.reads, one.writes, groups.sum)};
  add(std::move(one));
}

void OperatorWriter::parts(const std::string& name, const Names& reads, const Names& writes) {
  LayerOperator one{.name = name, .what = Class::kFree};
  one.reads = reads;
  one.writes = writes;
  one.steps = {step("", 0, reads, writes)};
  add(std::move(one));
}

LayerOperator& OperatorWriter::plain(const std::string& name, const std::string& space, Count flop, const Names& reads,
                                     const Names& writes, const std::string& reduced) {
  LayerOperator one{.name = name, .space = sorted(space), .flop = flop, .reads = reads, .writes = writes};
  one.steps = {step(space, flop, reads, writes, reduced)};
  return add(std::move(one));
}

LayerOperator& OperatorWriter::add(LayerOperator one) {
  one.backward = backward_;
  out_.operators.push_back(std::move(one));
  return out_.operators.back();
}

Step OperatorWriter::step(const std::string& space, Count flop, const Names& reads, const Names& writes,
                          const std::string& reduced) const {
  return {sorted(space), sorted(reduced), reads, writes, flop};
}

const Variable& LayerOperators::tensor(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const Variable& one) { return one.name == name; });
  ORRERY_CHECK(found != tensors.end(), "no tensor is called " + std::string(name));
  return *found;
}

Count LayerOperators::words(std::string_view tensor_name) const {
  return sizes.words(tensor(tensor_name).dims);
}

Count LayerOperators::words(const std::vector<std::string>& names) const {
  Count sum = 0;
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) == name) sum = base::checked_add(sum, words(*name));
  return sum;
}

}  // namespace orrery::tuning
