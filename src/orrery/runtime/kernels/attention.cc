// Parts are heads, forwards also halves, quarters ... of a head's queries when there are few heads for the threads:
// each part packs the keys again, which costs little against a few hundred queries.
//
// Backwards a part is a head of keys with all queries that look at it. Where there are few of these (a sequence alone,
// grouped queries), heads of queries and then ranges of queries become parts of their own, which leave their sums for
// keys and values in memory to be added in order. How they are split depends on the sizes alone, never on the threads,
// so the order of additions does not.
#include "orrery/runtime/kernels/attention.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/count.h"

namespace orrery::kernels {
namespace {

constexpr Index kLeastQueries = 256;  // of a part
constexpr Index kEnoughParts = 8, kBackQueries = 256, kLargestHead = 512;
static_assert(kLargestHead <= kDepthUnits, "products of heads are summed in one block of depth");

void check_kept(const Attention& x) {
  const KeptPairs& kept = *x.kept;
  if (kept.bits != nullptr) {
    ORRERY_CHECK(kept.block == 1 || kept.block == 16 || kept.block == 32 || kept.block == 64,
                 "bits stand for single pairs, or for blocks of 16, 32 or 64");
    return;
  }
  ORRERY_CHECK(kept.starts != nullptr, "kept pairs are bits or lists");
  for (Index row = 0; row < x.batch * x.heads * x.queries; ++row) {
    ORRERY_CHECK(kept.starts[row] >= 0 && kept.starts[row] <= kept.starts[row + 1], "lists lie behind one another");
    for (Index i = kept.starts[row]; i < kept.starts[row + 1]; ++i)
      ORRERY_CHECK(kept.columns[i] < x.keys && kept.columns[i] > (i == kept.starts[row] ? -1 : kept.columns[i - 1]),
                   "the keys of a list are there, and rise");
  }
}

void check(const Attention& x) {
  ORRERY_CHECK(x.type == Type::kF32 || x.type == Type::kBf16, "attention is of fp32 or bf16");
  ORRERY_CHECK(x.batch >= 0 && x.queries >= 0 && x.keys >= 0, "sizes are at least 0");
  ORRERY_CHECK(x.key_heads >= 1 && x.heads >= 1 && x.heads % x.key_heads == 0, "heads of keys divide those of queries");
  ORRERY_CHECK(x.size >= 1 && x.size <= kLargestHead && x.value_size >= 1 && x.value_size <= kLargestHead,
               "a head has 1 to 512 elements");
  ORRERY_CHECK((x.query_starts == nullptr || x.query_lengths != nullptr) &&
                   (x.key_starts == nullptr || x.key_lengths != nullptr),
               "sequences without padding have lengths");
  for (Index b = 0; b < x.batch; ++b) {
    ORRERY_CHECK(x.key_lengths == nullptr || (x.key_lengths[b] >= 0 && x.key_lengths[b] <= x.keys),
                 "lengths are within the keys");
    ORRERY_CHECK(x.query_lengths == nullptr || (x.query_lengths[b] >= 0 && x.query_lengths[b] <= x.queries),
                 "lengths are within the queries");
  }
  if (x.kept != nullptr) check_kept(x);
}

AttentionPart part_of(const Context& context, const Attention& x) {
  AttentionPart part;
  part.type = x.type;
  part.arithmetic = x.type == Type::kBf16 ? context.bf16() : Arithmetic::kF32;
  part.products = &context.table().product[static_cast<int>(part.arithmetic)];
  part.heads = x.heads;
  part.key_heads = x.key_heads;
  part.queries = x.queries;
  part.keys = x.keys;
  part.size = x.size;
  part.value_size = x.value_size;
  part.query_offset = x.query_offset;
  part.reach_back = x.reach_back;
  part.reach_ahead = x.reach_ahead;
  part.scale = static_cast<float>(x.scale);
  part.query = x.query;
  part.key = x.key;
  part.value = x.value;
  part.out = x.out;
  part.log_sum = x.log_sum;
  part.bias = x.bias;
  part.bias_batch = x.bias_batch;
  part.bias_head = x.bias_head;
  part.bias_query = x.bias_query;
  part.kept = x.kept;
  part.drop = x.drop;
  part.out_gradient = x.out_gradient;
  part.query_gradient = x.query_gradient;
  part.key_gradient = x.key_gradient;
  part.value_gradient = x.value_gradient;
  return part;
}

// What the part is to be of, within its batch: queries [first, end).
void place(const Attention& x, AttentionPart& part, Index batch, Index first_query, Index end_query) {
  part.batch = batch;
  part.valid_keys = x.key_lengths == nullptr ? x.keys : x.key_lengths[batch];
  part.valid_queries = x.query_lengths == nullptr ? x.queries : x.query_lengths[batch];
  part.end_key = x.keys;
  const auto begin_at = [&](Vectors& v, Index start) {
    if (v.data == nullptr) return;
    v.data = static_cast<char*>(v.data) + (start * v.position - batch * v.batch) * bytes_of(x.type);
  };
  if (x.query_starts != nullptr) {
    end_query = std::min(end_query, part.valid_queries);  // behind them stands another sequence
    for (Vectors* v : {&part.query, &part.out, &part.out_gradient, &part.query_gradient})
      begin_at(*v, x.query_starts[batch]);
  }
  if (x.key_starts != nullptr) {
    part.end_key = part.valid_keys;
    for (Vectors* v : {&part.key, &part.value, &part.key_gradient, &part.value_gradient})
      begin_at(*v, x.key_starts[batch]);
  }
  part.first_query = std::min(first_query, end_query);
  part.end_query = end_query;
}

// How a head of keys is shared by parts: so many heads of queries and so many queries in each.
struct Split {
  Index heads, queries, head_parts, query_parts;

  explicit Split(const Attention& x) {
    const Index group = x.heads / x.key_heads, tasks = std::max<Index>(1, x.batch * x.key_heads);
    heads = base::ceil_divide(group, std::min(group, base::ceil_divide(kEnoughParts, tasks)));
    head_parts = base::ceil_divide(group, heads);
    const Index wanted = base::ceil_divide(kEnoughParts, tasks * head_parts);
    const Index cuts = std::max<Index>(1, std::min(wanted, x.queries / (2 * kBackQueries)));
    queries = std::max<Index>(1, base::ceil_divide(base::ceil_divide(x.queries, cuts), kBackQueries)) * kBackQueries;
    query_parts = std::max<Index>(1, base::ceil_divide(x.queries, queries));
  }
  Index parts() const { return head_parts * query_parts; }
};

void store_sum(const float* const* parts, Index count, Index at, Index size, Type type, void* to) {
  for (Index i = 0; i < size; ++i) {
    float sum = parts[0][at + i];
    for (Index part = 1; part < count; ++part) sum += parts[part][at + i];
    if (type == Type::kBf16) {
      static_cast<Bf16*>(to)[i] = to_bf16(sum);
    } else {
      static_cast<float*>(to)[i] = sum;
    }
  }
}

// The gradients of one head of keys from what its parts left, in the order of the parts.
void add_parts(const AttentionPart& x, const float* first, Index stride, Index parts) {
  const float* from[kEnoughParts * 2];
  for (Index part = 0; part < parts; ++part) from[part] = first + part * stride;
  const Index head = x.head / (x.heads / x.key_heads);
  const auto at = [&](const Vectors& v, Index key) {
    return static_cast<char*>(v.data) + (x.batch * v.batch + head * v.head + key * v.position) * bytes_of(x.type);
  };
  for (Index key = 0; key < x.end_key; ++key) {
    const Index begin = key * (x.size + x.value_size);
    store_sum(from, parts, begin, x.size, x.type, at(x.key_gradient, key));
    store_sum(from, parts, begin + x.size, x.value_size, x.type, at(x.value_gradient, key));
  }
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
  const Index queries = (base::ceil_divide(x.queries, cuts) + 63) / 64 * 64;
  const Index parts = base::ceil_divide(x.queries, queries);
  context.pool().run(heads * parts, [&](Index task, int worker) {
    AttentionPart part = whole;
    const Index first = task % parts * queries;
    part.head = task / parts % x.heads;
    place(x, part, task / parts / x.heads, first, std::min(first + queries, x.queries));
    part.scratch = context.own(worker);
    context.table().attention(part);
  });
}

void attend_back(Context& context, const Attention& x) {
  check(x);
  ORRERY_CHECK(x.log_sum != nullptr, "the backward pass reads what the forward pass saved");
  if (x.batch == 0) return;
  AttentionPart whole = part_of(context, x);
  const Split split(x);
  const Index parts = split.parts(), group = x.heads / x.key_heads, tasks = x.batch * x.key_heads;
  whole.end_query = std::min(split.queries, x.queries);
  context.reserve_own(context.table().attention_scratch(whole, true));
  const Index room = parts == 1 ? 0 : x.keys * (x.size + x.value_size);
  auto* sums = reinterpret_cast<float*>(context.shared(tasks * parts * room + 1));
  const auto begin = [&](AttentionPart& part, Index task, Index query) {
    part.head = task % x.key_heads * group;
    part.end_head = part.head + group;
    place(x, part, task / x.key_heads, query, std::min(query + split.queries, x.queries));
  };
  context.pool().run(tasks * parts, [&](Index task, int worker) {
    AttentionPart part = whole;
    begin(part, task / parts, task % split.query_parts * split.queries);
    if (parts > 1) {
      part.partial = sums + task * room;
      part.head += task % parts / split.query_parts * split.heads;
      part.end_head = std::min(part.end_head, part.head + split.heads);
    }
    part.scratch = context.own(worker);
    context.table().attention_back(part);
  });
  if (parts == 1) return;
  context.pool().run(tasks, [&](Index task, int) {
    AttentionPart part = whole;
    begin(part, task, 0);
    add_parts(part, sums + task * parts * room, room, parts);
  });
}

}  // namespace orrery::kernels
