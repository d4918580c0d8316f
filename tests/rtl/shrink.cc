// Shrinking, as delta debugging does: the stimulus ends where the difference shows; runs of cycles are left out, half
// of them first and single ones last; then cycles, fields and single numbers are zeroed and numbers halved, as long as
// any difference stays. Every trial is a run from reset; their number and their time are bounded.
#include <algorithm>
#include <chrono>

#include "tests/rtl/cosim.h"

namespace orrery::rtl {
namespace {

class Shrinker {
 public:
  Shrinker(Unit& unit, std::vector<Cycle> stimulus) : unit_(unit), best_(std::move(stimulus)) {}

  std::vector<Cycle> shrunk() {
    accept(best_);
    for (bool better = true; better && may_try();) {
      better = drop_cycles();
      better = zero_numbers() || better;
    }
    return best_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kTrials = 20'000;
  static constexpr std::chrono::seconds kTime{60};  // a trial of the whole accelerator takes milliseconds

  bool may_try() const { return trials_ < kTrials && Clock::now() < end_; }

  // Takes the stimulus, cut off after its difference, if there is one.
  bool accept(std::vector<Cycle> stimulus) {
    ++trials_;
    const auto difference = run(unit_, stimulus);
    if (!difference) return false;
    stimulus.resize(difference->cycle + 1);
    best_ = std::move(stimulus);
    return true;
  }

  bool drop_cycles() {
    bool better = false;
    for (std::size_t size = std::max<std::size_t>(1, best_.size() / 2); size > 0; size /= 2)
      for (std::size_t from = 0; from + size <= best_.size() && may_try();) {
        std::vector<Cycle> fewer = best_;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(from),
                    fewer.begin() + static_cast<std::ptrdiff_t>(from + size));
        if (accept(std::move(fewer)))
          better = true;
        else
          from += size;
      }
    return better;
  }

  bool zero_numbers() {
    bool better = false;
    for (std::size_t t = 0; t < best_.size(); ++t) {
      std::size_t at = 0;
      for (const Field& field : unit_.fields()) {
        const auto count = static_cast<std::size_t>(field.count);
        better = smaller(t, at, count, 64) || better;
        for (std::size_t i = 0; i < count && t < best_.size(); ++i)
          for (const int shift : {64, 1})
            while (t < best_.size() && smaller(t, at + i, 1, shift)) better = true;
        at += count;
        if (t >= best_.size()) return better;
      }
    }
    return better;
  }

  // With the numbers shifted right, if any is not 0.
  bool smaller(std::size_t t, std::size_t from, std::size_t count, int shift) {
    if (t >= best_.size() || !may_try()) return false;
    std::vector<Cycle> with = best_;
    bool any = false;
    for (std::size_t i = from; i < from + count; ++i) {
      any = any || with[t][i] != 0;
      with[t][i] = shift == 64 ? 0 : with[t][i] >> shift;
    }
    return any && accept(std::move(with));
  }

  Unit& unit_;
  std::vector<Cycle> best_;
  std::size_t trials_ = 0;
  Clock::time_point end_ = Clock::now() + kTime;
};

}  // namespace

std::vector<Cycle> shrink(Unit& unit, std::vector<Cycle> stimulus) {
  return Shrinker(unit, std::move(stimulus)).shrunk();
}

}  // namespace orrery::rtl
