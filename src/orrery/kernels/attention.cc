// Parts are heads, forwards also halves, quarters ... of a head's queries when there are few heads for the threads:
// each part packs the keys again, which costs little against a few hundred queries.
#include "orrery/kernels/attention.h"

#include <algorithm>

#include "orrery/base/check.h"

namespace orrery::kernels {
namespace {

constexpr Index kLeastQueries = 256;  // of a part
constexpr Index kLargestHead = 512;
static_assert(kLargestHead <= kDepthUnits, "products of heads are summed in one block of depth");

void check(const Attention& x) {
  ORRERY_CHECK(x.type == Type::kF32 || x.type == Type::kBf16, "attention is of fp32 or bf16");
  ORRERY_CHECK(x.batch >= 0 && x.queries >= 0 && x.keys >= 0, "sizes are at least 0");
  ORRERY_CHECK(x.key_heads >= 1 && x.heads >= 1 && x.heads % x.key_heads == 0, "heads of keys divide those of queries");
  ORRERY_CHECK(x.size >= 1 && x.size <= kLargestHead && x.value_size >= 1 && x.value_size <= kLargestHead,
               "a head has 1 to 512 elements");
  for (Index b = 0; b < x.batch; ++b) {
    ORRERY_CHECK(x.key_lengths == nullptr || (x.key_lengths[b] >= 0 && x.key_lengths[b] <= x.keys),
                 "lengths are within the keys");
    ORRERY_CHECK(x.query_lengths == nullptr || (x.query_lengths[b] >= 0 && x.query_lengths[b] <= x.queries),
                 "lengths are within the queries");
  }
}

AttentionPart part_of(const Context& context, const Attention& x) {
  AttentionPart part;
  part.type = x.type;
  part.arithmetic = x.type == Type::kBf16 ? context.bf16() : Arithmetic::kF32;
  part.heads = x.heads;
  part.key_heads = x.key_heads;
  part.queries = x.queries;
  part.keys = x.keys;
  part.size = x.size;
  part.value_size = x.value_size;
  part.query_offset = x.query_offset;
  part.reach_back = x.reach_back;
  part.reach_ahead = x.reach_ahead;
  part.scale = x.scale;
  part.query = x.query;
  part.key = x.key;
  part.value = x.value;
  part.out = x.out;
  part.log_sum = x.log_sum;
  part.bias = x.bias;
  part.bias_batch = x.bias_batch;
  part.bias_head = x.bias_head;
  part.bias_query = x.bias_query;
  part.drop = x.drop;
  part.out_gradient = x.out_gradient;
  part.query_gradient = x.query_gradient;
  part.key_gradient = x.key_gradient;
  part.value_gradient = x.value_gradient;
  return part;
}

void place(const Attention& x, AttentionPart& part, Index batch, Index head) {
  part.batch = batch;
  part.head = head;
  part.valid_keys = x.key_lengths == nullptr ? x.keys : x.key_lengths[batch];
  part.valid_queries = x.query_lengths == nullptr ? x.queries : x.query_lengths[batch];
}

}  // namespace

void attend(Context& context, const Attention& x) {
  check(x);
  if (x.batch == 0 || x.queries == 0) return;
  const AttentionPart whole = part_of(context, x);
  context.reserve_own(context.table().attention_scratch(whole, false));
  const Index heads = x.batch * x.heads;
  const Index wanted = context.threads() == 1 ? 1 : std::max<Index>(1, 4 * context.threads() / heads);
  const Index cuts = std::max<Index>(1, std::min(wanted, x.queries / kLeastQueries));
  // A part begins where a tile would: cuts do not change what a tile holds.
  const Index queries = ((x.queries + cuts - 1) / cuts + 63) / 64 * 64;
  const Index parts = (x.queries + queries - 1) / queries;
  context.pool().run(heads * parts, [&](Index task, int worker) {
    AttentionPart part = whole;
    place(x, part, task / parts / x.heads, task / parts % x.heads);
    part.first_query = task % parts * queries;
    part.end_query = std::min(part.first_query + queries, x.queries);
    part.scratch = context.own(worker);
    context.table().attention(part);
  });
}

void attend_back(Context& context, const Attention& x) {
  check(x);
  ORRERY_CHECK(x.log_sum != nullptr, "the backward pass reads what the forward pass saved");
  if (x.batch == 0) return;
  const AttentionPart whole = part_of(context, x);
  context.reserve_own(context.table().attention_scratch(whole, true));
  context.pool().run(x.batch * x.key_heads, [&](Index task, int worker) {
    AttentionPart part = whole;
    place(x, part, task / x.key_heads, task % x.key_heads);
    part.scratch = context.own(worker);
    context.table().attention_back(part);
  });
}

}  // namespace orrery::kernels
