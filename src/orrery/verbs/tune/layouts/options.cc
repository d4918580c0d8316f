
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/layouts/report.h"
#include "orrery/verbs/tune/layouts/run.h"

namespace orrery::verbs {

int run_tune_layouts(const Arguments& arguments, Console& console) {
  LayoutsRequest request;
  OutputFolder output;
  CommandLine line("tune layouts", "Every layout in which a contraction of a layer is one call of BLAS",
                   "orrery tune layouts --b 8 --h 16 --i 1024 --j 512 -o layouts");
  line.group("Sizes, as einsum_perms has them");
  line.count("--b", request.b, "Sequences");
  line.count("--h", request.h, "Attention heads");
  line.count("--i", request.i, "Width of a token");
  line.count("--j", request.j, "Positions of queries");
  line.count("--k", request.k, "Positions of keys; default: --j");
  line.count("--p", request.p, "Width of a head; default: --i over --h");
  line.count("--u", request.u, "Width of the feed-forward network; default: four times --i");
  declare(line, output, "Write NAME.csv, NAME-pruned.csv and size-params.txt there");
  if (!line.read(arguments, console)) return kDone;
  return run_verb<LayoutsAnswer>(console, {.answer = [&](Run&) { return tune_layouts(request); },
                                           .document = tune_layouts_document,
                                           .table = layouts_table,
                                           .folder = output,
                                           .names = {"size-params.txt"},
                                           .folder_files = layout_files});
}

}  // namespace orrery::verbs
