#include "orrery/verbs/tune/rated_machine.h"

#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/inputs/systems/this_machine.h"

namespace orrery::verbs {

using machine::Precision;

RatedMachine rated_machine(const std::string& system, const std::string& chip, int threads) {
  const bool in_system = !system.empty() && system != kThisMachine;
  if (in_system && chip.empty()) {
    SystemReading reading = read_system(catalogue_directory(), system, {});
    return {reading.system.accelerator, system, false, 0, std::move(reading.inputs), std::move(reading.warnings)};
  }
  if (!chip.empty()) {
    const SystemChip read(chip, {}, {});
    const int bits = read.chip().storages.back().word_bits;
    if (!in_system) return {read.seen_from_outside({}), chip, false, bits, read.inputs(), read.warnings()};
    SystemReading reading = read_system(catalogue_directory(), system, {}, chip);
    return {reading.system.accelerator, chip + " in " + system,     false, bits,
            std::move(reading.inputs),  std::move(reading.warnings)};
  }
  const ThisMachine here(threads);
  const SystemReading reading = with_chip(formats::orrery::read_system(catalogue_directory(), here.document(), {}));
  return {reading.system.accelerator, reading.system.accelerator.name, true, 0, {}, {}};
}

Precision chosen_precision(std::optional<Precision> asked, const RatedMachine& machine) {
  if (machine.word_bits > 0 && asked && 8 * machine::bytes_per_element(*asked) != machine.word_bits)
    base::fail("O1702",
               fmt::format("`{}` computes on words of {} bits, and {} has {:g}", machine.name, machine.word_bits,
                           machine::name(*asked), 8 * machine::bytes_per_element(*asked)),
               {}, "leave `--dtype` out: words are the chip's");
  const auto has = [&](Precision one) { return machine.accelerator.peak(one) > 0; };
  if (!asked) return machine.measured || !has(Precision::kBf16) ? Precision::kFp32 : Precision::kBf16;
  if (has(*asked)) return *asked;
  std::vector<std::string_view> others;
  for (const Precision one :
       {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp8, Precision::kMxfp8, Precision::kNvfp4})
    if (has(one)) others.push_back(machine::name(one));
  base::fail("O1702",
             fmt::format("`{}` has no peak of {}, which shares of it need", machine.name, machine::name(*asked)), {},
             fmt::format("it has {}", base::joined(others, ", ")));
}

}  // namespace orrery::verbs
