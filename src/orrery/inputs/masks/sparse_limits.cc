#include "orrery/inputs/masks/sparse_limits.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::verbs {
namespace {

// In MiB; with as many places as tell a small need from a small room.
std::string mebibytes(double bytes) {
  const double size = bytes / (1 << 20);
  return size < 100 ? fmt::format("{:.3g}", size) : fmt::format("{:.0f}", size);
}

}  // namespace

void demand_room(const base::Budget& budget, double bytes, const std::string& what) {
  if (budget.has_room(bytes)) return;
  base::fail("O1840",
             fmt::format("{} would take {} MiB, and {} may be taken", what, mebibytes(bytes), mebibytes(budget.room())),
             {}, "allow more with `--memory`, or give fewer sequences at a time");
}

base::Diagnostics limits_reached(const std::vector<std::string>& unfinished, bool all, const base::Limits& limits) {
  base::Diagnostics out;
  if (unfinished.empty()) return out;
  const bool stopped = limits.stop != nullptr && limits.stop->load();
  const std::string message =
      fmt::format("{} before all was computed", stopped ? "an interrupt came" : "the limits were reached");
  base::Diagnostic& told = all ? out.error("O1841", message) : out.warning("O1841", message);
  told.note(fmt::format("left out: {}", base::joined(unfinished, "; ")));
  if (!stopped) told.hint("allow more with `--time-limit` or `--memory`");
  return out;
}

}  // namespace orrery::verbs
