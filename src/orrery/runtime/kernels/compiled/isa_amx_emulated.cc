// The kernels for tiles in plain C++, on any processor: what runs on AMX but for the instructions themselves.
#define ORRERY_EMULATED_TILES
#include "orrery/runtime/kernels/compiled/kernel_table.h"

namespace orrery::kernels {

extern const Table kAmxEmulatedTable;
constinit const Table kAmxEmulatedTable = table_for(Level::kAmxEmulated);

}  // namespace orrery::kernels
