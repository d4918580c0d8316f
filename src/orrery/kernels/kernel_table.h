// The table of the instruction set that the including file is compiled for.
#pragma once

#include "orrery/kernels/kernel_attention_back.h"
#include "orrery/kernels/kernel_finish.h"
#include "orrery/kernels/kernel_product.h"
#include "orrery/kernels/kernel_prune.h"
#include "orrery/kernels/kernel_rotary.h"
#include "orrery/kernels/kernel_rows.h"
#include "orrery/kernels/kernel_spin.h"
#include "orrery/kernels/kernel_strided.h"

namespace orrery::kernels {
namespace {

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
  table.attention = attention;
  table.attention_back = attention_back;
  table.attention_scratch = [](const AttentionPart& x, bool back) {
    return back ? back_scratch(x).total : forward_scratch(x.keys, x.size, x.value_size);
  };
  table.strided = strided;
  table.exponential = exponentials;
  table.activation = activations;
  table.row_sizes = row_sizes;
  table.row_codes = row_codes;
  table.score_row = score_row;
  table.keep_row = keep_row;
  table.kept = kept;
  table.spin = spin;
  return table;
}

}  // namespace
}  // namespace orrery::kernels
