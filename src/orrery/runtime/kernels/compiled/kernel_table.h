// The table of the instruction set that the including file is compiled for.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_attention_back.h"
#include "orrery/runtime/kernels/compiled/kernel_finish.h"
#include "orrery/runtime/kernels/compiled/kernel_product.h"
#include "orrery/runtime/kernels/compiled/kernel_prune.h"
#include "orrery/runtime/kernels/compiled/kernel_pruned_back.h"
#include "orrery/runtime/kernels/compiled/kernel_pruned_blocks.h"
#include "orrery/runtime/kernels/compiled/kernel_rotary.h"
#include "orrery/runtime/kernels/compiled/kernel_rows.h"
#include "orrery/runtime/kernels/compiled/kernel_strided.h"

namespace orrery::kernels {
namespace {

// Whether attention goes pair by pair.
inline bool keeps_pairs(const AttentionPart& x) {
  return x.kept != nullptr && x.kept->block == 1;
}

inline Index attention_scratch(const AttentionPart& x, bool back) {
  PrunedBackScratch of_back;
  PrunedScratch of_elements;
  BlockScratch of_blocks;
  if (back) return keeps_pairs(x) ? cut_pruned_back(x, nullptr, of_back) : back_scratch(x).total;
  if (x.kept == nullptr) return forward_scratch(x.keys, x.size, x.value_size);
  return x.kept->block == 1 ? cut_pruned(x, nullptr, of_elements) : cut_blocks(x, nullptr, of_blocks);
}

// A constant: code of this instruction set must not run before main on machines that lack it.
consteval Table table_for(Level level) {
  Table table;
  table.level = level;
  table.lanes = kLanes;
  fill_products(table.product);
  table.row_sums = row_sums;
  table.magnitudes = magnitudes;
  table.finish = finish;
  table.normalise = normalise;
  table.normalise_back = normalise_back;
  table.softmax = softmax;
  table.softmax_back = softmax_back;
  table.rotate = rotate;
  table.attention = [](const AttentionPart& x) {
    if (x.kept == nullptr) return attention(x);
    x.kept->block == 1 ? pruned_attention(x) : pruned_blocks(x);
  };
  table.attention_back = [](const AttentionPart& x) { keeps_pairs(x) ? pruned_attention_back(x) : attention_back(x); };
  table.attention_scratch = attention_scratch;
  table.strided = strided;
  table.exponential = exponentials;
  table.activation = activations;
  table.row_sizes = row_sizes;
  table.row_codes = row_codes;
  table.score_row = score_row;
  table.keep_row = keep_row;
  table.keep_row_quickly = keep_row_quickly;
  table.kept = kept;
  return table;
}

}  // namespace
}  // namespace orrery::kernels
