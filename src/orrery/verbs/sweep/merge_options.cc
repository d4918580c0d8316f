#include <fmt/format.h>

#include "orrery/cli/command_line.h"
#include "orrery/verbs/sweep/points/build.h"
#include "orrery/verbs/sweep/report.h"
#include "orrery/verbs/sweep/store/merge_stores.h"

namespace orrery::verbs {

int run_merge(const Arguments& arguments, Console& console) {
  std::vector<std::string> sources;
  std::string target = "merged.db";
  CommandLine line("merge", "The stores of shards and machines, joined", "orrery merge a.db b.db --store all.db");
  line.words("STORES", sources, "Stores of `orrery sweep`", true);
  line.text("--store", target, "FILE", "Where they are joined, made where there is none; default: merged.db");
  if (!line.read(arguments, console)) return kDone;
  const store::Version build = sweep::this_build();
  const store::Merged merged = store::merge(target, sources, build);
  if (!console.quiet)
    console.err << fmt::format("{} studies, {} points and {} results were new\n", merged.studies, merged.points,
                               merged.results);
  store::Store store(target, store::Store::Mode::kRead, build);
  const StoreStatus status{target, store.check(), store.studies()};
  if (console.json)
    console.out << sweep_status_document().json(status, 0, console.command);
  else
    print(console, verbs::sweep_status_table(status));
  return kDone;
}

}  // namespace orrery::verbs
