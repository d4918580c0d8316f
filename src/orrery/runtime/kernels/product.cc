// Around the inner loop (kernel_product.h): B is packed whole, by all threads; then blocks of rows are dealt to
// threads. A block packs its rows of A for kDepthUnits units of depth at a time, multiplies them with groups of columns
// of B and finishes each group while it is in the cache.
//
// A row block of A (some 220 rows, 900 kB) and a panel of B pass through the second-level cache together: taller blocks
// read B less often. Sums of one element are always added in the same order: by depth, kDepthUnits units at a time. How
// rows and columns are cut into blocks depends on the threads, the order does not.
#include "orrery/runtime/kernels/product.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/element_pointer.h"

namespace orrery::kernels {
namespace {

constexpr Index kGroup = 128;  // columns that are finished together; whole groups of dropout's columns
constexpr Index kTilesInBlock = 16;
constexpr Index kLine = 16;  // units in a cache line
constexpr Index kPlanesOfFloat = 3;

Arithmetic arithmetic_of(const Context& context, Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return context.choice().fp32;
    case Precision::kBf16:
      return context.choice().bf16;
    case Precision::kInt8:
      return Arithmetic::kInt8;
    case Precision::kUint8:
      return Arithmetic::kUint8;
  }
  return Arithmetic::kF32;
}

bool is_whole(Precision precision) {
  return precision == Precision::kInt8 || precision == Precision::kUint8;
}

using base::ceil_divide;

Index rounded_up(Index a, Index b) {
  return ceil_divide(a, b) * b;
}

// The depth cut into blocks, and where packed panels of B lie: block after block, panel after panel.
struct Depth {
  const ProductKernels& kernels;
  Index depth, columns;

  Index block_units() const { return kDepthUnits / kernels.units * kernels.units; }
  Index block() const { return Index{kDepthUnits} / kernels.units * kernels.elements; }
  Index blocks() const { return std::max<Index>(1, ceil_divide(depth, block())); }
  Index begin(Index i) const { return i * block(); }
  Index length(Index i) const { return std::min(block(), depth - begin(i)); }
  Index units(Index i) const { return ceil_divide(length(i), kernels.elements) * kernels.units; }
  Index panels() const { return ceil_divide(columns, kernels.tile_columns); }
  Index panel(Index i) const { return (units(i) + kernels.header_units) * kernels.tile_columns; }
  Index offset(Index i) const { return i * panels() * (block_units() + kernels.header_units) * kernels.tile_columns; }
  Index total() const { return offset(blocks() - 1) + panels() * panel(blocks() - 1); }
};

void pack_all(Context& context, const Depth& depth, const Operand& b, Index batch, std::uint32_t* out) {
  constexpr Index kPanels = 8;  // in a task
  const Index parts = ceil_divide(depth.panels(), kPanels);
  context.pool().run(batch * depth.blocks() * parts, [&](Index task, int) {
    const Index part = task % parts, block = task / parts % depth.blocks(), item = task / parts / depth.blocks();
    const Index column = part * kPanels * depth.kernels.tile_columns;
    const Index at = item * b.batch_stride + depth.begin(block) * b.row_stride + column * b.column_stride;
    const Panels panels = {moved(b.data, b.type, at),
                           b.type,
                           b.column_stride,
                           b.row_stride,
                           std::min(kPanels * depth.kernels.tile_columns, depth.columns - column),
                           depth.length(block)};
    depth.kernels.pack_b(panels,
                         out + item * depth.total() + depth.offset(block) + part * kPanels * depth.panel(block));
  });
}

// The numbers of a matrix that reaches from its first to its last element, or -1 when no address does.
double reach(Index count, Index stride) {
  return count <= 0 ? 0 : static_cast<double>(count - 1) * std::fabs(static_cast<double>(stride));
}

constexpr double kReach = 0x1p60;  // bytes

}  // namespace

std::string fault_of(const Product& x) {
  if (x.rows < 0 || x.columns < 0 || x.depth < 0 || x.batch < 0) return "sizes are at least 0";
  const bool whole = is_whole(x.precision);
  const auto allowed = [&](Type type, Type byte) {
    return whole ? type == byte : type == Type::kF32 || type == Type::kBf16;
  };
  if (!allowed(x.a.type, x.precision == Precision::kUint8 ? Type::kUint8 : Type::kInt8) ||
      (x.packed_b == nullptr && !allowed(x.b.type, Type::kInt8))) {
    return "operands have the product's precision";
  }
  if (x.c.data == nullptr && x.normalise.out.data == nullptr) return "a product has a result";
  const bool plain = x.bias == nullptr && x.activation == Activation::kNone && x.gate.data == nullptr &&
                     x.drop.threshold == 0 && x.residual.data == nullptr && x.normalise.out.data == nullptr &&
                     x.before.data == nullptr && x.alpha == 1;
  if (x.c.type == Type::kInt32 && !(plain && whole)) return "int32 results are bare sums of whole numbers";
  if (x.c.type == Type::kInt8 || x.c.type == Type::kUint8) return "results are fp32, bf16 or int32";
  if (x.add && (x.residual.data != nullptr || x.normalise.out.data != nullptr)) {
    return "c is added to, or a residual, not both";
  }
  if (x.before.data != nullptr && x.before.type != x.c.type) return "`before` has the type of c";
  if ((x.activation >= Activation::kReluSlope) != (x.slope_at.data != nullptr)) return "a slope is taken at something";
  if (x.row_sums != nullptr && (x.batch != 1 || whole)) return "row sums are of one matrix of floats";
  // Twice what lies in memory, as packing rounds up; doubles, since the products may leave 64 bits.
  const auto beyond = [&](double elements) { return elements * 8 > kReach; };
  const double rows = static_cast<double>(x.rows) + 64, columns = static_cast<double>(x.columns) + 64,
               depth = static_cast<double>(x.depth) + 64, batch = static_cast<double>(x.batch) + 1;
  bool far = beyond(batch * rows * depth) || beyond(batch * depth * columns) || beyond(batch * rows * columns);
  const auto ask = [&](const void* data, Index n, Index m, Index row_stride, Index stride, Index batch_stride) {
    far |= data != nullptr && beyond(reach(x.batch, batch_stride) + reach(n, row_stride) + reach(m, stride));
  };
  ask(x.a.data, x.rows, x.depth, x.a.row_stride, x.a.column_stride, x.a.batch_stride);
  ask(x.b.data, x.depth, x.columns, x.b.row_stride, x.b.column_stride, x.b.batch_stride);
  for (const Beside* m : {&x.c, &x.before, &x.slope_at, &x.gate, &x.residual, &x.normalise.out}) {
    ask(m->data, x.rows, x.columns, m->row_stride, 1, m->batch_stride);
  }
  return far ? "its matrices are larger than addresses reach" : "";
}

// One product under way.
struct ProductRun {
  const Context& context;
  const Product& x;
  const ProductKernels& kernels;
  Depth depth;
  const std::uint32_t* packed = nullptr;
  Index matrices = 0;     // of B, to be packed
  Index batch_units = 0;  // of packed B
  Index row_block = 0, row_blocks = 0;
  Index column_block = 0, column_blocks = 0;
  Index sums_stride = 0, a_units = 0, own_units = 0;
  bool at_once = false;
  bool streamed = false;

  ProductRun(const Context& on, const Product& product, Arithmetic arithmetic)
      : context(on),
        x(product),
        kernels(on.table().product[static_cast<int>(arithmetic)]),
        depth{kernels, x.depth, x.columns} {
    if (x.packed_b != nullptr) {
      const PackedOperand& b = *x.packed_b;
      ORRERY_CHECK(
          b.table_ == &context.table() && b.arithmetic_ == arithmetic && b.depth_ == x.depth && b.columns_ == x.columns,
          "a packed operand fits the product");
      packed = static_cast<const std::uint32_t*>(b.units_.data());
    } else {
      matrices = x.b.batch_stride == 0 ? 1 : x.batch;
      batch_units = matrices == 1 ? 0 : depth.total();
    }
    cut();
  }

  double scratch() const {
    return 4.0 * (static_cast<double>(own_units) * context.threads() +
                  static_cast<double>(matrices) * static_cast<double>(depth.total()));
  }

  // A block of A takes half of the second-level cache; panels of B and sums pass through the other half.
  Index block_rows() const {
    const Index tiles = context.cache() / 2 / (depth.units(0) * 4 + 1) / kernels.tile_rows;
    return std::clamp<Index>(tiles, 2, kTilesInBlock) * kernels.tile_rows;
  }

  // Blocks of rows; of columns, too, when the rows alone do not keep all threads busy.
  void cut() {
    row_blocks = ceil_divide(x.rows, block_rows());
    const bool whole_rows = x.normalise.out.data != nullptr;  // cannot be cut into columns
    if (whole_rows && context.threads() > 1) {
      row_blocks = std::max(row_blocks, std::min<Index>(2 * context.threads(), ceil_divide(x.rows, kernels.tile_rows)));
    }
    row_block = ceil_divide(x.rows, row_blocks);
    if (kernels.row_step > 1) row_block = std::min(rounded_up(row_block, kernels.tile_rows), x.rows);
    row_blocks = ceil_divide(x.rows, row_block);
    const Index groups = ceil_divide(x.columns, kGroup);
    const Index wanted = ceil_divide(Index{4} * context.threads(), row_blocks * x.batch);
    column_blocks = whole_rows || context.threads() == 1 ? 1 : std::min(groups, wanted);
    column_block = ceil_divide(groups, column_blocks) * kGroup;
    column_blocks = ceil_divide(x.columns, column_block);
    // Sums of a group are finished at once when there is one block of depth; else they wait for the last.
    const Index group = ceil_divide(std::min(kGroup, x.columns), kernels.tile_columns) * kernels.tile_columns;
    at_once = depth.blocks() == 1 && !whole_rows;
    // Rows a power of two apart would fall into one set of a cache.
    sums_stride = (at_once ? group : std::min(column_block, depth.panels() * kernels.tile_columns)) + kLine;
    const Index room = rounded_up(row_block, kernels.row_step);
    a_units = room * kRowUnits;
    // To read a line only to overwrite it costs as much as to write it.
    streamed = !x.add && x.batch * x.rows * x.columns * bytes_of(x.c.type) >= kStreamedBytes;
    own_units = a_units + room * sums_stride;
  }

  void run(Context& on) {
    if (packed == nullptr) {
      std::uint32_t* units = on.shared(matrices * depth.total());
      pack_all(on, depth, x.b, matrices, units);
      packed = units;
    }
    on.reserve_own(own_units);
    on.pool().run(x.batch * row_blocks * column_blocks, [this](Index task, int worker) {
      const Index columns = task % column_blocks, rows = task / column_blocks % row_blocks;
      compute(task / column_blocks / row_blocks, rows * row_block, columns * column_block, context.own(worker));
    });
  }

  void compute(Index item, Index row, Index column, std::uint32_t* own) const {
    const Index rows = std::min(row_block, x.rows - row), end = std::min(column + column_block, x.columns);
    if (rows <= 0) return;
    std::uint32_t* sums = own + a_units;
    const std::uint32_t* b = packed + item * batch_units;
    for (Index block = 0; block < depth.blocks(); ++block) {
      const Index at = item * x.a.batch_stride + row * x.a.row_stride + depth.begin(block) * x.a.column_stride;
      const Panels a = {
          moved(x.a.data, x.a.type, at), x.a.type, x.a.row_stride, x.a.column_stride, rows, depth.length(block)};
      kernels.pack_a(a, own, kRowUnits);
      if (x.row_sums != nullptr && column == 0) {
        if (block == 0) std::fill_n(x.row_sums + row, rows, 0.0F);
        context.table().row_sums(a, x.row_sums + row);
      }
      for (Index group = column; group < end; group += kGroup) {
        std::uint32_t* to = at_once ? sums : sums + (group - column);
        const Index columns = std::min(kGroup, end - group);
        const std::uint32_t* panels = b + depth.offset(block) + group / kernels.tile_columns * depth.panel(block);
        kernels.block({own, panels, rows, columns, depth.units(block), to, sums_stride, block > 0});
        if (block + 1 == depth.blocks()) finish(item, row, rows, group, columns, to);
      }
    }
    if (x.normalise.out.data != nullptr) normalise(item, row, rows, sums);
  }

  void finish(Index item, Index row, Index rows, Index column, Index columns, std::uint32_t* sums) const {
    if (x.c.type == Type::kInt32) return copy_sums(item, row, rows, column, columns, sums);
    const auto at = [&](const Beside& m) {
      return moved(m.data, m.type, item * m.batch_stride + row * m.row_stride + column);
    };
    Finish f;
    f.in = sums;
    f.in_type = is_whole(x.precision) ? Type::kInt32 : Type::kF32;
    f.in_stride = sums_stride;
    f.rows = rows;
    f.columns = columns;
    f.first_row = item * x.rows + row;
    f.first_column = column;
    f.alpha = x.alpha;
    f.bias = x.bias == nullptr ? nullptr : x.bias + column;
    f.activation = x.activation;
    f.before = at(x.before);
    f.before_stride = x.before.row_stride;
    f.slope_at = at(x.slope_at);
    f.slope_stride = x.slope_at.row_stride;
    f.slope_type = x.slope_at.type;
    f.gate = at(x.gate);
    f.gate_stride = x.gate.row_stride;
    f.gate_type = x.gate.type;
    f.drop = x.drop;
    const Beside& residual = x.add ? x.c : x.residual;
    f.residual = at(residual);
    f.residual_stride = residual.row_stride;
    f.residual_type = residual.type;
    const bool in_place = x.normalise.out.data != nullptr;  // rows are normalised before they are rounded
    f.out = in_place ? sums : at(x.c);
    f.out_type = in_place ? Type::kF32 : x.c.type;
    f.out_stride = in_place ? sums_stride : x.c.row_stride;
    f.streamed = streamed && !in_place;
    if (!in_place) return context.table().finish(f);
    ORRERY_CHECK(f.before == nullptr || x.before.type == Type::kF32, "before a normalisation, `before` is fp32");
    context.table().finish(f);
    if (x.c.data == nullptr) return;
    Finish copy;
    copy.in = sums;
    copy.in_stride = sums_stride;
    copy.rows = rows;
    copy.columns = columns;
    copy.out = at(x.c);
    copy.out_type = x.c.type;
    copy.out_stride = x.c.row_stride;
    copy.streamed = streamed;
    context.table().finish(copy);
  }

  void copy_sums(Index item, Index row, Index rows, Index column, Index columns, const std::uint32_t* sums) const {
    for (Index i = 0; i < rows; ++i) {
      auto* to = static_cast<std::uint32_t*>(x.c.data) + item * x.c.batch_stride + (row + i) * x.c.row_stride + column;
      const std::uint32_t* from = sums + i * sums_stride;
      for (Index j = 0; j < columns; ++j) to[j] = x.add ? to[j] + from[j] : from[j];
    }
  }

  void normalise(Index item, Index row, Index rows, const std::uint32_t* sums) const {
    const NormaliseRows& n = x.normalise;
    const Index at = item * n.out.batch_stride + row * n.out.row_stride;
    Normalise f;
    f.in = sums;
    f.in_stride = sums_stride;
    f.rows = rows;
    f.columns = x.columns;
    f.centred = n.centred;
    f.epsilon = n.epsilon;
    f.scale = n.scale;
    f.shift = n.shift;
    f.out = moved(n.out.data, n.out.type, at);
    f.out_type = n.out.type;
    f.out_stride = n.out.row_stride;
    f.standard = moved(n.standard, n.out.type, at);
    f.standard_stride = n.out.row_stride;
    f.inverse = n.inverse == nullptr ? nullptr : n.inverse + item * x.rows + row;
    context.table().normalise(f);
  }
};

namespace {

Magnitudes magnitudes_of(Context& context, const Operand& m, Index rows, Index columns, Index batch) {
  constexpr Index kLines = 64;  // in a task
  const bool along = m.column_stride == 1;
  const Index lines = along ? rows : columns, parts = ceil_divide(lines, kLines);
  const Index line_stride = along ? m.row_stride : m.column_stride;
  std::atomic<std::uint32_t> largest = 0, least = UINT32_MAX;
  context.pool().run((m.batch_stride == 0 ? 1 : batch) * parts, [&](Index task, int) {
    const Index line = task % parts * kLines, count = std::min(kLines, lines - line);
    const Panels part = {moved(m.data, m.type, task / parts * m.batch_stride + line * line_stride),
                         m.type,
                         m.row_stride,
                         m.column_stride,
                         along ? count : rows,
                         along ? columns : count};
    Magnitudes found;
    context.table().magnitudes(part, found);
    for (std::uint32_t old = largest; old < found.largest && !largest.compare_exchange_weak(old, found.largest);) {
    }
    for (std::uint32_t old = least; old > found.least_below && !least.compare_exchange_weak(old, found.least_below);) {
    }
  });
  return {largest, least};
}

double number(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return static_cast<double>(x);
}

// Whether all planes of all numbers are finite and normal (kernel_tile_product.h).
bool has_planes(const Magnitudes& m) {
  constexpr std::uint32_t kMost = (127U + 126U) << 23, kLeast = (127U - 102U) << 23;
  return m.largest < kMost && m.least_below >= kLeast - 1;
}

// Whether sums of products stay within the range of floats, too.
bool have_planes(const Magnitudes& a, const Magnitudes& b, Index depth) {
  if (!has_planes(a) || !has_planes(b)) return false;
  const double largest = number(a.largest) * number(b.largest);
  return largest * static_cast<double>(depth) < 0x1p126 && (largest == 0 || largest >= 0x1p-80);
}

// The numbers that were packed as planes: row-major, depth x columns.
void restore(const Depth& depth, const std::uint32_t* packed, float* out) {
  for (Index block = 0; block < depth.blocks(); ++block) {
    for (Index d = 0; d < depth.length(block); ++d) {
      const Index step = d / depth.kernels.elements, in_step = d % depth.kernels.elements;
      const Index plane_units = depth.kernels.units / kPlanesOfFloat;
      const Index unit = step * depth.kernels.units + in_step / 2;
      for (Index column = 0; column < depth.columns; ++column) {
        const std::uint32_t* at = packed + depth.offset(block) +
                                  column / depth.kernels.tile_columns * depth.panel(block) +
                                  column % depth.kernels.tile_columns;
        float sum = 0;
        for (Index plane = kPlanesOfFloat; plane-- > 0;) {
          const std::uint32_t two = at[(unit + plane * plane_units) * depth.kernels.tile_columns];
          sum += from_bf16(static_cast<Bf16>(in_step % 2 == 0 ? two : two >> 16));
        }
        out[(depth.begin(block) + d) * depth.columns + column] = sum;
      }
    }
  }
}

}  // namespace

double scratch_bytes(const Context& context, const Product& product) {
  if (product.rows == 0 || product.columns == 0 || product.batch == 0) return 0;
  Arithmetic arithmetic = arithmetic_of(context, product.precision);
  Product unpacked = product;
  if (product.packed_b != nullptr) unpacked.b.batch_stride = 0;
  unpacked.packed_b = nullptr;
  return ProductRun(context, unpacked, arithmetic).scratch();
}

void multiply(Context& context, const Product& product) {
  const std::string fault = fault_of(product);
  ORRERY_CHECK(fault.empty(), fault.c_str());
  const Product& x = product;
  if (x.rows == 0 || x.columns == 0 || x.batch == 0) return;
  Arithmetic arithmetic = arithmetic_of(context, x.precision);
  if (arithmetic != Arithmetic::kF32Tiles) return ProductRun(context, x, arithmetic).run(context);

  const PackedOperand* b = x.packed_b;
  if (b != nullptr && b->arithmetic_ == Arithmetic::kF32) {
    return ProductRun(context, x, Arithmetic::kF32).run(context);
  }
  const Magnitudes right = b != nullptr ? b->magnitudes_ : magnitudes_of(context, x.b, x.depth, x.columns, x.batch);
  if (has_planes(right) && have_planes(magnitudes_of(context, x.a, x.rows, x.depth, x.batch), right, x.depth)) {
    return ProductRun(context, x, Arithmetic::kF32Tiles).run(context);
  }
  if (b == nullptr) return ProductRun(context, x, Arithmetic::kF32).run(context);
  Product unpacked = x;
  const Depth layout{context.table().product[static_cast<int>(Arithmetic::kF32Tiles)], x.depth, x.columns};
  ORRERY_CHECK(b->table_ == &context.table() && b->depth_ == x.depth && b->columns_ == x.columns,
               "a packed operand fits the product");
  const Buffer numbers(static_cast<std::size_t>(x.depth * x.columns) * sizeof(float));
  restore(layout, static_cast<const std::uint32_t*>(b->units_.data()), static_cast<float*>(numbers.data()));
  unpacked.packed_b = nullptr;
  unpacked.b = {numbers.data(), Type::kF32, x.columns};
  ProductRun(context, unpacked, Arithmetic::kF32).run(context);
}

PackedOperand pack(Context& context, const Operand& b, Index depth, Index columns, Precision precision,
                   PackedOperand packed) {
  packed.table_ = &context.table();
  packed.arithmetic_ = arithmetic_of(context, precision);
  if (packed.arithmetic_ == Arithmetic::kF32Tiles) {
    packed.magnitudes_ = magnitudes_of(context, b, depth, columns, 1);
    if (!has_planes(packed.magnitudes_)) packed.arithmetic_ = Arithmetic::kF32;
  }
  packed.depth_ = depth;
  packed.columns_ = columns;
  const Depth layout{context.table().product[static_cast<int>(packed.arithmetic_)], depth, columns};
  packed.units_.reserve(static_cast<std::size_t>(layout.total()) * 4);
  pack_all(context, layout, b, 1, static_cast<std::uint32_t*>(packed.units_.data()));
  return packed;
}

}  // namespace orrery::kernels
