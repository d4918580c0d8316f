#include "orrery/verbs/sparse/pack/run.h"

#include <fmt/format.h>

#include "orrery/inputs/masks/sparse_folder.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using base::Count;

// What one mask comes to. Throws Unfinished where not every scheme could be packed.
PackedMask packed(const SparsePackRequest& request, const std::string& path, const MaskFiles& all, double share,
                  const base::Budget& budget, SparsePack& out) {
  SparseArrayFiles files;
  files.valid = request.valid;
  files.causal = request.causal;
  const masks::Mask mask = read_listed_mask(path, request.columns, files, all, out.inputs, budget);
  const masks::Mask inside = masks::inside_valid(mask);
  PackedMask one;
  one.name = path;
  one.shape = mask.shape();
  one.kept = inside.kept();
  one.kept_outside = mask.kept() - one.kept;
  one.pairs = mask.valid_pairs();
  warn_of_outside(path, one.kept_outside, out.warnings);
  const base::Budget own(budget, budget.seconds_left() * share);
  for (const std::string& name : masks::packing_names()) {
    masks::Packing* const packing = name == "orrery" ? &one.packing : nullptr;
    one.schemes.push_back(masks::pack_by(name, inside, request.array, own, request.effort, packing));
  }
  return one;
}

}  // namespace

SparsePack pack_sparse(const SparsePackRequest& request) {
  SparsePack out;
  out.array = request.array;
  out.design = masks::array_design(request.array);
  const base::Budget budget(request.limits);
  LimitedSteps steps(budget);
  const MaskFiles files = mask_files(request.mask);
  for (std::size_t i = 0; i < files.masks.size(); ++i)
    if (!steps.run(fmt::format("`{}`{}", files.masks[i], i + 1 < files.masks.size() ? " and what follows it" : ""),
                   [&] {
                     const double share = 1 / static_cast<double>(files.masks.size() - i);
                     out.masks.push_back(packed(request, files.masks[i], files, share, budget, out));
                   }))
      break;
  for (const PackedMask& one : out.masks) {
    out.matrices += one.shape.matrices();
    out.kept += one.kept;
    out.kept_outside += one.kept_outside;
    out.pairs += one.pairs;
  }
  for (std::size_t s = 0; s < masks::packing_names().size() && !out.masks.empty(); ++s) {
    std::vector<masks::PackedScheme> same;
    for (const PackedMask& one : out.masks) same.push_back(one.schemes[s]);
    out.schemes.push_back(masks::sum_of(same));
  }
  out.unfinished = steps.unfinished();
  out.interrupted = budget.interrupted();
  out.warnings.append(limits_reached(out.unfinished, out.masks.empty(), request.limits));
  return out;
}

}  // namespace orrery::verbs
