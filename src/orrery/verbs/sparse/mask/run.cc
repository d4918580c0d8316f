#include "orrery/verbs/sparse/mask/run.h"

#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {

SparseMask make_sparse_mask(const SparseMaskRequest& request) {
  MaskPattern read = read_mask_pattern(request.kind);
  if (request.options) request.options(read.pattern);
  const double bits = check_mask_pattern(read, request.tokens, request.heads);
  SparseMask out{request.kind, request.tokens, request.heads, request.seed, {}, {}, read.inputs, read.warnings};
  const base::Budget budget(request.limits);
  // The bits; the same as bytes, and once more on their way to the file.
  demand_room(budget, bits / 8 + (request.writes ? 2 * bits : 0),
              request.writes ? "the mask and its file" : "the mask");
  LimitedSteps steps(budget);
  if (!steps.run("the mask", [&] {
        out.mask = static_mask(read.pattern, request.tokens, request.heads, request.seed, budget);
        out.figures = masks::measure(out.mask, {}, {}, budget);
      }))
    out.mask = {};
  out.warnings.append(limits_reached(steps.unfinished(), true, request.limits));
  return out;
}

}  // namespace orrery::verbs
