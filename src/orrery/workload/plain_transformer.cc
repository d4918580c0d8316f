#include "orrery/workload/plain_transformer.h"

#include <fmt/format.h>

#include "orrery/workload/kernel_builder.h"

namespace orrery::workload {

using base::Count;

Transformer plain_transformer(const PlainSizes& sizes, base::Diagnostics& found) {
  Count kv_heads = sizes.kv_heads == 0 ? sizes.heads : sizes.kv_heads, ffn = sizes.ffn;
  if (ffn == 0 && __builtin_mul_overflow(Count{4}, sizes.hidden, &ffn)) {
    CheckedSizes products(found);
    products("the feed-forward width", {{"default", 4}, {"hidden", sizes.hidden}});
    return {};
  }
  demand("the width of the model (`hidden`)", sizes.hidden, found);
  demand("the number of heads", sizes.heads, found);
  if (sizes.head_width < 0) demand("the width of a head", sizes.head_width, found);
  if (sizes.hidden > 0) demand("the feed-forward width", ffn, found);
  if (sizes.heads > 0) demand("the number of key/value heads", kv_heads, found);
  if (sizes.layers < 1) demand("the number of layers", sizes.layers, found);
  if (sizes.hidden < 1 || sizes.heads < 1 || kv_heads < 1) return {};

  if (sizes.hidden % sizes.heads != 0)
    found.error("O1483", fmt::format("{} heads do not divide the model's width {}", sizes.heads, sizes.hidden))
        .note(fmt::format("{} / {} leaves {}", sizes.hidden, sizes.heads, sizes.hidden % sizes.heads));
  if (sizes.heads % kv_heads != 0)
    found.error("O1483", fmt::format("{} key/value heads do not divide {} query heads", kv_heads, sizes.heads))
        .note(fmt::format("{} / {} leaves {}: each key/value head serves the same number of query heads", sizes.heads,
                          kv_heads, sizes.heads % kv_heads));
  if (found.has_errors()) return {};

  Attention attention;
  attention.heads = sizes.heads;
  attention.kv_heads = kv_heads;
  attention.width = sizes.head_width == 0 ? sizes.hidden / sizes.heads : sizes.head_width;
  attention.value_width = attention.width;
  Block block;
  block.mixer = attention;
  block.feed_forward = FeedForward{ffn, sizes.gated, false};
  block.norm = {NormKind::kLayer, true, true};
  Stack stack;
  stack.name = "decoder";
  stack.width = sizes.hidden;
  stack.kinds = {block};
  stack.layers.assign(static_cast<std::size_t>(sizes.layers), 0);
  Transformer model;
  model.name = sizes.name;
  model.stacks = {stack};
  model.vocab = model.head.outputs = sizes.vocab;
  model.embedding_width = sizes.hidden;
  return model;
}

Transformer plain_transformer(const PlainSizes& sizes) {
  base::Diagnostics found;
  Transformer model = plain_transformer(sizes, found);
  found.throw_if_errors();
  return model;
}

}  // namespace orrery::workload
