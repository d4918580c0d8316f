// Products by tiles in plain C++, on any processor: what runs on AMX but for the instructions themselves.
#include "orrery/runtime/kernels/compiled/kernel_tile_product.h"

namespace orrery::kernels {

extern const Products kEmulatedTileProducts;
constinit const Products kEmulatedTileProducts = tile_products();

}  // namespace orrery::kernels
