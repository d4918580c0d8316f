// Around the inner loop (kernel_product.h): B is packed whole, by all threads; then blocks of rows are dealt to
// threads. A block packs its rows of A for kDepthUnits units of depth at a time, multiplies them with groups of columns
// of B and finishes each group while it is in the cache.
//
// A row block of A (some 220 rows, 900 kB) and a panel of B pass through the second-level cache together: taller blocks
// read B less often. Sums of one element are always added in the same order: by depth, kDepthUnits units at a time. How
// rows and columns are cut into blocks depends on the threads, the order does not.
#include "orrery/kernels/product.h"

#include <algorithm>
#include <cstring>

#include "orrery/base/check.h"

namespace orrery::kernels {
namespace {

constexpr Index kGroup = 256;  // columns that are finished together; whole groups of dropout's columns
constexpr Index kTilesInBlock = 16;
constexpr Index kStreamedBytes = Index{16} << 20;  // what the caches do not hold until it is used
constexpr Index kLine = 16;                        // units in a cache line

Arithmetic arithmetic_of(const Context& context, Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return Arithmetic::kF32;
    case Precision::kBf16:
      return context.bf16();
    case Precision::kInt8:
      return Arithmetic::kInt8;
  }
  return Arithmetic::kF32;
}

Index divided_up(Index a, Index b) {
  return (a + b - 1) / b;
}

const void* moved(const void* data, Type type, Index elements) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + elements * bytes_of(type);
}
void* moved(void* data, Type type, Index elements) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + elements * bytes_of(type);
}

// The depth cut into blocks, and where packed panels of B lie: block after block, panel after panel.
struct Depth {
  const ProductKernels& kernels;
  Index depth, columns;

  Index block() const { return Index{kDepthUnits} * kernels.elements; }
  Index blocks() const { return std::max<Index>(1, divided_up(depth, block())); }
  Index begin(Index i) const { return i * block(); }
  Index length(Index i) const { return std::min(block(), depth - begin(i)); }
  Index units(Index i) const { return divided_up(length(i), kernels.elements); }
  Index panels() const { return divided_up(columns, kernels.tile_columns); }
  Index panel(Index i) const { return (units(i) + kernels.header_units) * kernels.tile_columns; }
  Index offset(Index i) const { return i * panels() * (kDepthUnits + kernels.header_units) * kernels.tile_columns; }
  Index total() const { return offset(blocks() - 1) + panels() * panel(blocks() - 1); }
};

void pack_all(Context& context, const Depth& depth, const Operand& b, Index batch, std::uint32_t* out) {
  constexpr Index kPanels = 8;  // in a task
  const Index parts = divided_up(depth.panels(), kPanels);
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

void check(const Product& x) {
  ORRERY_CHECK(x.rows >= 0 && x.columns >= 0 && x.depth >= 0 && x.batch >= 0, "sizes are at least 0");
  const auto allowed = [&](Type type) {
    return x.precision == Precision::kInt8 ? type == Type::kInt8 : type == Type::kF32 || type == Type::kBf16;
  };
  ORRERY_CHECK(allowed(x.a.type) && (x.packed_b != nullptr || allowed(x.b.type)),
               "operands have the product's precision");
  ORRERY_CHECK(x.c.data != nullptr || x.normalise.out.data != nullptr, "a product has a result");
  const bool plain = x.bias == nullptr && x.activation == Activation::kNone && x.gate.data == nullptr &&
                     x.drop.threshold == 0 && x.residual.data == nullptr && x.normalise.out.data == nullptr &&
                     x.before.data == nullptr && x.alpha == 1;
  ORRERY_CHECK(x.c.type != Type::kInt32 || (plain && x.precision == Precision::kInt8), "int32 results are bare sums");
  ORRERY_CHECK(x.c.type != Type::kInt8, "results are fp32, bf16 or int32");
  ORRERY_CHECK(!x.add || (x.residual.data == nullptr && x.normalise.out.data == nullptr),
               "c is added to, or a residual");
  ORRERY_CHECK(x.before.data == nullptr || x.before.type == x.c.type, "`before` has the type of c");
  const bool slope = x.activation >= Activation::kReluSlope;
  ORRERY_CHECK(slope == (x.slope_at.data != nullptr), "a slope is taken at something");
  ORRERY_CHECK(x.row_sums == nullptr || (x.batch == 1 && x.precision != Precision::kInt8),
               "row sums of one float matrix");
}

}  // namespace

// One product under way.
struct ProductRun {
  Context& context;
  const Product& x;
  const ProductKernels& kernels;
  Depth depth;
  const std::uint32_t* packed = nullptr;
  Index batch_units = 0;  // of packed B
  Index row_block = 0, row_blocks = 0;
  Index column_block = 0, column_blocks = 0;
  Index sums_stride = 0, a_units = 0;
  bool at_once = false;
  bool streamed = false;

  ProductRun(Context& on, const Product& product, Arithmetic arithmetic)
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
      const Index matrices = x.b.batch_stride == 0 ? 1 : x.batch;
      std::uint32_t* units = context.shared(matrices * depth.total());
      pack_all(context, depth, x.b, matrices, units);
      packed = units;
      batch_units = matrices == 1 ? 0 : depth.total();
    }
    cut();
  }

  // Blocks of rows; of columns, too, when the rows alone do not keep all threads busy.
  void cut() {
    row_blocks = divided_up(x.rows, kTilesInBlock * kernels.tile_rows);
    const bool whole_rows = x.normalise.out.data != nullptr;  // cannot be cut into columns
    if (whole_rows && context.threads() > 1) {
      row_blocks = std::max(row_blocks, std::min<Index>(2 * context.threads(), divided_up(x.rows, kernels.tile_rows)));
    }
    row_block = divided_up(x.rows, row_blocks);
    const Index groups = divided_up(x.columns, kGroup);
    const Index wanted = divided_up(Index{4} * context.threads(), row_blocks * x.batch);
    column_blocks = whole_rows || context.threads() == 1 ? 1 : std::min(groups, wanted);
    column_block = divided_up(groups, column_blocks) * kGroup;
    column_blocks = divided_up(x.columns, column_block);
    // Sums of a group are finished at once when there is one block of depth; else they wait for the last.
    const Index group = divided_up(std::min(kGroup, x.columns), kernels.tile_columns) * kernels.tile_columns;
    at_once = depth.blocks() == 1 && !whole_rows;
    // Rows a power of two apart would fall into one set of a cache.
    sums_stride = (at_once ? group : std::min(column_block, depth.panels() * kernels.tile_columns)) + kLine;
    a_units = row_block * kRowUnits;
    // To read a line only to overwrite it costs as much as to write it.
    streamed = !x.add && x.batch * x.rows * x.columns * bytes_of(x.c.type) >= kStreamedBytes;
    context.reserve_own(a_units + row_block * sums_stride);
  }

  void run() {
    context.pool().run(x.batch * row_blocks * column_blocks, [this](Index task, int worker) {
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
    f.in_type = x.precision == Precision::kInt8 ? Type::kInt32 : Type::kF32;
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

void multiply(Context& context, const Product& product) {
  check(product);
  if (product.rows == 0 || product.columns == 0 || product.batch == 0) return;
  ProductRun(context, product, arithmetic_of(context, product.precision)).run();
}

PackedOperand pack(Context& context, const Operand& b, Index depth, Index columns, Precision precision,
                   PackedOperand packed) {
  packed.table_ = &context.table();
  packed.arithmetic_ = arithmetic_of(context, precision);
  packed.depth_ = depth;
  packed.columns_ = columns;
  const Depth layout{context.table().product[static_cast<int>(packed.arithmetic_)], depth, columns};
  packed.units_.reserve(static_cast<std::size_t>(layout.total()) * 4);
  pack_all(context, layout, b, 1, static_cast<std::uint32_t*>(packed.units_.data()));
  return packed;
}

}  // namespace orrery::kernels
