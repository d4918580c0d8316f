// A level counts as present when the processor reports its instructions (cpuid) and the operating system saves the
// registers they use (XCR0): both are needed, a hypervisor may hide either. The compiler's __builtin_cpu_supports asks
// for both.
#include "orrery/kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "orrery/base/diagnostic.h"
#include "orrery/kernels/table.h"

namespace orrery::kernels {
namespace {

constexpr struct {
  Level level;
  std::string_view name;
} kNames[] = {{Level::kPortable, "portable"},
              {Level::kAvx2, "avx2"},
              {Level::kAvx512, "avx512"},
              {Level::kAvx512Bf16, "avx512_bf16"}};

#if defined(__x86_64__)
bool runs(Level level) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (level) {
    case Level::kPortable:
      return true;
    case Level::kAvx2:
      return avx2;
    case Level::kAvx512:
      return avx512;
    case Level::kAvx512Bf16:
      return avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  }
  return false;
}
#else
bool runs(Level level) {
  return level == Level::kPortable;
}
#endif

[[noreturn]] void refuse(const char* code, const std::string& message, const std::string& hint) {
  throw base::InputError({base::Diagnostic{code, base::Severity::kError, message, {}, {}, {}, {hint}}});
}

std::string listed(const std::vector<Level>& all) {
  std::string text;
  for (const Level level : all) text += (text.empty() ? "" : ", ") + std::string(name_of(level));
  return text;
}

}  // namespace

std::string_view name_of(Level level) {
  for (const auto& [known, name] : kNames) {
    if (known == level) return name;
  }
  return "";
}

std::optional<Level> level_named(std::string_view name) {
  for (const auto& [level, known] : kNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

std::vector<Level> levels() {
  std::vector<Level> found;
  for (const auto& [level, name] : kNames) {
    if (runs(level) && table_of(level) != nullptr) found.push_back(level);
  }
  return found;
}

Level level_for(std::string_view wanted, const std::vector<Level>& present) {
  const std::string hint = "this machine has " + listed(present) + "; without ORRERY_ISA, the last of them is taken";
  const std::optional<Level> level = level_named(wanted);
  if (!level) refuse("O1501", "ORRERY_ISA names no instruction set: '" + std::string(wanted) + "'", hint);
  if (std::find(present.begin(), present.end(), *level) == present.end()) {
    refuse("O1502",
           "this machine does not run the instruction set that ORRERY_ISA names: '" + std::string(wanted) + "'", hint);
  }
  return *level;
}

Level chosen_level() {
  const std::vector<Level> present = levels();
  const char* wanted = std::getenv("ORRERY_ISA");
  return wanted == nullptr || *wanted == '\0' ? present.back() : level_for(wanted, present);
}

}  // namespace orrery::kernels
