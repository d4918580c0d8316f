// A level counts as present when the processor reports its instructions (cpuid) and the operating system saves the
// registers they use (XCR0): both are needed, a hypervisor may hide either. The compiler's __builtin_cpu_supports asks
// for both.
#include "orrery/runtime/kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

constexpr struct {
  Level level;
  std::string_view name;
} kNames[] = {{Level::kPortable, "portable"},       {Level::kAvx2, "avx2"},
              {Level::kAvx512, "avx512"},           {Level::kAvx512Vnni, "avx512_vnni"},
              {Level::kAvx512Bf16, "avx512_bf16"},  {Level::kAmx, "amx"},
              {Level::kAmxEmulated, "amx_emulated"}};

#if defined(__x86_64__)
// Tiles: cpuid's leaf 7 has them, XCR0 says that both of their states are saved, and Linux, asked for the larger one
// (arch_prctl ARCH_REQ_XCOMP_PERM), grants it to this process and to the threads that it starts.
bool tiles_run() {
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24, kInt8 = 1U << 25, kAll = kBf16 | kTile | kInt8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAll) != kAll) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileStates = 3U << 17;
  if ((low & kTileStates) != kTileStates) return false;
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool runs(Level level) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  const bool bf16 = vnni && __builtin_cpu_supports("avx512bf16");
  switch (level) {
    case Level::kPortable:
      return true;
    case Level::kAvx2:
      return avx2;
    case Level::kAvx512:
      return avx512;
    case Level::kAvx512Vnni:
      return vnni;
    case Level::kAvx512Bf16:
      return bf16;
    case Level::kAmx:
      return bf16 && tiles_run();
    case Level::kAmxEmulated:
      break;
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
  if (*level != Level::kAmxEmulated && std::find(present.begin(), present.end(), *level) == present.end()) {
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
