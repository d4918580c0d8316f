// Idea: a module that predicts a token beyond the next is a layer, or a few, with a further matrix 2h -> h and up to
// three further norms; the table of tokens is the model's. Of DeepSeek-V3 a module is a mixture's layer, 2 x 7168 x
// 7168 weights more and three norms: 11.5 G parameters, of which 2.4 G are active (README_WEIGHTS of its checkpoint
// counts tables and logits besides). Cost: modules x layers of a module.
#include "orrery/describe/workload/layers_ahead.h"

#include <algorithm>

namespace orrery::workload {

std::vector<Block> module_ahead(const Transformer& model) {
  const Stack& stack = model.decoder();
  const Ahead& ahead = model.ahead;
  std::vector<Block> layers = ahead.layers;
  if (layers.empty()) layers.push_back(stack.kinds[static_cast<std::size_t>(stack.layers.back())]);
  for (Block& layer : layers) layer.ahead = true;
  Block& first = layers.front();
  Block& last = layers.back();
  first.extra.insert(first.extra.begin(), {"layer-ahead", base::checked_multiply(2, stack.width), stack.width});
  first.norms += 2;
  last.norms += ahead.norms - 2;
  last.extra.insert(last.extra.end(), ahead.behind.begin(), ahead.behind.end());
  last.extra_parameters += ahead.behind_parameters;
  return layers;
}

Transformer with_ahead(Transformer model, base::Count modules) {
  Stack& stack = model.stacks.back();
  if (modules < 1 || stack.layers.empty()) return model;
  const std::vector<Block> layers = module_ahead(model);
  const auto first = static_cast<int>(stack.kinds.size());
  stack.kinds.insert(stack.kinds.end(), layers.begin(), layers.end());
  for (base::Count module = 0; module < modules; ++module)
    for (std::size_t i = 0; i < layers.size(); ++i) stack.layers.push_back(first + static_cast<int>(i));
  model.counted_ahead = modules;
  model.predicted_ahead = std::max<base::Count>(0, model.predicted_ahead - modules);
  return model;
}

}  // namespace orrery::workload
