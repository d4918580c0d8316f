#include "orrery/runtime/kernels/function_table.h"

#include <initializer_list>

namespace orrery::kernels {

extern const Table kPortableTable;
extern const Products kEmulatedTileProducts;
#if defined(__x86_64__)
extern const Table kAvx2Table, kAvx512Table;
extern const Products kVnniProducts, kBf16Products, kTileProducts;
#endif

namespace {

// The table of a level that has more products than a lower one, and is the same else.
Table extended(const Table& lower, Level level, std::initializer_list<const Products*> added) {
  Table table = lower;
  table.level = level;
  for (const Products* products : added) {
    for (int i = 0; i < kArithmetics; ++i)
      if (products->of[i].elements != 0) table.product[i] = products->of[i];
    // Bytes at full speed leave no need of four bits.
    if (products->of[static_cast<int>(Arithmetic::kInt8)].elements != 0)
      table.product[static_cast<int>(Arithmetic::kInt4)] = {};
  }
  return table;
}

}  // namespace

const Table* table_of(Level level) {
  static const Table emulated = extended(kPortableTable, Level::kAmxEmulated, {&kEmulatedTileProducts});
#if defined(__x86_64__)
  static const Table vnni = extended(kAvx512Table, Level::kAvx512Vnni, {&kVnniProducts});
  static const Table bf16 = extended(vnni, Level::kAvx512Bf16, {&kBf16Products});
  static const Table amx = extended(bf16, Level::kAmx, {&kTileProducts});
#endif
  switch (level) {
    case Level::kPortable:
      return &kPortableTable;
    case Level::kAmxEmulated:
      return &emulated;
#if defined(__x86_64__)
    case Level::kAvx2:
      return &kAvx2Table;
    case Level::kAvx512:
      return &kAvx512Table;
    case Level::kAvx512Vnni:
      return &vnni;
    case Level::kAvx512Bf16:
      return &bf16;
    case Level::kAmx:
      return &amx;
#else
    default:
      break;
#endif
  }
  return nullptr;
}

}  // namespace orrery::kernels
