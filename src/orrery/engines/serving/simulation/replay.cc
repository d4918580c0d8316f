// Replicas have a scheduler each and share nothing but the router. Time is a whole number of nanoseconds. Two kinds of
// events: a request arrives, and goes to a replica, which begins a step if it has none; a step ends, its tokens are
// there, and the next one begins at once. Of events at one time, arrivals come first, then replicas in order, so that
// equal questions have equal answers. A request that arrives during a step is first looked at when that ends.
//
// Cost: a step of S sequences some 2 us and 5 ns for each sequence.
#include "orrery/engines/serving/simulation/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Replica {
  Scheduler scheduler;
  std::int64_t ends = kNever;  // its step
};

class Run {
 public:
  Run(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
      const SimulationOptions& options)
      : steps_(steps), limits_(limits), requests_(requests), options_(options) {
    for (Count r = 0; r < steps.deployment().replicas; ++r) replicas_.push_back({Scheduler(limits, requests), kNever});
    out_.requests.resize(requests.size());
  }

  Simulation run() {
    if (options_.users > 0)
      for (Count u = 0; u < options_.users; ++u) arrive(0);
    for (;;) {
      if (options_.budget != nullptr && options_.budget->spent()) {
        out_.finished = false;
        return std::move(out_);
      }
      const std::int64_t arrival =
          options_.users == 0 && next_ < requests_.size() ? requests_[next_].arrival_ns : kNever;
      Replica& first = *std::min_element(replicas_.begin(), replicas_.end(),
                                         [](const Replica& a, const Replica& b) { return a.ends < b.ends; });
      if (arrival == kNever && first.ends == kNever && !begin_all(now_)) break;
      now_ = std::min(arrival, first.ends);
      if (now_ == kNever) continue;
      if (arrival <= first.ends) {
        arrive(arrival);
        // Those that come at the same time are there when the step begins.
        if (next_ >= requests_.size() || requests_[next_].arrival_ns > arrival) begin_all(arrival);
      } else {
        end_step(first);
      }
    }
    summarise();
    return std::move(out_);
  }

 private:
  void arrive(std::int64_t now) {
    if (next_ >= requests_.size()) return;
    const auto request = static_cast<std::int32_t>(next_);
    out_.requests[next_].arrival = now;
    std::size_t to = next_ % replicas_.size();
    if (options_.router == Router::kLeastLoad)
      to = static_cast<std::size_t>(
          std::min_element(replicas_.begin(), replicas_.end(),
                           [](const Replica& a, const Replica& b) { return a.scheduler.load() < b.scheduler.load(); }) -
          replicas_.begin());
    replicas_[to].scheduler.add(request);
    ++next_;
  }

  // True: a replica has begun a step.
  bool begin_all(std::int64_t now) {
    bool any = false;
    for (Replica& replica : replicas_)
      if (replica.ends == kNever && !replica.scheduler.idle()) begin(replica, now), any = true;
    return any;
  }

  void begin(Replica& replica, std::int64_t now) {
    const Scheduler::Step& step = replica.scheduler.next();
    StepWork work;
    for (const Scheduler::Share& share : step.shares) {
      // Of a preempted sequence, what is computed again is a prompt's.
      if (replica.scheduler.decodes(share))
        work.add_decode(share.context + 1);
      else
        work.add_prompt(share.tokens, share.context, replica.scheduler.ends_prompt(share));
    }
    for (const std::int32_t request : step.preempted) ++out_.requests[static_cast<std::size_t>(request)].preemptions;
    out_.preemptions += static_cast<std::int64_t>(step.preempted.size());
    out_.most_blocks = std::max(out_.most_blocks, limits_.blocks - replica.scheduler.free_blocks());
    const std::int64_t takes = std::max<std::int64_t>(1, base::saturated(seconds(work) * 1e9 + 0.5));
    replica.ends = now + takes;
    busy_ += takes;
    ++out_.steps;
  }

  // Steps that only decode differ in their contexts alone, which only attention sees.
  double seconds(const StepWork& work) {
    if (work.prompt_tokens > 0 || !steps_.deployment().graphs) return steps_.seconds(work);
    const auto n = static_cast<std::size_t>(work.decodes);
    if (n >= besides_attention_.size()) besides_attention_.resize(n + 1, -1);
    if (besides_attention_[n] < 0) besides_attention_[n] = steps_.seconds(work) - steps_.attention_seconds(work);
    return besides_attention_[n] + steps_.attention_seconds(work);
  }

  void end_step(Replica& replica) {
    Count ended = 0;
    replica.scheduler.complete([&](std::int32_t request, std::int32_t produced, bool last) {
      if (produced == 1) out_.requests[static_cast<std::size_t>(request)].first = now_;
      if (!last) return;
      out_.requests[static_cast<std::size_t>(request)].end = now_;
      ++ended;
    });
    replica.ends = kNever;
    if (options_.users > 0)
      for (; ended > 0; --ended) arrive(now_);
    begin_all(now_);
  }

  Percentile percentile(const std::vector<double>& sorted, double share) const {
    const double n = static_cast<double>(sorted.size());
    const auto at = [&](double place) {
      const double inside = std::clamp(std::ceil(place), 1.0, n);
      return sorted[static_cast<std::size_t>(base::saturated(inside)) - 1];
    };
    const double spread = 1.96 * std::sqrt(n * share * (1 - share));
    return {at(n * share), at(n * share - spread), at(n * share + spread)};
  }

  void summarise() {
    if (requests_.empty()) return;
    std::vector<double> first;
    double tokens = 0, prompts = 0, tpot = 0, with_tpot = 0;
    std::int64_t last = 0, begun = kNever;
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      const Served& s = out_.requests[r];
      first.push_back(static_cast<double>(s.first - s.arrival) * 1e-9);
      out_.e2e_mean += static_cast<double>(s.end - s.arrival) * 1e-9;
      if (requests_[r].output > 1) {
        tpot += static_cast<double>(s.end - s.first) * 1e-9 / (requests_[r].output - 1);
        ++with_tpot;
      }
      tokens += requests_[r].output;
      prompts += requests_[r].prompt;
      last = std::max(last, s.end);
      begun = std::min(begun, s.arrival);
    }
    const double n = static_cast<double>(requests_.size());
    out_.ttft_mean = std::accumulate(first.begin(), first.end(), 0.0) / n;
    out_.tpot_mean = with_tpot > 0 ? tpot / with_tpot : 0;
    out_.e2e_mean /= n;
    out_.seconds = static_cast<double>(last - begun) * 1e-9;
    out_.output_tokens_per_s = tokens / out_.seconds;
    out_.busy = static_cast<double>(busy_) * 1e-9 / (out_.seconds * static_cast<double>(replicas_.size()));
    Count hits = 0;
    for (const Replica& replica : replicas_) hits += replica.scheduler.hit_tokens();
    out_.hit_share = static_cast<double>(hits) / prompts;
    std::sort(first.begin(), first.end());
    out_.ttft_p50 = percentile(first, 0.5);
    out_.ttft_p99 = percentile(first, 0.99);
  }

  const StepModel& steps_;
  const SchedulerLimits limits_;
  const std::vector<Request>& requests_;
  const SimulationOptions options_;
  std::vector<Replica> replicas_;
  std::vector<double> besides_attention_;  // of steps that decode so many sequences; negative: not known yet
  Simulation out_;
  std::size_t next_ = 0;  // the next request to arrive
  std::int64_t now_ = 0, busy_ = 0;
};

}  // namespace

void check(const Deployment& d, const SchedulerLimits& limits, const std::vector<Request>& requests,
           base::Diagnostics& found) {
  if (d.engine != Engine::kVllm)
    found
        .error("O2075",
               fmt::format("the simulation has the rules of vllm alone, not those of {}", rules(d.engine).name))
        .hint("leave `--simulate` out: the closed form knows all three engines");
  if (d.pp > 1 || d.dp > 1)
    found.error("O2075", fmt::format("the simulation does not know pipelines or groups in a replica: pp = {}, dp = {}",
                                     d.pp, d.dp));
  if (d.drafted > 0)
    found.error("O2075", "the simulation does not know guesses: a sequence adds one token in a step")
        .hint("leave `--speculate` or `--simulate` out");
  if (limits.blocks > std::numeric_limits<std::int32_t>::max() / 2)
    found.error("O2075", fmt::format("{} blocks are more than the simulation counts", limits.blocks));
  std::int64_t before = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Request& request = requests[r];
    const Count length = Count{request.prompt} + request.output;
    if (request.prompt < 1 || request.output < 1)
      found.error("O2075", fmt::format("request {} has {} and {} tokens; each needs at least one", r + 1,
                                       request.prompt, request.output));
    else if (base::ceil_divide(length - 1, limits.block_tokens) > limits.blocks)
      found.error("O2075", fmt::format("request {} needs {} blocks for its {} tokens, but there are {}", r + 1,
                                       base::ceil_divide(length - 1, limits.block_tokens), length, limits.blocks));
    else if (limits.context > 0 && length > limits.context)
      found.error("O2075",
                  fmt::format("request {} has {} tokens, but sequences at most {}", r + 1, length, limits.context));
    else if (!limits.chunked && length - 1 > limits.max_batched_tokens)
      found.error("O2075", fmt::format("request {} may have to compute {} tokens at once, but a step has at most {}",
                                       r + 1, length - 1, limits.max_batched_tokens));
    else if (request.arrival_ns < before)
      found.error("O2075", fmt::format("request {} arrives before the one that stands before it", r + 1));
    else
      before = request.arrival_ns;
    if (found.has_errors()) return;
  }
}

SchedulerLimits limits_of(const Deployment& d, const KvMemory& memory) {
  SchedulerLimits out;
  out.blocks = memory.blocks;
  out.block_tokens = memory.block_tokens;
  out.max_sequences = d.max_sequences;
  out.max_batched_tokens = d.max_batched_tokens;
  out.context = d.context;
  return out;
}

Simulation simulate(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
                    const SimulationOptions& options) {
  return Run(steps, limits, requests, options).run();
}

std::vector<Request> requests_of(const Load& load, std::size_t count, std::uint64_t seed) {
  base::SplitMix random(seed);
  std::vector<Request> out(count);
  double now = 0;
  for (Request& request : out) {
    if (load.rate) now += -std::log(1 - uniform(random)) / *load.rate;
    request.arrival_ns = base::saturated(now * 1e9);
    request.prompt = static_cast<std::int32_t>(std::min<Count>(load.prompt.draw(random), 1 << 30));
    request.output = static_cast<std::int32_t>(std::min<Count>(load.output.draw(random), 1 << 30));
  }
  return out;
}

}  // namespace orrery::serving
