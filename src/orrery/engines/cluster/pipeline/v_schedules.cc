// A model is cut into 2 p chunks, and accelerator i of p has the chunks i and 2 p - 1 - i: a microbatch goes down the
// accelerators and comes up again, so that the first and the last chunk are neighbours and so are the two in the
// middle. Who sees a microbatch first sees it last, and holds it long on the way down and briefly on the way up: all
// hold alike. Backward passes are split in I, with respect to inputs, and W, to weights, which fills waits.
//
// ZB-V (arXiv 2401.10241, sec. 6, in the order of PyTorch's ScheduleZBVZeroBubble) of accelerator i, capitals for the
// chunk on the way down:
//
//   2 (p - i) - 1   F            the pipeline fills
//   i               f, F
//   p - i           f, i, w
//   then            F, I, W, f, i, w     until no microbatch is left
//   i               I, i         W put off
//   p - i           I, W
//   the rest        w, W
//
// V-Half and V-Min (arXiv 2405.15362) repeat a block of six slots, shifted by six for each microbatch; in slot
//
//            F      f              i                    I
//   V-Min    i      2 p - 1 - i    2 p + x + i          4 p + x - 1 - i      x = 2 where 3 divides p, else 0
//   V-Half   2 i    3 p - 2 - i    3 p - 1 + y + 2 i    6 p + y - 2 - i      y = 3 where p is even, else 0
//
// and W in the first slots that are free. Slots say the order alone; times follow from what waits for what, as in
// schedule.h. (Their authors move some events of the first and last microbatches to earlier slots, which this leaves
// out.) For F = I = W, in units of one chunk's pass, 6 m a microbatch's work:
//
//              waits              microbatches held      1F1B's
//   ZB-V       p - 1              p                      6 (p - 1), p
//   V-Half     about 3 p          floor((p + 2) / 2)
//   V-Min      about 4 p          floor((p + 4) / 3)
//
// V-Min has no slack: where the three passes differ, it waits in every microbatch, for transfers too. V-Half does not
// while W + 2 I >= 2 F and W + 2 F >= 2 I.
//
// A longer iteration repeats its middle: where one microbatch more, or a few, have shifted all events of three rounds
// alike on every accelerator, as many further ones shift the end by as much. So the time of few microbatches tells that
// of many, exactly, and where the rounds differ twice as many are tried; from 12 p + 32 on, the mean of the last half
// is taken for what follows. Cost: 6 events an accelerator and microbatch, of 3 p + 8 microbatches as a rule.
#include "orrery/engines/cluster/pipeline/v_schedules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "orrery/base/diagnostics/check.h"

namespace orrery::cluster {
namespace {

using base::Count;

struct VStep {
  Work work = Work::kForward;
  int chunk = 0;
  Count microbatch = 0;
};

constexpr int kRound = 6;  // turns of a microbatch on an accelerator

// The order of ZB-V. Turns of microbatches that are not there fall away.
std::vector<VStep> zb_v_order(Count i, Count p, Count m) {
  std::vector<VStep> order;
  order.reserve(static_cast<std::size_t>(kRound * m));
  std::array<std::array<Count, 2>, 3> done{};
  const auto next = [&](Work work, int chunk) {
    Count& microbatch = done[static_cast<std::size_t>(work)][static_cast<std::size_t>(chunk)];
    if (microbatch < m) order.push_back({work, chunk, microbatch});
    ++microbatch;
  };
  const auto back = [&](int chunk) {
    next(Work::kBackward, chunk);
    next(Work::kWeightGradient, chunk);
  };
  const Count& forwards_down = done[0][0];
  const Count& forwards_up = done[0][1];
  const Count all = std::max(m, 2 * p - 1);
  for (Count k = 0; k < 2 * (p - i) - 1; ++k) next(Work::kForward, 0);
  for (Count k = 0; k < i; ++k) next(Work::kForward, 1), next(Work::kForward, 0);
  for (Count k = 0; k < p - i; ++k) next(Work::kForward, 1), back(1);
  while (forwards_up < forwards_down || forwards_down < all) {
    if (forwards_down < all) next(Work::kForward, 0);
    back(0);
    next(Work::kForward, 1);
    back(1);
  }
  for (Count k = 0; k < i; ++k) next(Work::kBackward, 0), next(Work::kBackward, 1);
  for (Count k = 0; k < p - i; ++k) back(0);
  for (const int chunk : {1, 0})
    while (done[2][static_cast<std::size_t>(chunk)] < done[1][static_cast<std::size_t>(chunk)])
      next(Work::kWeightGradient, chunk);
  return order;
}

// The order of a block that is repeated.
std::vector<VStep> block_order(const std::array<Count, 4>& slots, Count m) {
  constexpr std::array<VStep, 4> kBlock = {VStep{Work::kForward, 0}, VStep{Work::kForward, 1},
                                           VStep{Work::kBackward, 1}, VStep{Work::kBackward, 0}};
  const Count end = slots[3] + kRound * (m - 1) + 1;
  std::vector<VStep> at(static_cast<std::size_t>(end), VStep{Work::kForward, 0, -1});
  for (std::size_t k = 0; k < kBlock.size(); ++k)
    for (Count j = 0; j < m; ++j)
      at[static_cast<std::size_t>(slots[k] + kRound * j)] = {kBlock[k].work, kBlock[k].chunk, j};
  std::vector<VStep> order, put_off;
  order.reserve(static_cast<std::size_t>(kRound * m));
  std::size_t made_up = 0;
  for (const VStep& turn : at) {
    if (turn.microbatch >= 0) {
      order.push_back(turn);
      if (turn.work == Work::kBackward) put_off.push_back({Work::kWeightGradient, turn.chunk, turn.microbatch});
    } else if (made_up < put_off.size()) {
      order.push_back(put_off[made_up++]);
    }
  }
  order.insert(order.end(), put_off.begin() + static_cast<std::ptrdiff_t>(made_up), put_off.end());
  return order;
}

std::vector<VStep> order_of(Schedule schedule, Count i, Count p, Count m) {
  if (schedule == Schedule::kZbV) return zb_v_order(i, p, m);
  if (schedule == Schedule::kVMin) {
    const Count x = p % 3 == 0 ? 2 : 0;
    return block_order({i, 2 * p - 1 - i, 2 * p + x + i, 4 * p + x - 1 - i}, m);
  }
  const Count y = p % 2 == 0 ? 3 : 0;
  return block_order({2 * i, 3 * p - 2 - i, 3 * p - 1 + y + 2 * i, 6 * p + y - 2 - i}, m);
}

class VRun {
 public:
  VRun(const std::vector<VWork>& works, Count m, Schedule schedule, double boundary)
      : works_(works), p_(static_cast<Count>(works.size())), m_(m), boundary_(boundary) {
    for (Count i = 0; i < p_; ++i) orders_.push_back(order_of(schedule, i, p_, m));
    done_.resize(works.size());
    ends_.assign(static_cast<std::size_t>(3 * 2 * p_ * m), -1);
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (Count i = 0; i < p_; ++i) advanced = advance(i) || advanced;
      for (Count i = p_; i-- > 0;) advanced = advance(i) || advanced;
    }
    for (std::size_t i = 0; i < orders_.size(); ++i)
      ORRERY_CHECK(done_[i].size() == orders_[i].size(), "a pipeline schedule waits for itself");
  }

  double end() const {
    double last = 0;
    for (const std::vector<double>& done : done_) last = std::max(last, done.back());
    return last;
  }

  // Seconds that `rounds` further microbatches take, if the last rounds before the first accelerator runs out of
  // microbatches have all come equally late after those so many rounds before.
  std::optional<double> period(std::size_t rounds) const {
    const Count last = m_ - 2 * p_ - 2;
    constexpr std::size_t kCompared = 3 * kRound;
    const std::size_t apart = rounds * kRound;
    std::optional<double> all;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      const std::vector<VStep>& order = orders_[i];
      std::size_t at = order.size();
      while (at > 0 &&
             !(order[at - 1].work == Work::kBackward && order[at - 1].chunk == 0 && order[at - 1].microbatch == last))
        --at;
      if (at < kCompared + apart) return std::nullopt;
      for (std::size_t k = at - kCompared; k < at; ++k) {
        const VStep &now = order[k], &before = order[k - apart];
        if (now.work != before.work || now.chunk != before.chunk ||
            now.microbatch != before.microbatch + static_cast<Count>(rounds))
          return std::nullopt;
        const double later = done_[i][k] - done_[i][k - apart];
        if (!all) all = later;
        if (std::abs(later - *all) > 1e-11 * done_[i][k]) return std::nullopt;
      }
    }
    return all;
  }

  std::vector<StageEvent> events() const {
    std::vector<StageEvent> all;
    for (std::size_t i = 0; i < orders_.size(); ++i)
      for (std::size_t k = 0; k < orders_[i].size(); ++k) {
        const VStep& turn = orders_[i][k];
        const double end = done_[i][k];
        all.push_back({static_cast<int>(i), turn.chunk, turn.microbatch, turn.work,
                       end - seconds(static_cast<Count>(i), turn), end});
      }
    std::stable_sort(all.begin(), all.end(), [](const StageEvent& a, const StageEvent& b) {
      return std::tie(a.start_s, a.stage) < std::tie(b.start_s, b.stage);
    });
    return all;
  }

 private:
  double& end_of(Work work, int chunk, Count i, Count microbatch) {
    return ends_[static_cast<std::size_t>(((static_cast<Count>(work) * 2 + chunk) * p_ + i) * m_ + microbatch)];
  }

  double seconds(Count i, const VStep& turn) const {
    const VWork& both = works_[static_cast<std::size_t>(i)];
    const StageWork& work = turn.chunk == 0 ? both.down : both.up;
    if (turn.work == Work::kWeightGradient) return work.weight_gradient;
    return boundary_ + (turn.work == Work::kForward ? work.forward : work.backward);
  }

  // When the result that a turn needs is there; negative: not yet known.
  double ready(Count i, const VStep& turn) {
    const auto [work, chunk, microbatch] = turn;
    if (work == Work::kWeightGradient) return end_of(Work::kBackward, chunk, i, microbatch);
    const bool forward = work == Work::kForward;
    if ((chunk == 0) == forward) {  // from the accelerator before
      if (forward) return i > 0 ? end_of(work, 0, i - 1, microbatch) : 0;
      return i > 0 ? end_of(work, 1, i - 1, microbatch) : end_of(Work::kForward, 1, i, microbatch);
    }
    if (i < p_ - 1) return end_of(work, chunk, i + 1, microbatch);
    return forward ? end_of(work, 0, i, microbatch) : end_of(work, 1, i, microbatch);
  }

  // Does what the accelerator can do; whether that was anything.
  bool advance(Count i) {
    const std::vector<VStep>& order = orders_[static_cast<std::size_t>(i)];
    std::vector<double>& done = done_[static_cast<std::size_t>(i)];
    const std::size_t before = done.size();
    while (done.size() < order.size()) {
      const VStep& turn = order[done.size()];
      const double needed = ready(i, turn);
      if (needed < 0) break;
      const double end = std::max(needed, done.empty() ? 0 : done.back()) + seconds(i, turn);
      end_of(turn.work, turn.chunk, i, turn.microbatch) = end;
      done.push_back(end);
    }
    return done.size() > before;
  }

  const std::vector<VWork>& works_;
  Count p_, m_;
  double boundary_;
  std::vector<std::vector<VStep>> orders_;
  std::vector<std::vector<double>> done_;  // ends of an accelerator's turns, in its order
  std::vector<double> ends_;               // by work, chunk, accelerator, microbatch; -1: has not happened
};

}  // namespace

std::vector<StageEvent> simulate_v(const std::vector<VWork>& accelerators, Count microbatches, Schedule schedule,
                                   double boundary_s) {
  return VRun(accelerators, microbatches, schedule, boundary_s).events();
}

double v_seconds(const std::vector<VWork>& accelerators, Count microbatches, Schedule schedule) {
  const auto p = static_cast<Count>(accelerators.size());
  const auto end = [&](Count some) { return VRun(accelerators, some, schedule, 0).end(); };
  const Count least = 3 * p + 8, most = 4 * least;
  for (Count some = std::min(microbatches, least);; some = std::min(microbatches, 2 * some)) {
    const VRun run(accelerators, some, schedule, 0);
    if (some == microbatches) return run.end();
    for (const std::size_t rounds : {1, 2, 3, 4, 6}) {
      const std::optional<double> takes = run.period(rounds);
      if (!takes) continue;
      const Count left = (microbatches - some) % static_cast<Count>(rounds);
      const auto repeats = static_cast<double>((microbatches - some - left) / static_cast<Count>(rounds));
      return (left == 0 ? run.end() : end(some + left)) + repeats * *takes;
    }
    if (some >= most)
      return run.end() + static_cast<double>(microbatches - some) * (run.end() - end(some / 2)) /
                             static_cast<double>(some - some / 2);
  }
}

double v_crossings(Schedule schedule, Count accelerators, Count microbatches) {
  const auto p = static_cast<double>(accelerators), m = static_cast<double>(microbatches);
  const bool many = microbatches > 1;
  if (schedule == Schedule::kVHalf) return 4 * p - 4 + (many && accelerators % 2 == 0 ? 2 : 0);
  if (schedule == Schedule::kVMin) return 2 * m + 4 * p - 6 + (many && accelerators % 3 == 0 ? 2 : 0);
  return m <= p ? 4 * p - 2 - 2 * m : 2 * m < 3 * p ? 2 * p - 2 : std::max(p - 1, 3 * p - 2 - m);
}

Count v_held(Schedule schedule, Count accelerators) {
  if (schedule == Schedule::kVMin) return (accelerators + 4) / 3;
  return schedule == Schedule::kVHalf ? (accelerators + 2) / 2 : accelerators;
}

}  // namespace orrery::cluster
