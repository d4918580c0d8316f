// On Intel's processors vdpbf16ps counts half the operations a second that fp32 multiply-adds do, on AMD's twice as
// many; what a processor lists says nothing of that, so each is run for a tenth of a millisecond, seven times, in
// registers.
#include "orrery/runtime/kernels/choice.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "orrery/runtime/kernels/probe.h"

namespace orrery::kernels {
namespace {

Choice choose(const Table& table) {
  Choice choice;
  const auto has = [&](Arithmetic a) { return table.product[static_cast<int>(a)].elements != 0; };
  const auto rate = [&](Arithmetic a) -> double& { return choice.rate[static_cast<int>(a)]; };
  if (table.level != Level::kAmxEmulated) {
    for (int i = 0; i < kArithmetics; ++i) {
      const auto arithmetic = static_cast<Arithmetic>(i);
      if (has(arithmetic)) rate(arithmetic) = operations_per_second(table, arithmetic, 1e-4);
    }
  }
  const auto better = [&](Arithmetic other, Arithmetic& best) {
    const bool only_tests = table.level == Level::kAmxEmulated;
    if (has(other) && (only_tests || rate(other) > rate(best))) best = other;
  };
  better(Arithmetic::kBf16Dot, choice.bf16_lanes);
  choice.bf16 = choice.bf16_lanes;
  better(Arithmetic::kBf16Tiles, choice.bf16);
  better(Arithmetic::kF32Tiles, choice.fp32);
  return choice;
}

}  // namespace

const Choice& choice_at(Level level) {
  static std::mutex mutex;
  static std::optional<Choice> known[static_cast<int>(Level::kAmxEmulated) + 1];
  const std::lock_guard<std::mutex> lock(mutex);
  std::optional<Choice>& choice = known[static_cast<int>(level)];
  if (!choice) choice = choose(*table_of(level));
  return *choice;
}

std::string_view name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kF32:
      return "fp32 multiply-adds";
    case Arithmetic::kBf16Wide:
      return "bf16 widened to fp32";
    case Arithmetic::kBf16Dot:
      return "bf16 by vdpbf16ps";
    case Arithmetic::kInt8:
      return "int8";
    case Arithmetic::kUint8:
      return "uint8 by int8";
    case Arithmetic::kBf16Tiles:
      return "bf16 by tiles";
    case Arithmetic::kF32Tiles:
      return "fp32 by six products of bf16 by tiles";
    case Arithmetic::kInt4:
      return "int8 of four bits";
  }
  return "";
}

std::string described(Level level) {
  const Choice& choice = choice_at(level);
  std::string line = std::string(name_of(level)) + ": ";
  const auto add = [&](Arithmetic arithmetic) {
    const double rate = choice.rate[static_cast<int>(arithmetic)];
    line += name_of(arithmetic);
    if (rate > 0) line += fmt::format(" ({:.0f} GFLOP/s a thread)", rate / 1e9);
  };
  add(choice.fp32);
  line += ", ";
  add(choice.bf16);
  line += ", ";
  add(Arithmetic::kInt8);
  return line;
}

}  // namespace orrery::kernels
