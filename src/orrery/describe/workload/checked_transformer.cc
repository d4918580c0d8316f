#include "orrery/describe/workload/checked_transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {

using base::Count;

Transformer checked_transformer(const PlainTransformer& sizes, base::Diagnostics& found) {
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
  if (sizes.layers < 0) demand("the number of layers", sizes.layers, found);
  if (sizes.hidden < 1 || sizes.heads < 1 || kv_heads < 1) return {};

  if (sizes.hidden % sizes.heads != 0)
    found.error("O1483", fmt::format("{} heads do not divide the model's width {}", sizes.heads, sizes.hidden))
        .note(fmt::format("{} / {} leaves {}", sizes.hidden, sizes.heads, sizes.hidden % sizes.heads));
  if (sizes.heads % kv_heads != 0)
    found.error("O1483", fmt::format("{} key/value heads do not divide {} query heads", kv_heads, sizes.heads))
        .note(fmt::format("{} / {} leaves {}: each key/value head serves the same number of query heads", sizes.heads,
                          kv_heads, sizes.heads % kv_heads));
  if (found.has_errors()) return {};

  PlainTransformer one = sizes;
  one.layers = std::max<Count>(1, sizes.layers);
  return plain_transformer(one);
}

Transformer checked_transformer(const PlainTransformer& sizes) {
  base::Diagnostics found;
  Transformer model = checked_transformer(sizes, found);
  found.throw_if_errors();
  return model;
}

}  // namespace orrery::workload
