// Operators that move, cut and name data.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/onnx/onnx_reader.h"
#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

// Small integers pass through what moves no element: the same values in a new shape.
void pass_values(Site& site) {
  if (site.out.empty() || !site.has(0)) return;
  site.out[0].integers = site.in[0]->integers;
  site.out[0].reals = site.in[0]->reals;
}

void make_values(Site& site, Integers values) {
  site.make(0, {static_cast<Count>(values.size())});
  if (!site.out.empty() && static_cast<Count>(values.size()) <= kMostValues) site.out[0].integers = std::move(values);
}

}  // namespace

void identity(Site& site) {
  same_as_first(site);
  pass_values(site);
  if (const Shape* shape = site.shape(0)) site.make(1, *shape);  // the mask of Dropout
}

void constant(Site& site) {
  const Node& node = site.node;
  if (const Attribute* value = node.find("value"); value && value->tensor) {
    site.make(0, value->tensor->shape);
    if (!site.out.empty()) {
      site.out[0].integers = value->tensor->integers;
      site.out[0].reals = value->tensor->reals;
    }
  } else if (const auto integers = node.integers("value_ints")) {
    make_values(site, *integers);
  } else if (const Attribute* integer = node.find("value_int")) {
    site.make(0, {});
    if (!site.out.empty()) site.out[0].integers = {integer->integer};
  } else if (node.find("value_float") || node.find("value_string")) {
    site.make(0, {});
  } else if (const Attribute* reals = node.find("value_floats")) {
    site.make(0, {static_cast<Count>(reals->reals.size())});
    if (!site.out.empty()) site.out[0].reals = reals->reals;
  }
}

void constant_of_shape(Site& site) {
  const Integers* sizes = site.integers(0);
  if (!sizes) return make_unknown(site, length_of(site, 0));
  const Shape shape = sizes_of(*sizes);
  site.make(0, shape);
  const Count count = elements(shape);
  if (site.out.empty() || count > kMostValues) return;
  const Attribute* value = site.node.find("value");
  if (value && (!value->tensor || !value->tensor->integers || value->tensor->integers->empty())) return;
  if (value) site.out[0].integers = Integers(static_cast<std::size_t>(count), value->tensor->integers->front());
}

void shape_of(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto within = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = within(site.node.integer("start", 0));
  const std::int64_t last = std::max(first, within(site.node.integer("end", rank)));
  const Shape part(shape->begin() + first, shape->begin() + last);
  site.make(0, {last - first});
  if (whole(part) && !site.out.empty()) site.out[0].integers = part;
}

void size_of(Site& site) {
  const Shape* shape = site.shape(0);
  site.make(0, {});
  if (shape && whole(*shape) && !site.out.empty()) site.out[0].integers = {elements(*shape)};
}

void reshape(Site& site) {
  const Shape* shape = site.shape(0);
  bool given = false;
  const std::optional<Integers> wanted = site.setting(1, "shape", given);
  if (!wanted) return make_unknown(site, length_of(site, 1));
  Shape out;
  std::ptrdiff_t open = -1;
  const bool zeros = site.node.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const std::int64_t size = (*wanted)[i];
    if (size == -1) {
      if (open >= 0) misfit("a new shape with two open dimensions");
      open = static_cast<std::ptrdiff_t>(i);
      out.push_back(kUnknown);
    } else if (size == 0 && !zeros) {
      if (!shape) {
        out.push_back(kUnknown);
        continue;
      }
      if (i >= shape->size()) misfit(fmt::format("dimension {} of {}, which it keeps", i, text(*shape)));
      out.push_back((*shape)[i]);
    } else {
      out.push_back(sizes_of({size})[0]);
    }
  }
  const Count all = shape ? elements(*shape) : kUnknown;
  if (open >= 0 && all != kUnknown) {
    Shape others = out;
    others.erase(others.begin() + open);
    const Count rest = elements(others);
    if (rest == 0 || (rest > 0 && all % rest != 0)) misfit(fmt::format("{} elements into {}", all, text(out)));
    if (rest > 0) out[static_cast<std::size_t>(open)] = all / rest;
  }
  const Count made = elements(out);
  if (all != kUnknown && made != kUnknown && all != made) misfit(fmt::format("{} elements into {}", all, text(out)));
  site.make(0, out);
  pass_values(site);
}

void flatten(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const std::int64_t given = site.node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) misfit(fmt::format("axis {} of {}", given, text(*shape)));
  site.make(0, {elements(Shape(shape->begin(), shape->begin() + axis)),
                elements(Shape(shape->begin() + axis, shape->end()))});
  pass_values(site);
}

void squeeze(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  bool given = false;
  const std::optional<Integers> axes = site.setting(1, "axes", given);
  if (given && !axes) {
    const Count count = length_of(site, 1);
    return make_unknown(site, count == kUnknown ? kUnknown : static_cast<Count>(shape->size()) - count);
  }
  if (!given && !whole(*shape)) return;
  std::vector<bool> gone(shape->size(), false);
  for (std::size_t i = 0; !given && i < shape->size(); ++i) gone[i] = (*shape)[i] == 1;
  if (given)
    for (const std::int64_t axis : *axes) gone[axis_of(axis, shape->size())] = true;
  Shape out;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!gone[i]) out.push_back((*shape)[i]);
    if (gone[i] && (*shape)[i] > 1) misfit(fmt::format("dimension {} of {}, which is not 1", i, text(*shape)));
  }
  site.make(0, out);
  pass_values(site);
}

void unsqueeze(Site& site) {
  const Shape* shape = site.shape(0);
  bool given = false;
  const std::optional<Integers> axes = site.setting(1, "axes", given);
  if (!shape || !axes) return;
  const std::size_t rank = shape->size() + axes->size();
  if (rank > kMostRank) misfit(fmt::format("a result of {} dimensions", rank));
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : *axes) {
    const std::size_t at = axis_of(axis, rank);
    if (added[at]) misfit(fmt::format("axis {} twice", axis));
    added[at] = true;
  }
  Shape out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(added[i] ? 1 : (*shape)[next++]);
  site.make(0, out);
  pass_values(site);
}

void transpose(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const std::optional<Integers> order = site.node.integers("perm");
  Shape out(shape->rbegin(), shape->rend());
  if (order) {
    Integers sorted = *order;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = sorted.size() == shape->size();
    for (std::size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == static_cast<Count>(i);
    if (!permutation) misfit(fmt::format("a `perm` that does not permute the {} dimensions", shape->size()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (*shape)[static_cast<std::size_t>((*order)[i])];
  }
  site.make(0, out);
  fold_moved(site, 0, [&](const Shape& index) {
    Shape place(index.rbegin(), index.rend());
    for (std::size_t i = 0; order && i < index.size(); ++i) place[static_cast<std::size_t>((*order)[i])] = index[i];
    return place;
  });
}

void expand(Site& site) {
  const Shape* shape = site.shape(0);
  const Integers* wanted = site.integers(1);
  if (!shape || !wanted) {
    const Count length = length_of(site, 1);
    const bool known = shape && length != kUnknown;
    return make_unknown(site, known ? std::max(length, static_cast<Count>(shape->size())) : kUnknown);
  }
  site.make(0, broadcast(*shape, sizes_of(*wanted)));
  fold_moved(site, 0, [](const Shape& index) { return index; });
}

void tile(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const Integers* times = site.integers(1);
  if (!times) return make_unknown(site, static_cast<Count>(shape->size()));
  if (times->size() != shape->size()) misfit(fmt::format("{} repeats of {}", times->size(), text(*shape)));
  const Shape repeats = sizes_of(*times);
  Shape out = *shape;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] != kUnknown) out[i] = base::checked_multiply(out[i], repeats[i]);
  site.make(0, out);
  fold_moved(site, 0, [&](const Shape& index) {
    Shape place = index;
    for (std::size_t i = 0; i < place.size(); ++i) place[i] %= (*shape)[i];
    return place;
  });
}

void pad(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  bool given = false, axes_given = false;
  std::optional<Integers> pads = site.setting(1, "pads", given);
  if (!pads) pads = site.node.integers("paddings");
  std::optional<Integers> axes = site.setting(3, "axes", axes_given);
  if (!pads || (axes_given && !axes)) return make_unknown(site, static_cast<Count>(shape->size()));
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < shape->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (pads->size() != 2 * axes->size()) misfit(fmt::format("{} pads for {} dimensions", pads->size(), axes->size()));
  Shape out = *shape;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Count& size = out[axis_of((*axes)[i], out.size())];
    if (size == kUnknown) continue;
    size = base::checked_add(base::checked_add(size, (*pads)[i]), (*pads)[axes->size() + i]);
    if (size < 0) misfit("it takes away more than there is");
  }
  site.make(0, out);
}

void range(Site& site) {
  const Integers *first = site.integers(0), *last = site.integers(1), *step = site.integers(2);
  if (!first || !last || !step || first->size() != 1 || last->size() != 1 || step->size() != 1)
    return make_unknown(site, 1);
  std::int64_t span = 0;
  if (step->front() == 0 || step->front() == INT64_MIN ||
      __builtin_sub_overflow(last->front(), first->front(), &span) || span == INT64_MIN)
    misfit("a range without an end");
  const bool up = step->front() > 0;
  const std::int64_t length = up ? span : -span, stride = up ? step->front() : -step->front();
  const Count count = length <= 0 ? 0 : base::ceil_divide(length, stride);
  site.make(0, {count});
  if (count > kMostValues || site.out.empty()) return;
  Integers values;
  for (Count i = 0; i < count; ++i) values.push_back(first->front() + i * step->front());
  site.out[0].integers = std::move(values);
}

namespace {

// Blocks of pixels to channels, or back.
void reblock(Site& site, bool deeper) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const std::int64_t block = site.node.integer("blocksize", 1);
  if (shape->size() != 4 || block < 1 || block > 1 << 20)
    misfit(fmt::format("blocks of {} in {}", block, text(*shape)));
  Shape out = *shape;
  const auto scale = [](Count& size, Count by, bool up) {
    if (size == kUnknown) return;
    if (!up && size % by != 0) misfit(fmt::format("{} in blocks of {}", size, by));
    size = up ? base::checked_multiply(size, by) : size / by;
  };
  scale(out[1], block * block, deeper);
  scale(out[2], block, !deeper);
  scale(out[3], block, !deeper);
  site.make(0, out);
}

}  // namespace

void depth_to_space(Site& site) {
  reblock(site, false);
}

void space_to_depth(Site& site) {
  reblock(site, true);
}

void resize(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  const std::size_t scales = site.node.type == "Upsample" || site.opset < 11 ? 1 : 2;
  std::vector<std::size_t> axes;
  if (const auto given = site.node.integers("axes")) {
    for (const std::int64_t axis : *given) axes.push_back(axis_of(axis, shape->size()));
  } else {
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(i);
  }
  Shape out = *shape;
  const std::vector<float>* factors = site.has(scales) && site.in[scales]->reals ? &*site.in[scales]->reals : nullptr;
  if (const Attribute* old = site.node.find("scales")) factors = &old->reals;
  if (const Integers* sizes = site.integers(3); sizes && sizes->size() == axes.size()) {
    const Shape wanted = sizes_of(*sizes);
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = wanted[i];
  } else if (factors && factors->size() == axes.size()) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Count& size = out[axes[i]];
      if (size == kUnknown) continue;
      const std::optional<Count> made = base::whole_number(std::floor(static_cast<double>(size) * (*factors)[i]));
      if (!made || *made < 0 || *made > kMostSize) misfit(fmt::format("a scale of {}", (*factors)[i]));
      size = *made;
    }
  } else {
    return make_unknown(site, static_cast<Count>(shape->size()));
  }
  site.make(0, out);
}

void one_hot(Site& site) {
  const Shape* shape = site.shape(0);
  const Integers* depth = site.integers(1);
  if (!shape || shape->size() >= kMostRank) return;
  Shape out = *shape;
  const std::size_t axis = axis_of(site.node.integer("axis", -1), shape->size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis),
             depth && depth->size() == 1 ? sizes_of(*depth)[0] : kUnknown);
  site.make(0, out);
}

}  // namespace orrery::formats::onnx
