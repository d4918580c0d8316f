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
  Integers values;
  bool known = out.size() == 1;
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
    const Integers* part = site.integers(i);
    known = known && part && static_cast<Count>(values.size() + part->size()) <= kMostValues;
    if (known) values.insert(values.end(), part->begin(), part->end());
  }
  site.make(0, out);
  if (known && !site.out.empty()) site.out[0].integers = std::move(values);
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
  Count left = size;
  for (std::size_t i = 0; i < site.out.size(); ++i) {
    Shape out = *shape;
    out[axis] = sizes ? asked[i] : given || size == kUnknown ? kUnknown : std::min(each, left);
    if (!given && size != kUnknown) left -= out[axis];
    site.make(i, out);
  }
  if (sizes && size != kUnknown) {
    Count sum = 0;
    for (const Count part : asked) sum = base::checked_add(sum, part);
    if (sum != size) misfit(fmt::format("parts of {} in all, where there are {}", sum, size));
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
  Cut last;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    Count& size = out[axis_of((*axes)[i], out.size())];
    if (size == kUnknown) continue;
    last = cut(size, (*starts)[i], (*ends)[i], (*steps)[i]);
    size = last.count;
  }
  site.make(0, out);
  const Integers* values = site.integers(0);
  if (site.out.empty() || !values || out.size() != 1 || starts->size() != 1 || !whole(out)) return;
  Integers chosen;
  for (Count i = 0; i < last.count; ++i)
    chosen.push_back((*values)[static_cast<std::size_t>(last.first + i * last.step)]);
  site.out[0].integers = std::move(chosen);
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
  const Integers *values = site.integers(0), *places = site.integers(1);
  if (site.out.empty() || !values || !places || shape->size() != 1) return;
  Integers picked;
  for (const std::int64_t place : *places) {
    const auto count = static_cast<std::int64_t>(values->size());
    if (place < -count || place >= count) misfit(fmt::format("element {} of {}", place, count));
    picked.push_back((*values)[static_cast<std::size_t>(place < 0 ? place + count : place)]);
  }
  site.out[0].integers = std::move(picked);
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
