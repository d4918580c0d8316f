// Accelerator i of p has stage i of microbatches that go down the pipeline and stage p - 1 - i of those that go up;
// half of the m microbatches go either way. With r its distance from the nearer end and h = p/2, it does, in this
// order,
//
//   2 (h - r - 1)    F                   one way: the pipeline fills
//   r + 1            F, F                one, other
//   h - r - 1        I, W, F             other: the first come back, weight gradients apart
//   m/2 - p + r + 1  F&B, F&B            one beside other, other beside one
//   h - r - 1        B, F&B              other; other beside one
//   r + 1            B, B                other, one; weight gradients of the second half are put off
//   h - r - 1        W, I                one
//   r + 1            W
//
// (F forward, I backward with respect to inputs, W to weights, B = I + W, F&B side by side; the two in the middle do
// their first F&B apart). Read off the schedule that its authors published (deepseek-ai/DualPipe). An event waits for
// the same microbatch on the stage before (F) or behind (I, B). For equal stages with F = I = W
//
//   end = m F&B + (p/2 - 1) (F&B + B - 3 W) + (p + 1) (F + B - F&B)
//
// the middle term as in the report, the last for the pairs that come apart. Cost: linear in the events for every sweep.
#include "orrery/engines/cluster/pipeline/dualpipe.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "orrery/base/diagnostics/check.h"

namespace orrery::cluster {
namespace {

using base::Count;

enum class Turn { kForward, kInput, kBackward, kWeight, kPair };

// `way` 0: the direction that enters at the accelerator's own end; of a pair that of the forward pass.
struct Step {
  Turn turn;
  int way;
};

std::vector<Step> order_of(Count from_end, Count half, Count m) {
  std::vector<Step> order;
  const auto repeat = [&](Count times, const auto& steps) {
    for (Count i = 0; i < times; ++i) order.insert(order.end(), steps.begin(), steps.end());
  };
  const Count inside = half - from_end - 1;
  repeat(2 * inside, std::array{Step{Turn::kForward, 0}});
  repeat(from_end + 1, std::array{Step{Turn::kForward, 0}, Step{Turn::kForward, 1}});
  repeat(inside, std::array{Step{Turn::kInput, 1}, Step{Turn::kWeight, 1}, Step{Turn::kForward, 1}});
  const Count steady = m / 2 - 2 * half + from_end + 1;
  if (inside == 0) repeat(1, std::array{Step{Turn::kForward, 0}, Step{Turn::kBackward, 1}, Step{Turn::kPair, 1}});
  repeat(inside == 0 ? steady - 1 : steady, std::array{Step{Turn::kPair, 0}, Step{Turn::kPair, 1}});
  repeat(inside, std::array{Step{Turn::kBackward, 1}, Step{Turn::kPair, 1}});
  for (Count i = 0; i < 2 * (from_end + 1); ++i)
    order.push_back({i > from_end ? Turn::kInput : Turn::kBackward, i % 2 == 0 ? 1 : 0});
  repeat(inside, std::array{Step{Turn::kWeight, 0}, Step{Turn::kInput, 0}});
  repeat(from_end + 1, std::array{Step{Turn::kWeight, 0}});
  return order;
}

class Simulation {
 public:
  Simulation(const std::vector<StageWork>& stages, Count m, double boundary)
      : stages_(stages), p_(static_cast<Count>(stages.size())), each_way_(m / 2), boundary_(boundary) {
    for (Count i = 0; i < p_; ++i) orders_.push_back(order_of(std::min(i, p_ - 1 - i), p_ / 2, m));
    free_.assign(stages.size(), 0);
    next_.assign(stages.size(), 0);
    done_.assign(stages.size(), {});
    ends_.assign(static_cast<std::size_t>(4 * p_ * each_way_), -1);
  }

  std::vector<StageEvent> run() {
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (Count i = 0; i < p_; ++i)
        while (next_[at(i)] < orders_[at(i)].size() && advance(i)) advanced = true;
    }
    for (std::size_t i = 0; i < orders_.size(); ++i)
      ORRERY_CHECK(next_[i] == orders_[i].size(), "a pipeline schedule waits for itself");
    std::stable_sort(events_.begin(), events_.end(), [](const StageEvent& a, const StageEvent& b) {
      return std::tie(a.start_s, a.stage) < std::tie(b.start_s, b.stage);
    });
    return std::move(events_);
  }

 private:
  static std::size_t at(Count i) { return static_cast<std::size_t>(i); }

  // 0 down the pipeline, 1 up.
  int direction(Count accelerator, int way) const { return accelerator < p_ / 2 ? way : 1 - way; }
  Count stage(Count accelerator, int direction) const { return direction == 0 ? accelerator : p_ - 1 - accelerator; }

  double& end_of(bool forward, int direction, Count stage, Count microbatch) {
    return ends_[at((((forward ? 0 : 2) + direction) * p_ + stage) * each_way_ + microbatch)];
  }

  // When the next forward or backward pass of a way can begin; negative: not yet known.
  double ready(Count accelerator, bool forward, int way) {
    const int to = direction(accelerator, way);
    const Count own = stage(accelerator, to);
    const Count microbatch = done_[at(accelerator)][forward ? 0 : 1][at(way)];
    if (forward) return own == 0 ? 0 : end_of(true, to, own - 1, microbatch);
    return own == p_ - 1 ? end_of(true, to, own, microbatch) : end_of(false, to, own + 1, microbatch);
  }

  void end(Count accelerator, bool forward, int way, double start, double shown, double end) {
    Count& microbatch = done_[at(accelerator)][forward ? 0 : 1][at(way)];
    const int to = direction(accelerator, way);
    end_of(forward, to, stage(accelerator, to), microbatch) = end;
    events_.push_back(
        {static_cast<int>(accelerator), to, microbatch, forward ? Work::kForward : Work::kBackward, start, shown});
    ++microbatch;
  }

  bool advance(Count accelerator) {
    const auto [turn, way] = orders_[at(accelerator)][next_[at(accelerator)]];
    const StageWork& work = stages_[at(accelerator)];
    const double backward = work.backward + work.weight_gradient;
    double& free = free_[at(accelerator)];
    if (turn == Turn::kWeight) {
      Count& microbatch = done_[at(accelerator)][2][at(way)];
      events_.push_back({static_cast<int>(accelerator), direction(accelerator, way), microbatch++,
                         Work::kWeightGradient, free, free + work.weight_gradient});
      free += work.weight_gradient;
    } else if (turn == Turn::kPair) {
      const double first = ready(accelerator, true, way), second = ready(accelerator, false, 1 - way);
      if (first < 0 || second < 0) return false;
      const double start = std::max({free, first, second});
      const double all = start + work.forward + backward - work.apart + 2 * boundary_;
      const double before = work.forward / std::max(work.forward + backward, 1e-300);  // as it is shown
      const double middle = start + before * (all - start);
      end(accelerator, true, way, start, middle, all);
      end(accelerator, false, 1 - way, middle, all, all);
      free = all;
    } else {
      const bool forward = turn == Turn::kForward;
      const double needed = ready(accelerator, forward, way);
      if (needed < 0) return false;
      const double start = std::max(free, needed);
      const double own = forward ? work.forward : turn == Turn::kBackward ? backward : work.backward;
      free = start + own + boundary_;
      end(accelerator, forward, way, start, free, free);
    }
    ++next_[at(accelerator)];
    return true;
  }

  const std::vector<StageWork>& stages_;
  Count p_, each_way_;
  double boundary_;
  std::vector<std::vector<Step>> orders_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;                               // when an accelerator can begin its next event
  std::vector<std::array<std::array<Count, 2>, 3>> done_;  // microbatches by work and way
  std::vector<double> ends_;                               // by work, direction, stage, microbatch; -1: not yet
  std::vector<StageEvent> events_;
};

}  // namespace

std::vector<StageEvent> simulate_dualpipe(const std::vector<StageWork>& stages, Count microbatches, double boundary_s) {
  return Simulation(stages, microbatches, boundary_s).run();
}

}  // namespace orrery::cluster
