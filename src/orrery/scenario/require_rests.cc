#include "orrery/scenario/require_rests.h"

#include <fmt/format.h>

#include "orrery/base/diagnostic.h"
#include "orrery/nest/legality.h"

namespace orrery::scenario {

void require_rests(const std::vector<LayerQuestion>& questions) {
  base::Diagnostics found;
  for (const LayerQuestion& question : questions)
    if (!nest::may_leave_rests(question.einsum))
      found
          .error("O1950", fmt::format("`{}` has windows that slide, where factors that leave a rest are not modelled",
                                      question.name))
          .hint("use --factors padded, or choose another layer with --layer");
  found.throw_if_errors();
}

}  // namespace orrery::scenario
