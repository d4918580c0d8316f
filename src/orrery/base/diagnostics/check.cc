#include "orrery/base/diagnostics/check.h"

#include <fmt/format.h>

namespace orrery::base {

void fail_check(const char* condition, const char* file, int line, const std::string& why) {
  throw InternalError(fmt::format("{}:{}: check `{}` failed: {}", file, line, condition, why));
}

}  // namespace orrery::base
