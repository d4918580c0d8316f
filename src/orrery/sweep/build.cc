#include "orrery/sweep/build.h"

#include <string_view>

#include "orrery/base/content_hash.h"
#include "orrery/base/diagnostic.h"
#include "orrery/base/mapped_file.h"
#include "orrery/base/version.h"

namespace orrery::sweep {

store::Version this_build() {
  store::Version out{base::kVersion, "unknown"};
  try {
    const base::MappedFile program("/proc/self/exe");
    out.build = base::content_hash(program.bytes());
  } catch (const base::InputError&) {  // a system without /proc: the version has to do
  }
  return out;
}

}  // namespace orrery::sweep
