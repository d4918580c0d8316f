#include "orrery/engines/nest/model/countable.h"

#include <cmath>

#include <fmt/format.h>

namespace orrery::nest {
namespace {

using base::Count;

constexpr const char* kTooMany = "more than 9223372036854775807, the largest count of 64 bits";

// The port that needs the most cycles.
struct Slowest {
  const machine::Storage* storage = nullptr;
  const base::Location* where = nullptr;
  const char* what = "";
  double words = 0;
  double words_per_cycle = 0;
  double cycles = 0;
};

Slowest slowest_port(const Model& model, const Evaluation& evaluation) {
  const machine::Chip& chip = model.chip();
  Slowest slowest;
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const machine::Storage& storage = chip.storages[i];
    const Units& units = model.levels()[i].units;
    double reads = 0, writes = 0;
    for (std::size_t s = 0; s < evaluation.storages[i].dataspaces.size(); ++s) {
      const DataspaceCost& use = evaluation.storages[i].dataspaces[s];
      const double words = static_cast<double>(units.value[s]) / static_cast<double>(units.word);
      reads += words * static_cast<double>(use.reads);
      writes += words * (static_cast<double>(use.fills) + static_cast<double>(use.updates));
    }
    const auto port = [&](const std::optional<double>& words_per_cycle, double words, const char* what,
                          const base::Location& where) {
      if (!words_per_cycle || words / *words_per_cycle <= slowest.cycles) return;
      slowest = {
          &storage, where.known() ? &where : &storage.where, what, words, *words_per_cycle, words / *words_per_cycle};
    };
    port(storage.read_words_per_cycle, reads, "reads", storage.read_bandwidth_where);
    port(storage.write_words_per_cycle, writes, "writes", storage.write_bandwidth_where);
    port(storage.shared_words_per_cycle, reads + writes, "reads and writes", storage.shared_bandwidth_where);
  }
  return slowest;
}

void require_countable(const Model& model, const Evaluation& evaluation, const char* which) {
  if (evaluation.beyond_cycles == 0) return;
  const Slowest slowest = slowest_port(model, evaluation);
  const bool by_port = slowest.storage && slowest.cycles > static_cast<double>(evaluation.compute.cycles);
  base::Diagnostics found;
  base::Diagnostic& error = found.error("O1005",
                                        fmt::format("{} of `{}` needs {:.4g} cycles, more than 64 bits can count",
                                                    which, model.einsum().name, evaluation.beyond_cycles),
                                        by_port ? *slowest.where : base::Location{});
  if (by_port) {
    error.note(fmt::format("each `{}` {} {:.16g} words / {:g} words per cycle = {:.4g} cycles{}", slowest.storage->name,
                           slowest.what, slowest.words, slowest.words_per_cycle, slowest.cycles,
                           slowest.cycles >= 0x1p63 ? fmt::format(", {}", kTooMany) : ""));
  } else {
    error.note(fmt::format("the compute units need {} cycles", evaluation.compute.cycles));
  }
  if (slowest.cycles < 0x1p63) {
    error.note(fmt::format("with {} cycles of network latencies this is {}", model.latency_cycles(), kTooMany))
        .hint("give smaller latencies");
    throw base::InputError(found.all());
  }
  // Rounded up to two significant digits.
  const double least = slowest.words / 0x1p63;
  const double digit = std::pow(10, std::floor(std::log10(least)) - 1);
  error
      .hint(fmt::format("with this mapping, the bandwidth must be at least {:.2g} words per cycle",
                        (std::floor(least / digit) + 1) * digit))
      .hint("leave the bandwidth out for an unlimited one");
  throw base::InputError(found.all());
}

}  // namespace

void require_countable(const Model& model, const Evaluation& evaluation) {
  require_countable(model, evaluation, "this mapping");
}

void require_countable(const Model& model, const Optimum& optimum) {
  if (!optimum.mapping) return;
  require_countable(model, optimum.evaluation,
                    optimum.certificate.optimal ? "the best mapping" : "the best mapping found so far");
}

Count with_latency(Count sum, Count cycles, const machine::Storage& storage) {
  Count longer = 0;
  if (!__builtin_add_overflow(sum, cycles, &longer)) return longer;
  base::Diagnostics found;
  found
      .error("O1005", fmt::format("with those of `{}`, the latencies of the networks exceed 64 bits", storage.name),
             storage.where)
      .note(fmt::format("{} cycles + {} cycles is {}", sum, cycles, kTooMany))
      .hint("give smaller latencies");
  throw base::InputError(found.all());
}

}  // namespace orrery::nest
