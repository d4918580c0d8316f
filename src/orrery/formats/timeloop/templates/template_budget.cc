#include "orrery/formats/timeloop/templates/template_budget.h"

#include <fmt/format.h>

namespace orrery::formats::timeloop::jinja {
namespace {

constexpr int kMostDepth = 400;
constexpr std::size_t kBytesOfAStep = 64;

}  // namespace

void Budget::step(const base::Location& where, std::size_t made) {
  const std::size_t cost = 1 + made / kBytesOfAStep;
  if (cost > steps_left_)
    base::fail("O2026", "the template takes more than 100000 steps", where,
               "does a loop go through too much? a loop over dimensions or levels takes a few hundred");
  steps_left_ -= cost;
}

void Budget::print(const base::Location& where, std::size_t bytes) {
  if (bytes > output_left_)
    base::fail("O2026", "the template makes more than 128 KiB of text beside that of its files", where,
               "does a loop repeat too much, or is a file included too often?");
  output_left_ -= bytes;
}

Budget::Depth::Depth(Budget& budget, const base::Location& where) : budget_(budget) {
  if (budget_.depth_ >= kMostDepth)
    base::fail("O2026", fmt::format("the template nests more than {} evaluations", kMostDepth), where,
               "does a macro call itself?");
  ++budget_.depth_;
}

}  // namespace orrery::formats::timeloop::jinja
