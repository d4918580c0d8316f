// Broken invariants of Orrery itself, as opposed to mistakes in a user's input (base/diagnostics/diagnostic.h).
// A failed check throws InternalError; program/command.cc turns it into exit code 101 and a request to report it.
#pragma once

#include <stdexcept>
#include <string>

namespace orrery::base {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& why);

}  // namespace orrery::base

#define ORRERY_CHECK(condition, why)                                                   \
  do {                                                                                 \
    if (!(condition)) ::orrery::base::fail_check(#condition, __FILE__, __LINE__, why); \
  } while (false)
