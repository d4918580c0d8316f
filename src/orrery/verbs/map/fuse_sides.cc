#include "orrery/verbs/map/fuse_sides.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/map/fuse_role.h"

namespace orrery::verbs {
namespace {

using Kind = nest::Constraint::Kind;

// Dataspaces and dimensions by what they do.
struct Roles {
  int output = -1, moving = -1, held = -1;  // the output, the input with its columns, the other input
  std::vector<int> rows, reduced, columns;  // D, E, L
  bool product = false;                     // else a normalisation
};

std::optional<Roles> known_roles(const workload::Einsum& einsum) {
  Roles roles;
  std::vector<int> inputs;
  for (int s = 0; s < static_cast<int>(einsum.dataspaces.size()); ++s) {
    if (einsum.dataspaces[s].read_write && roles.output < 0)
      roles.output = s;
    else
      inputs.push_back(s);
  }
  const auto uses = [&](int s, int d) { return einsum.relevant(s, d); };
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const auto iterates = [&](int d) { return einsum.dimensions[d].bound > 1; };
  if (roles.output >= 0 && inputs.size() == 2) {
    for (int moving : inputs) {
      bool same = true;
      for (int d = 0; d < dimensions; ++d) same = same && (!iterates(d) || uses(moving, d) == uses(roles.output, d));
      if (same) roles.moving = moving;
    }
    if (roles.moving >= 0) return roles;
    // The first input holds the rows, as Timeloop's `Weights`.
    roles.held = inputs[0];
    roles.moving = inputs[1];
    roles.product = true;
    for (int d = 0; d < dimensions; ++d) {
      if (!iterates(d)) continue;
      const bool out = uses(roles.output, d), held = uses(roles.held, d), moving = uses(roles.moving, d);
      if (out && held && !moving)
        roles.rows.push_back(d);
      else if (!out && held && moving)
        roles.reduced.push_back(d);
      else if (out && !held && moving)
        roles.columns.push_back(d);
      else
        roles.product = false;
    }
    if (roles.product) return roles;
  }
  return std::nullopt;
}

Roles roles_of(const workload::Einsum& einsum, const std::string& name) {
  if (auto roles = known_roles(einsum)) return *roles;
  base::fail("O2030", fmt::format("`{}` is neither a product of matrices nor a normalisation", name), {},
             "--fuse-at is of a layer that makes a matrix, or takes one and gives one of its shape");
}

// What the scripts call `memory_levels`, outside in, and a storage between them that they treat by itself.
struct ScriptLevels {
  std::vector<std::string> names;
  std::string between;
};
const ScriptLevels kScriptLevels[] = {{{"DRAM", "Accumulator", "Registers"}, "Scratchpad"},
                                      {{"DRAM", "shared_glb", "scratchpad"}, ""}};

// Nothing: neither of their chips, or none of its levels.
const ScriptLevels* script_levels(const FuseSides& fuse, const machine::Chip& chip) {
  for (const ScriptLevels& levels : kScriptLevels)
    if (fuse.as_scripts && chip.storage_index(levels.names[1]) >= 0 &&
        std::find(levels.names.begin(), levels.names.end(), fuse.level) != levels.names.end())
      return &levels;
  return nullptr;
}

int level_of(const FuseSides& fuse, const LayerQuestion& layer) {
  std::vector<std::string> names;
  const auto& storages = layer.chip->storages;
  for (std::size_t l = 0; l < storages.size(); ++l) {
    if (storages[l].pass_through) continue;
    if (storages[l].name == fuse.level && l + 1 < storages.size()) return static_cast<int>(l);
    if (l + 1 < storages.size()) names.push_back(storages[l].name);
  }
  const bool outermost = !storages.empty() && storages.back().name == fuse.level;
  base::fail("O2029",
             outermost ? fmt::format("nothing is fused at `{}`, the outermost storage", fuse.level)
                       : fmt::format("the chip has no storage `{}`", fuse.level),
             {}, base::did_you_mean(fuse.level, names, fmt::format("fuse at {}", base::joined(names, ", "))));
}

class Side {
 public:
  Side(const FuseSides& fuse, LayerQuestion& layer) : fuse_(fuse), layer_(layer) {}

  void constrain() {
    const Roles roles = roles_of(layer_.einsum, layer_.name);
    if (const ScriptLevels* levels = script_levels(fuse_, *layer_.chip)) {
      roles.product ? product_as_scripts(*levels, roles) : normalisation_as_scripts(*levels, roles);
      return;
    }
    const int at = level_of(fuse_, layer_);
    const int outermost = static_cast<int>(layer_.chip->storages.size()) - 1;
    for (int l = at + 1; l <= outermost; ++l) {
      if (layer_.chip->storages[l].pass_through) continue;
      if (roles.product) {
        for (int d : roles.rows) no_loop(l, d);
        if (!fuse_.reduction_free)
          for (int d : roles.reduced) no_loop(l, d);
        if (fuse_.whole)
          for (int d : roles.columns) no_loop(l, d);
        if (!fuse_.product_writes) pass_by(l, roles.output);
      } else {
        pass_by(l, roles.moving);
        if (fuse_.product_writes) pass_by(l, roles.output);
      }
    }
    if (!roles.product) return;
    for (int l : {at, outermost}) order(l, roles);
  }

 private:
  // Those of the scripts' levels that stand before the one to fuse at, as far as the chip has them.
  std::vector<int> outside(const ScriptLevels& levels) const {
    std::vector<int> out;
    for (const std::string& name : levels.names) {
      if (name == fuse_.level) break;
      if (const int l = layer_.chip->storage_index(name); l >= 0) out.push_back(l);
    }
    return out;
  }
  int between(const ScriptLevels& levels) const {
    return fuse_.level == levels.names[0] ? -1 : layer_.chip->storage_index(levels.between);
  }

  // Factors replace all that the level had. A level of which no document says what it keeps has to keep both inputs.
  // The order is that of the first level with a constraint in time, then that of the last level: fused at the third
  // one, DRAM is left as it was wherever the third has one by itself.
  void product_as_scripts(const ScriptLevels& levels, const Roles& roles) {
    std::vector<int> ordered = outside(levels);
    const std::vector<int> outer = ordered;
    const int last = layer_.chip->storage_index(fuse_.level);
    if (last >= 0) ordered.push_back(last);
    const auto listed = [&](const nest::Constraint& one) {
      return !one.spatial && (one.kind == Kind::kFactor || one.kind == Kind::kOrder) &&
             std::find(ordered.begin(), ordered.end(), one.level) != ordered.end();
    };
    const auto& all = layer_.space.constraints;
    const auto found = std::find_if(all.begin(), all.end(), listed);
    const int first = found != all.end() ? found->level : ordered.empty() ? -1 : ordered.front();
    std::vector<int> fixed = outer;
    if (const int l = between(levels); l >= 0) fixed.push_back(l);
    for (const int l : fixed) {
      std::erase_if(layer_.space.constraints, [&](const nest::Constraint& one) {
        return one.level == l && one.kind == Kind::kFactor && !one.spatial;
      });
      for (int d : roles.rows) no_loop(l, d);
      for (int d : roles.reduced)
        if (!fuse_.reduction_free) no_loop(l, d);
      for (int d : roles.columns)
        if (fuse_.whole) no_loop(l, d);
    }
    for (const int l : outer)
      if (!fuse_.product_writes) {
        if (!says_what_is_kept(l))
          for (const int input : {roles.held, roles.moving}) keep(l, input, true);
        pass_by(l, roles.output);
      }
    for (const int l : {first, last})
      if (l >= 0) order(l, roles);
  }

  // What lies between keeps the output, even where the product writes it.
  void normalisation_as_scripts(const ScriptLevels& levels, const Roles& roles) {
    for (const int l : outside(levels)) {
      const bool silent = !says_what_is_kept(l);
      pass_by(l, roles.moving);
      if (fuse_.product_writes) pass_by(l, roles.output);
      for (int s = 0; s < static_cast<int>(layer_.einsum.dataspaces.size()); ++s)
        if (silent && s != roles.output && s != roles.moving) pass_by(l, s);
    }
    if (const int l = between(levels); l >= 0) pass_by(l, roles.moving);
  }

  bool says_what_is_kept(int level) const {
    const auto& all = layer_.space.constraints;
    return std::any_of(all.begin(), all.end(), [&](const nest::Constraint& one) {
      return one.level == level && one.kind == Kind::kKeep && !one.spatial;
    });
  }

  // What was said of the same before gives way.
  template <typename Same>
  nest::Constraint& replace(int level, Kind kind, Same same) {
    auto& all = layer_.space.constraints;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const nest::Constraint& one) {
                               return one.level == level && one.kind == kind && !one.spatial && same(one);
                             }),
              all.end());
    nest::Constraint added;
    added.kind = kind;
    added.level = level;
    added.text = "--fuse-at " + fuse_.level;
    all.push_back(std::move(added));
    return all.back();
  }
  void no_loop(int level, int dimension) {
    nest::Constraint& factor =
        replace(level, Kind::kFactor, [&](const nest::Constraint& one) { return one.dimension == dimension; });
    factor.dimension = dimension;
    factor.value = 1;
  }
  void pass_by(int level, int dataspace) { keep(level, dataspace, false); }
  void keep(int level, int dataspace, bool kept) {
    nest::Constraint& said =
        replace(level, Kind::kKeep, [&](const nest::Constraint& one) { return one.dataspace == dataspace; });
    said.dataspace = dataspace;
    said.keep = kept;
  }
  void order(int level, const Roles& roles) {
    nest::Constraint& loops = replace(level, Kind::kOrder, [](const nest::Constraint&) { return true; });
    for (const std::vector<int>* group : {&roles.reduced, &roles.rows, &roles.columns})
      loops.inner.insert(loops.inner.end(), group->begin(), group->end());
  }

  const FuseSides& fuse_;
  LayerQuestion& layer_;
};

}  // namespace

std::optional<FuseRole> fuse_role(const workload::Einsum& einsum) {
  const auto roles = known_roles(einsum);
  if (!roles) return std::nullopt;
  FuseRole role;
  role.product = roles->product;
  role.dataspace = roles->product ? roles->output : roles->moving;
  // As a product's rows and columns; a normalisation's matrix has two dimensions, each of which may be either.
  std::vector<base::Count> sizes;
  if (roles->product) {
    for (const std::vector<int>* group : {&roles->rows, &roles->columns}) {
      base::Count size = 1;
      for (const int d : *group) size = base::checked_multiply(size, einsum.dimensions[d].bound);
      sizes.push_back(size);
    }
  } else {
    for (int d = 0; d < static_cast<int>(einsum.dimensions.size()); ++d)
      if (einsum.dimensions[d].bound > 1 && einsum.relevant(roles->moving, d))
        sizes.push_back(einsum.dimensions[d].bound);
    if (sizes.size() > 2) return std::nullopt;
    sizes.resize(2, 1);
  }
  role.smaller = std::min(sizes[0], sizes[1]);
  role.larger = std::max(sizes[0], sizes[1]);
  return role;
}

void fuse_side(const FuseSides& fuse, LayerQuestion& layer) {
  if (!fuse.level.empty()) Side(fuse, layer).constrain();
}

}  // namespace orrery::verbs
