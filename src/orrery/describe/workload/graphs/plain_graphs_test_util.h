// Graphs of plain layers, for tests.
#pragma once

#include <algorithm>
#include <cstddef>

#include "orrery/describe/workload/checked_transformer.h"
#include "orrery/describe/workload/graphs/attention_graph.h"
#include "orrery/describe/workload/graphs/decode_graph.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"

namespace orrery::workload {

// Of a stack with as many layers as the graph asks for.
template <typename Make>
KernelGraph of_layers(Stack stack, base::Count count, const Make& make) {
  base::Diagnostics found;
  stack.layers.assign(static_cast<std::size_t>(std::clamp<base::Count>(count, 1, 1000)), stack.layers.front());
  const GraphLayers layers = layers_of(stack, 0, count, found);
  found.throw_if_errors();
  return make(layers);
}

inline KernelGraph language_model_graph(const PlainTransformer& sizes, base::Count sequence, Passes passes,
                                        base::Count layers = 1) {
  const Transformer model = checked_transformer(sizes);
  return of_layers(model.decoder(), layers, [&](const GraphLayers& chosen) {
    return language_model_graph(chosen, GraphTokens{.tokens = sequence}, passes);
  });
}

inline KernelGraph decode_graph(const PlainTransformer& sizes, base::Count context, base::Count chips = 1,
                                base::Count layers = 1, base::Count word = 2) {
  const Transformer model = checked_transformer(sizes);
  return of_layers(model.decoder(), layers, [&](const GraphLayers& chosen) {
    return decode_graph(chosen, GraphTokens{.tokens = context, .word_bytes = word, .chips = chips});
  });
}

inline KernelGraph attention_graph(const PlainTransformer& sizes, base::Count sequence) {
  const Transformer model = checked_transformer(sizes);
  return of_layers(model.decoder(), 1,
                   [&](const GraphLayers& chosen) { return attention_graph(chosen, GraphTokens{.tokens = sequence}); });
}

}  // namespace orrery::workload
