#include "orrery/verbs/sweep/points/build.h"

#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/mapped_file.h"
#include "orrery/base/version.h"
#include "orrery/inputs/catalogue/program_file.h"

namespace orrery::sweep {

store::Version this_build() {
  store::Version out{base::kVersion, "unknown"};
  try {
    const base::MappedFile program(verbs::program_file().string());
    out.build = base::content_hash(program.bytes());
  } catch (const base::InputError&) {  // a system without /proc: the version has to do
  }
  return out;
}

}  // namespace orrery::sweep
