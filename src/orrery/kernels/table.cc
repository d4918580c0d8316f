#include "orrery/kernels/table.h"

namespace orrery::kernels {

extern const Table kPortableTable;
#if defined(__x86_64__)
extern const Table kAvx2Table, kAvx512Table, kAvx512Bf16Table;
#endif

const Table* table_of(Level level) {
  switch (level) {
    case Level::kPortable:
      return &kPortableTable;
#if defined(__x86_64__)
    case Level::kAvx2:
      return &kAvx2Table;
    case Level::kAvx512:
      return &kAvx512Table;
    case Level::kAvx512Bf16:
      return &kAvx512Bf16Table;
#else
    default:
      break;
#endif
  }
  return nullptr;
}

}  // namespace orrery::kernels
