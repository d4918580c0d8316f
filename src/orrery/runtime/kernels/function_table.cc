#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

extern const Table kPortableTable, kAmxEmulatedTable;
#if defined(__x86_64__)
extern const Table kAvx2Table, kAvx512Table, kAvx512VnniTable, kAvx512Bf16Table, kAmxTable;
#endif

const Table* table_of(Level level) {
  switch (level) {
    case Level::kPortable:
      return &kPortableTable;
    case Level::kAmxEmulated:
      return &kAmxEmulatedTable;
#if defined(__x86_64__)
    case Level::kAvx2:
      return &kAvx2Table;
    case Level::kAvx512:
      return &kAvx512Table;
    case Level::kAvx512Vnni:
      return &kAvx512VnniTable;
    case Level::kAvx512Bf16:
      return &kAvx512Bf16Table;
    case Level::kAmx:
      return &kAmxTable;
#else
    default:
      break;
#endif
  }
  return nullptr;
}

}  // namespace orrery::kernels
