// Operators that join tensors, and take parts of them.
#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "orrery/formats/onnx/onnx_reader.h"
#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

// What a slice takes of a dimension.
struct Cut {
  std::int64_t first = 0, step = 1;
  Count count = 0;
};

Cut cut(Count size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) misfit("a step of 0");
  const auto from_end = [&](std::int64_t value) {
    return value < 0 ? std::max<std::int64_t>(value, -size) + size : value;
  };
  const std::int64_t first =
      std::clamp<std::int64_t>(from_end(start), 0, step > 0 ? size : std::max<Count>(size - 1, 0));
  const std::int64_t last = step > 0      ? std::clamp<std::int64_t>(from_end(end), 0, size)
                            : end < -size ? -1
                                          : std::clamp<std::int64_t>(from_end(end), -1, std::max<Count>(size - 1, -1));
  const std::int64_t span = step > 0 ? last - first : first - last;
  const std::int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  return {first, step, size == 0 || span <= 0 ? 0 : base::ceil_divide(span, stride)};
}

}  // namespace

void concat(Site& site) {
  if (site.in.empty() || !site.shape(0)) return;
  Shape out = *site.shape(0);
  const std::size_t axis = axis_of(site.node.integer("axis", 1), out.size());
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < site.in.size(); ++i) {
    const Shape* shape = site.shape(i);
    if (!shape) return;
    if (shape->size() != out.size()) misfit(fmt::format("{} and {} do not join", text(out), text(*shape)));
    for (std::size_t d = 0; d < out.size(); ++d) {
      const Count size = (*shape)[d];
      if (d == axis) {
        if (i > 0) out[d] = out[d] == kUnknown || size == kUnknown ? kUnknown : base::checked_add(out[d], size);
      } else if (size != out[d]) {
        if (size != kUnknown && out[d] != kUnknown)
          misfit(fmt::format("{} and {} do not join", text(out), text(*shape)));
        out[d] = std::max(size, out[d]);
      }
    }
    parts.push_back(i);
  }
  site.make(0, out);
  fold(site, 0, parts, [&](Shape index) {
    std::size_t part = 0;
    for (; index[axis] >= (*site.shape(part))[axis]; ++part) index[axis] -= (*site.shape(part))[axis];
    return (*site.integers(part))[place_in(*site.shape(part), index)];
  });
}

void split(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape || site.out.empty()) return;
  const std::size_t axis = axis_of(site.node.integer("axis", 0), shape->size());
  bool given = false;
  const std::optional<Integers> sizes = site.setting(1, "split", given);
  const auto parts = static_cast<Count>(site.out.size());
  const Count size = (*shape)[axis], each = size == kUnknown ? kUnknown : base::ceil_divide(size, parts);
  if (sizes && static_cast<Count>(sizes->size()) != parts)
    misfit(fmt::format("{} sizes for {} parts", sizes->size(), parts));
  const Shape asked = sizes ? sizes_of(*sizes) : Shape();
  if (sizes && size != kUnknown) {
    Count sum = 0;
    for (const Count part : asked) sum = base::checked_add(sum, part);
    if (sum != size) misfit(fmt::format("parts of {} in all, where there are {}", sum, size));
  }
  Count left = size, first = 0;
  for (std::size_t i = 0; i < site.out.size(); ++i) {
    Shape out = *shape;
    out[axis] = sizes ? asked[i] : given || size == kUnknown ? kUnknown : std::min(each, left);
    if (!given && size != kUnknown) left -= out[axis];
    site.make(i, out);
    fold_moved(site, i, [&](Shape place) {
      place[axis] += first;
      return place;
    });
    first += out[axis];
  }
}

void slice(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  bool given = false, axes_given = false, steps_given = false;
  const std::optional<Integers> starts = site.setting(1, "starts", given), ends = site.setting(2, "ends", given);
  std::optional<Integers> axes = site.setting(3, "axes", axes_given), steps = site.setting(4, "steps", steps_given);
  if (axes_given && !axes) return make_unknown(site, static_cast<Count>(shape->size()));
  Shape out = *shape;
  if (!starts || !ends || (steps_given && !steps)) {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!axes) out[i] = kUnknown;
    if (axes)
      for (const std::int64_t axis : *axes) out[axis_of(axis, out.size())] = kUnknown;
    return site.make(0, out);
  }
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (starts->size() != ends->size() || starts->size() != axes->size() || starts->size() != steps->size())
    misfit("starts, ends, axes and steps of different lengths");
  std::vector<Cut> cuts(out.size());
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = axis_of((*axes)[i], out.size());
    if (out[axis] == kUnknown) continue;
    cuts[axis] = cut(out[axis], (*starts)[i], (*ends)[i], (*steps)[i]);
    out[axis] = cuts[axis].count;
  }
  site.make(0, out);
  fold_moved(site, 0, [&](Shape place) {
    for (std::size_t i = 0; i < place.size(); ++i) place[i] = cuts[i].first + place[i] * cuts[i].step;
    return place;
  });
}

void gather(Site& site) {
  const Shape *shape = site.shape(0), *chosen = site.shape(1);
  if (!shape || !chosen) return;
  const std::size_t axis = axis_of(site.node.integer("axis", 0), shape->size());
  Shape out(shape->begin(), shape->begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), chosen->begin(), chosen->end());
  out.insert(out.end(), shape->begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape->end());
  if (out.size() > kMostRank) misfit(fmt::format("a result of {} dimensions", out.size()));
  site.make(0, out);
  const auto cut_at = static_cast<std::ptrdiff_t>(axis), behind = cut_at + static_cast<std::ptrdiff_t>(chosen->size());
  fold(site, 0, {0, 1}, [&](const Shape& index) {
    const std::int64_t place =
        (*site.integers(1))[place_in(*chosen, Shape(index.begin() + cut_at, index.begin() + behind))];
    const Count count = (*shape)[axis];
    if (place < -count || place >= count) misfit(fmt::format("element {} of {}", place, count));
    Shape whole(index.begin(), index.begin() + cut_at);
    whole.push_back(place < 0 ? place + count : place);
    whole.insert(whole.end(), index.begin() + behind, index.end());
    return (*site.integers(0))[place_in(*shape, whole)];
  });
}

void gather_elements(Site& site) {
  if (const Shape* shape = site.shape(1)) site.make(0, *shape);
}

void gather_nd(Site& site) {
  const Shape *shape = site.shape(0), *chosen = site.shape(1);
  if (!shape || !chosen || chosen->empty() || chosen->back() == kUnknown) return;
  const Count skipped = site.node.integer("batch_dims", 0);
  const Count first = skipped < 0 || skipped > static_cast<Count>(kMostRank) ? -1 : skipped + chosen->back();
  if (first < 0 || first > static_cast<Count>(shape->size())) misfit("indices into more dimensions than there are");
  Shape out(chosen->begin(), chosen->end() - 1);
  out.insert(out.end(), shape->begin() + first, shape->end());
  if (out.size() > kMostRank) misfit(fmt::format("a result of {} dimensions", out.size()));
  site.make(0, out);
}

}  // namespace orrery::formats::onnx
