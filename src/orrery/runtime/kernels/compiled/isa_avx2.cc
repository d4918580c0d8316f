// The kernels, compiled for one instruction set; the flags are in the list of CMakeLists.txt.
#include "orrery/runtime/kernels/compiled/kernel_table.h"

namespace orrery::kernels {

extern const Table kAvx2Table;
constinit const Table kAvx2Table = table_for(Level::kAvx2);

}  // namespace orrery::kernels
