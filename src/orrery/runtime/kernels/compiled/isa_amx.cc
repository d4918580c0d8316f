// Products by the tiles of AMX.
#include "orrery/runtime/kernels/compiled/kernel_tile_product.h"

namespace orrery::kernels {

extern const Products kTileProducts;
constinit const Products kTileProducts = tile_products();

}  // namespace orrery::kernels
