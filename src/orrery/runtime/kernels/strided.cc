// An operator is cut into tiles of two dimensions: the one that runs in vectors, and another. That is the reduced one
// where a softmax or norm runs its vectors along something else (sums then run down the tile), else the one along
// which most tensors that have no unit stride along the vectors have theirs, since these are transposed within a tile.
// Dimensions that lie behind one another in every tensor are joined before. All that is not reduced is dealt to
// threads, tile by tile; what is reduced stays within a task, so that sums have one order for any number of threads.
//
// Sizes of tiles: a norm needs whole rows, of others some 16,000 elements, so that all tensors of a tile fit into the
// second-level cache.
#include "orrery/runtime/kernels/strided.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::kernels {
namespace {

constexpr Index kStridedRows = 16, kElements = 1 << 14, kColumns = 256;
constexpr int kMasks[] = {-1, -1, 3, 2, -1, 10, -1, -1, -1, -1, -1};  // by kernel: which tensor is the mask it makes

bool keeps_rows(StridedKernel kernel) {
  return kernel == StridedKernel::kSoftmax || kernel == StridedKernel::kSoftmaxBack || kernel == StridedKernel::kNorm ||
         kernel == StridedKernel::kNormBack;
}

struct Axis {
  Index extent = 1;
  bool reduced = false;
  std::array<Index, kStridedTensors + kStridedSums> strides{};
  Index number = 0;  // step of the mask's numbers
};

struct Cut {
  std::vector<Axis> axes;
  int vectors = 0, across = 0, first = -1;

  Cut(const Strided& x, bool masked) {
    Index number = 1;
    for (int d = x.dims; d-- > 0;) {
      Axis axis;
      axis.extent = x.extents[d];
      axis.reduced = (x.reduced >> d & 1U) != 0;
      axis.number = masked ? number : 0;
      number *= x.extents[d];
      for (int t = 0; t < kStridedTensors; ++t) axis.strides[t] = x.tensors[t].strides[d];
      for (int s = 0; s < kStridedSums; ++s) axis.strides[kStridedTensors + s] = x.sums[s].strides[d];
      axes.insert(axes.begin(), axis);
    }
    vectors = x.vectors, first = x.first;
    if (!keeps_rows(x.kernel)) join();
    axes.push_back({});  // of one element: an operator may have one dimension only
    choose(x);
  }

  bool behind(const Axis& outer, const Axis& inner) const {
    if (outer.reduced != inner.reduced || outer.number != inner.number * inner.extent) return false;
    for (std::size_t t = 0; t < outer.strides.size(); ++t)
      if (outer.strides[t] != inner.strides[t] * inner.extent) return false;
    return true;
  }
  void join() {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      for (std::size_t j = 0; j < axes.size(); ++j) {
        if (i == j || !behind(axes[i], axes[j])) continue;
        axes[j].extent *= axes[i].extent;
        const auto now = [&](int d) {
          if (d == static_cast<int>(i)) d = static_cast<int>(j);
          return d > static_cast<int>(i) ? d - 1 : d;
        };
        vectors = now(vectors), first = first < 0 ? first : now(first);
        axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
        return join();
      }
    }
  }

  void choose(const Strided& x) {
    const bool rows = keeps_rows(x.kernel);
    const bool sums = x.reduced != 0;
    int best = -1;
    across = static_cast<int>(axes.size()) - 1;
    for (int d = 0; d < static_cast<int>(axes.size()); ++d) {
      if (d == vectors || (sums && axes[d].reduced == axes[vectors].reduced)) continue;
      if (rows && !axes[vectors].reduced && !axes[d].reduced) continue;
      int units = d == first ? 1 : 0;  // where all else is equal
      for (int t = 0; t < kStridedTensors; ++t)
        if (x.tensors[t].data != nullptr && axes[vectors].strides[t] != 1 && axes[d].strides[t] == 1) units += 2;
      if (axes[d].extent == 1) units = -1;
      if (units > best) best = units, across = d;
    }
  }
};

struct StridedJob {
  const Strided& x;
  Context& context;
  Cut cut;
  Index rows, columns;           // of a tile
  std::vector<int> dealt, kept;  // axes other than the tile's: over tasks, within a task
  StridedTile tile;

  StridedJob(Context& on, const Strided& given)
      : x(given), context(on), cut(given, kMasks[static_cast<int>(given.kernel)] >= 0) {
    const Axis& vectors = cut.axes[cut.vectors];
    const Axis& across = cut.axes[cut.across];
    int staged = 0;
    Index written = 0;
    for (int t = 0; t < kStridedTensors; ++t) {
      if (x.tensors[t].data == nullptr) continue;
      if (vectors.strides[t] > 1 || x.tensors[t].type != Type::kF32) ++staged;
    }
    Index all = 1;
    for (const Axis& axis : cut.axes) all *= axis.extent;
    written = all * bytes_of(x.tensors[0].type);
    const Index share = std::max<Index>(1, vectors.extent / context.threads());
    if (keeps_rows(x.kernel) && vectors.reduced) {
      columns = vectors.extent;
      rows = std::clamp<Index>(kElements / std::max<Index>(1, columns), 1, kStridedRows);
    } else if (keeps_rows(x.kernel)) {
      rows = across.extent;
      columns =
          std::clamp<Index>(4 * kElements / rows / (1 + staged) / kStridedRows * kStridedRows, kStridedRows, kColumns);
    } else if (x.reduced != 0 && !vectors.reduced) {
      columns = std::clamp<Index>((share + 63) / 64 * 64, 64, 4096);
      rows = kStridedRows;
    } else {
      columns = kElements / kStridedRows;
      rows = kStridedRows;
    }
    rows = std::min(rows, std::max<Index>(1, across.extent));
    columns = std::min(columns, std::max<Index>(1, vectors.extent));
    tile.kernel = x.kernel;
    tile.along = x.reduced != 0 && vectors.reduced;
    tile.streamed = written >= kStreamedBytes;
    tile.row_step = static_cast<std::uint64_t>(across.number);
    tile.column_step = static_cast<std::uint64_t>(vectors.number);
    tile.epsilon = x.epsilon;
    const base::Count threshold = base::whole_number(std::floor(x.drop * 0x1p32)).value_or(0);
    tile.threshold = static_cast<std::uint32_t>(std::min<base::Count>(threshold, UINT32_MAX));
    tile.keep = static_cast<float>(1 / (1 - static_cast<double>(tile.threshold) * 0x1p-32));
    const std::uint64_t key = (x.seed + 0x9e3779b97f4a7c15U * (x.stream + 1)) * 0xbf58476d1ce4e5b9U;
    tile.keys[0] = static_cast<std::uint32_t>(key >> 32), tile.keys[1] = static_cast<std::uint32_t>(key);
    for (int d = 0; d < static_cast<int>(cut.axes.size()); ++d) {
      if (d == cut.vectors || d == cut.across) continue;
      std::vector<int>& list = cut.axes[d].reduced ? kept : dealt;
      list.insert(d == cut.first ? list.begin() : list.end(), d);
    }
  }

  static Index parts(Index extent, Index part) { return (extent + part - 1) / part; }
  bool tile_is_kept(int axis) const { return cut.axes[axis].reduced && !keeps_rows(x.kernel); }

  void run() {
    for (const Axis& axis : cut.axes)
      if (axis.extent == 0) return;
    const Index row_parts = parts(cut.axes[cut.across].extent, rows);
    const Index column_parts = parts(cut.axes[cut.vectors].extent, columns);
    const bool rows_kept = tile_is_kept(cut.across), columns_kept = tile_is_kept(cut.vectors);
    Index tasks = (rows_kept ? 1 : row_parts) * (columns_kept ? 1 : column_parts);
    for (const int d : dealt) tasks *= cut.axes[d].extent;
    const Index scratch = strided_scratch(rows, columns);
    const Index sums = kStridedSums * (rows + columns + 64);
    context.reserve_own(scratch + sums);
    context.pool().run(tasks, [&](Index task, int worker) {
      auto* own = reinterpret_cast<float*>(context.own(worker));
      Place at;
      const Index column_part = columns_kept ? 0 : task % column_parts;
      if (!columns_kept) task /= column_parts;
      const Index row_part = rows_kept ? 0 : task % row_parts;
      if (!rows_kept) task /= row_parts;
      for (std::size_t i = dealt.size(); i-- > 0;) {
        const Axis& axis = cut.axes[dealt[i]];
        at.move(axis, task % axis.extent);
        task /= axis.extent;
      }
      std::fill_n(own + scratch, sums, 0.0F);
      within(0, at, [&](const Place& place) {
        for (Index r = row_part; r < (rows_kept ? row_parts : row_part + 1); ++r)
          for (Index c = column_part; c < (columns_kept ? column_parts : column_part + 1); ++c)
            compute(place, r * rows, c * columns, own, own + scratch);
      });
      if (x.reduced != 0 && !keeps_rows(x.kernel)) write_sums(at, row_part, column_part, own + scratch);
    });
  }

 private:
  struct Place {
    std::array<Index, kStridedTensors + kStridedSums> offsets{};
    Index number = 0;
    void move(const Axis& axis, Index by) {
      for (std::size_t t = 0; t < offsets.size(); ++t) offsets[t] += by * axis.strides[t];
      number += by * axis.number;
    }
  };

  template <class Function>
  void within(std::size_t level, const Place& at, const Function& f) const {
    if (level == kept.size()) return f(at);
    Place place = at;
    for (Index i = 0; i < cut.axes[kept[level]].extent; ++i) {
      within(level + 1, place, f);
      place.move(cut.axes[kept[level]], 1);
    }
  }

  Index line_room() const { return rows + columns + 21; }

  void compute(Place at, Index row, Index column, float* scratch, float* sums) const {
    const Axis& across = cut.axes[cut.across];
    const Axis& vectors = cut.axes[cut.vectors];
    at.move(across, row);
    at.move(vectors, column);
    StridedTile part = tile;
    part.rows = std::min(rows, across.extent - row);
    part.columns = std::min(columns, vectors.extent - column);
    part.first = static_cast<std::uint64_t>(at.number);
    part.scratch = scratch;
    for (int t = 0; t < kStridedTensors; ++t) {
      const StridedTensor& tensor = x.tensors[t];
      if (tensor.data == nullptr) continue;
      part.tensors[t] = {static_cast<char*>(tensor.data) + at.offsets[t] * bytes_of(tensor.type), tensor.type,
                         across.strides[t], vectors.strides[t]};
    }
    for (int s = 0; s < kStridedSums; ++s) part.sums[s] = sums + s * line_room();
    context.table().strided(part);
  }

  void write_sums(Place at, Index row_part, Index column_part, const float* sums) const {
    const Axis& line = cut.axes[tile.along ? cut.across : cut.vectors];
    const Index size = tile.along ? rows : columns, begin = (tile.along ? row_part : column_part) * size;
    for (int s = 0; s < kStridedSums; ++s) {
      const StridedTensor& to = x.sums[s];
      if (to.data == nullptr) continue;
      const Index stride = line.strides[kStridedTensors + s], from = at.offsets[kStridedTensors + s];
      for (Index i = 0; i < std::min(size, line.extent - begin); ++i) {
        const Index place = from + (begin + i) * stride;
        const float sum = sums[s * line_room() + i];
        if (to.type == Type::kBf16) {
          static_cast<Bf16*>(to.data)[place] = to_bf16(sum);
        } else {
          static_cast<float*>(to.data)[place] = sum;
        }
      }
    }
  }
};

void check(const Strided& x) {
  ORRERY_CHECK(x.dims >= 1 && x.dims <= kStridedDims && x.vectors >= 0 && x.vectors < x.dims && x.first < x.dims,
               "vectors and threads run along dimensions that there are");
  ORRERY_CHECK(x.drop >= 0 && x.drop < 1, "a probability to be dropped is from 0 up to, but not, 1");
  ORRERY_CHECK(!keeps_rows(x.kernel) || (x.reduced != 0 && (x.reduced & (x.reduced - 1)) == 0),
               "a softmax and a norm have one reduced dimension");
}

}  // namespace

void run(Context& context, const Strided& x) {
  check(x);
  StridedJob(context, x).run();
}

std::string signature(const Strided& x) {
  check(x);
  const Cut cut(x, kMasks[static_cast<int>(x.kernel)] >= 0);
  std::string out = fmt::format("{} v{} a{} f{}", static_cast<int>(x.kernel), cut.vectors, cut.across, cut.first);
  for (const Axis& axis : cut.axes) {
    if (axis.extent == 1 && &axis == &cut.axes.back()) continue;
    out += fmt::format(" {}{}:", axis.extent, axis.reduced ? "r" : "");
    for (const Index stride : axis.strides) out += fmt::format("{},", stride);
  }
  return out;
}

StridedShape shape_of(const Strided& x) {
  check(x);
  const Cut cut(x, kMasks[static_cast<int>(x.kernel)] >= 0);
  const Axis& vectors = cut.axes[static_cast<std::size_t>(cut.vectors)];
  const Axis& across = cut.axes[static_cast<std::size_t>(cut.across)];
  StridedShape out;
  out.along = vectors.reduced;
  out.vector = vectors.extent;
  for (std::size_t t = 0; t < kStridedTensors; ++t) {
    if (x.tensors[t].data == nullptr || vectors.strides[t] == 0) continue;
    out.access[t] = vectors.strides[t] == 1  ? Access::kDirect
                    : across.strides[t] == 1 ? Access::kTransposed
                                             : Access::kScattered;
  }
  return out;
}

}  // namespace orrery::kernels
