// The kernels, compiled for one instruction set; the flags are in the list of CMakeLists.txt.
#include "orrery/runtime/kernels/compiled/kernel_table.h"

namespace orrery::kernels {

extern const Table kAvx512Table;
constinit const Table kAvx512Table = table_for(Level::kAvx512);

}  // namespace orrery::kernels
