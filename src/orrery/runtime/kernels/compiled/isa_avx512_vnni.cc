// The kernels, compiled for one instruction set; the flags are in the list of CMakeLists.txt.
#include "orrery/runtime/kernels/compiled/kernel_table.h"

namespace orrery::kernels {

extern const Table kAvx512VnniTable;
constinit const Table kAvx512VnniTable = table_for(Level::kAvx512Vnni);

}  // namespace orrery::kernels
