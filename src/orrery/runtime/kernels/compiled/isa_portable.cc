// The kernels, compiled for one instruction set; the flags are in the list of CMakeLists.txt.
#include "orrery/runtime/kernels/compiled/kernel_table.h"

namespace orrery::kernels {

extern const Table kPortableTable;
constinit const Table kPortableTable = table_for(Level::kPortable);

}  // namespace orrery::kernels
