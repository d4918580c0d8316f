// Instruction sets that the kernels are compiled for, and which of them this machine runs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace orrery::kernels {

enum class Level {
  kPortable,     // plain C++
  kAvx2,         // AVX2, FMA, F16C
  kAvx512,       // AVX-512 F, BW, DQ, VL
  kAvx512Vnni,   // and AVX512_VNNI
  kAvx512Bf16,   // and AVX512_BF16
  kAmx,          // and AMX tiles of bf16 and int8
  kAmxEmulated,  // the kernels for tiles in plain C++: slow, for tests, on every machine
};

// "portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx", "amx_emulated".
std::string_view name_of(Level level);
std::optional<Level> level_named(std::string_view name);

// What processor and operating system allow, lowest first; at least kPortable, never kAmxEmulated.
std::vector<Level> levels();

// The level of a name. Throws base::InputError when it names none (O1501) or one that is not present (O1502);
// kAmxEmulated is always there.
Level level_for(std::string_view wanted, const std::vector<Level>& present);

// The highest of levels(), or the one that the environment variable ORRERY_ISA names; throws as level_for() does.
Level chosen_level();

}  // namespace orrery::kernels
