// Replicas share nothing but the router. Each has a scheduler for every group of attention; groups step together, and
// a step takes as long as that of the busiest one (engines of models with experts run them in lock-step). Of a model
// that is cut into stages, a replica schedules as many steps ahead as it has stages; each goes through them in order,
// behind the one before. Time is a whole number of nanoseconds. Events: a request arrives, and goes to a group, whose
// replica begins a step if it can; a step ends, its tokens are there, and the next one begins at once; keys and values
// arrive. Of events at one time, arrivals come first, then keys and values, then replicas in order, so that equal
// questions have equal answers. A request that arrives during a step is first looked at when that ends, or, where the
// engine has by then scheduled the next one, when that does.
//
// With two pools, a prompt is read by the first, which has its first token; a group of the second one gives it blocks,
// then its keys and values come, read by the second pool from the first, which holds its blocks until then. The client
// sees the first token with the second pool's first step of it, as in the closed form (pools.cc).
//
// A prefix wins where it is at least half of the prompt and its group has at most 32 requests more than the least
// loaded one: what SGLang's router does by default (cache_threshold, balance_abs_threshold).
//
// Cost: a step of S sequences some 2 us and 5 ns for each sequence.
#include "orrery/engines/serving/simulation/replay.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

constexpr std::size_t kMuchBusier = 32;
constexpr double kPrefixShare = 0.5;
constexpr double kMostStates = 50e6;  // of requests in groups, some 80 bytes each

// A step of a replica, under way: of each group.
struct Flight {
  std::int64_t ends = kNever;
  std::size_t record = 0;  // in the timeline
  std::vector<Scheduler::Step> steps;
};

// A request that a group looks at once its replica has done so many steps.
struct Late {
  std::int64_t steps = 0;
  std::int32_t request = 0;
  std::size_t group = 0;
};

struct Replica {
  const StepModel* steps = nullptr;
  std::vector<Scheduler> groups;
  std::deque<Late> late;
  std::int64_t done = 0;  // steps
  std::deque<Flight> flights;
  std::vector<std::int64_t> stages;  // when each is free
  std::vector<std::int64_t> links;   // the same of each group's to the host

  std::int64_t ends() const { return flights.empty() ? kNever : flights.front().ends; }
};

// A group of attention.
struct Place {
  std::size_t replica = 0, group = 0;
};

// Keys and values that are under way to a group.
struct Transfer {
  std::int64_t ends = 0;
  std::int32_t request = 0;
  Place to;
  bool operator>(const Transfer& other) const {
    return std::pair(ends, request) > std::pair(other.ends, other.request);
  }
};

std::vector<Request> prompts_of(const std::vector<Request>& requests) {
  std::vector<Request> out = requests;
  for (Request& request : out) request.output = 1;
  return out;
}

class Run {
 public:
  Run(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
      const SimulationOptions& options)
      : requests_(requests), options_(options) {
    const Handover* handover = options.handover;
    if (handover != nullptr) prompts_ = prompts_of(requests);
    add_replicas(steps, limits, handover != nullptr ? prompts_ : requests_, first_);
    if (handover != nullptr) {
      for (Replica& replica : replicas_)
        for (Scheduler& group : replica.groups) group.keep_ended();
      add_replicas(handover->steps, handover->limits, requests_, second_);
      read_at_.resize(requests.size());
    }
    out_.requests.resize(requests.size());
  }

  Simulation run() {
    for (Count u = 0; u < options_.users; ++u) arrive(0);
    begin_all();
    for (;;) {
      if (options_.budget != nullptr && options_.budget->spent()) {
        out_.finished = false;
        return std::move(out_);
      }
      const std::int64_t arrival =
          options_.users == 0 && next_ < requests_.size() ? requests_[next_].arrival_ns : kNever;
      const std::int64_t transfer = transfers_.empty() ? kNever : transfers_.top().ends;
      Replica& first = *std::min_element(replicas_.begin(), replicas_.end(),
                                         [](const Replica& a, const Replica& b) { return a.ends() < b.ends(); });
      now_ = std::min({arrival, transfer, first.ends()});
      if (now_ == kNever) break;
      if (arrival == now_) {
        arrive(arrival);
        // Those that come at the same time are there when the step begins.
        if (next_ < requests_.size() && requests_[next_].arrival_ns == arrival) continue;
      } else if (transfer == now_) {
        fetch();
      } else {
        end_step(first);
      }
      begin_all();
    }
    if (std::any_of(out_.requests.begin(), out_.requests.end(), [](const Served& served) { return served.end == 0; }))
      base::fail("O2075", "requests wait for each other's blocks for ever", {}, "take more memory, or fewer users");
    summarise();
    return std::move(out_);
  }

 private:
  void add_replicas(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
                    std::vector<Place>& places) {
    const Deployment& d = steps.deployment();
    const std::size_t before = replicas_.size();
    for (Count r = 0; r < d.replicas; ++r) {
      Replica& one = replicas_.emplace_back();
      one.steps = &steps;
      one.stages.resize(static_cast<std::size_t>(d.pp));
      one.links.resize(static_cast<std::size_t>(d.dp));
      for (Count g = 0; g < d.dp; ++g) one.groups.emplace_back(limits, requests);
    }
    for (std::size_t g = 0; g < static_cast<std::size_t>(d.dp); ++g)
      for (std::size_t r = before; r < replicas_.size(); ++r) places.push_back({r, g});
    blocks_.resize(replicas_.size(), limits.blocks);
    besides_attention_.resize(replicas_.size() > before && before > 0 ? 2 : 1);
  }

  Scheduler& at(const Place& place) { return replicas_[place.replica].groups[place.group]; }

  Place route(const std::vector<Place>& places, std::int32_t request, std::size_t turn) {
    if (options_.router == Router::kRoundRobin) return places[turn % places.size()];
    const auto load = [&](const Place& place) {
      const std::deque<Late>& late = replicas_[place.replica].late;
      return at(place).load() +
             std::count_if(late.begin(), late.end(), [&](const Late& one) { return one.group == place.group; });
    };
    const Place least = *std::min_element(places.begin(), places.end(),
                                          [&](const Place& a, const Place& b) { return load(a) < load(b); });
    if (options_.router == Router::kLeastLoad) return least;
    Place best = least;
    Count most = 0;
    for (const Place& place : places)
      if (const Count has = at(place).cached(request); has > most) most = has, best = place;
    const double share = static_cast<double>(most) / requests_[static_cast<std::size_t>(request)].prompt;
    return share >= kPrefixShare && load(best) <= load(least) + kMuchBusier ? best : least;
  }

  // `late`: of a user whose last request ended just now.
  void arrive(std::int64_t now, bool late = false) {
    if (next_ >= requests_.size()) return;
    const auto request = static_cast<std::int32_t>(next_);
    out_.requests[next_].arrival = now;
    const Place to = route(first_, request, next_);
    if (!read_at_.empty()) read_at_[next_] = to;
    Replica& replica = replicas_[to.replica];
    // What comes while a step runs finds the next one scheduled, where the engine does so ahead; of several stages,
    // steps are under way in any case.
    const Deployment& d = replica.steps->deployment();
    const Count steps = d.pp > 1 ? 0 : late ? d.late_steps() : replica.flights.empty() ? 0 : 1 + d.steps_ahead();
    if (steps > 0)
      replica.late.push_back({replica.done + steps, request, to.group});
    else
      at(to).add(request);
    ++next_;
  }

  void begin_all() {
    for (std::size_t r = 0; r < replicas_.size(); ++r)
      while (replicas_[r].flights.size() < replicas_[r].stages.size() && begin(r)) {
      }
  }

  // False: nothing can run now.
  bool begin(std::size_t number) {
    Replica& replica = replicas_[number];
    look_at_late(replica);
    Flight flight;
    SimulatedStep record;
    double longest = 0;
    bool any = false, some = false;
    for (std::size_t g = 0; g < replica.groups.size(); ++g) {
      Scheduler& group = replica.groups[g];
      if (group.idle()) {
        flight.steps.emplace_back();
        continue;
      }
      const Scheduler::Step& step = group.next();
      any = any || !step.empty(), some = some || !step.shares.empty();
      StepWork work = work_of(group, step);
      work.load_seconds = options_.load_seconds_per_token * step.loaded;
      if (!step.shares.empty()) longest = std::max(longest, seconds(number, work));
      record.prompt_tokens += static_cast<std::int32_t>(work.prompt_tokens);
      record.decodes += static_cast<std::int32_t>(work.decodes);
      for (const std::int32_t request : step.preempted) ++out_.requests[static_cast<std::size_t>(request)].preemptions;
      for (const Scheduler::Share& share : step.fetching)
        transfers_.push({arrival_of(share, replica.links[g]), share.request, {number, g}});
      out_.preemptions += static_cast<std::int64_t>(step.preempted.size());
      const Count held = blocks_[number] - group.free_blocks();
      out_.most_blocks = std::max(out_.most_blocks, held);
      record.blocks += held;
      record.running += static_cast<std::int32_t>(group.running());
      record.waiting += static_cast<std::int32_t>(group.load() - group.running());
      flight.steps.push_back(step);
    }
    if (!some) return any;  // who was preempted may be admitted at once
    const std::int64_t takes = std::max<std::int64_t>(1, nanoseconds(longest));
    std::int64_t time = now_;
    for (std::int64_t& free : replica.stages) time = free = std::max(time, free) + takes;
    flight.ends = time;
    busy_ += takes;
    ++out_.steps;
    if (options_.timeline) {
      record.begin = now_, record.end = time, record.engine = static_cast<std::int32_t>(number);
      flight.record = out_.timeline.size();
      out_.timeline.push_back(record);
    }
    replica.flights.push_back(std::move(flight));
    return true;
  }

  // Where nothing runs, nobody is late.
  static void look_at_late(Replica& replica) {
    const bool idle = replica.flights.empty() && std::all_of(replica.groups.begin(), replica.groups.end(),
                                                             [](const Scheduler& group) { return group.idle(); });
    for (; !replica.late.empty() && (idle || replica.late.front().steps <= replica.done); replica.late.pop_front())
      replica.groups[replica.late.front().group].add(replica.late.front().request);
  }

  // Of keys and values: copies from the host come one after the other.
  std::int64_t arrival_of(const Scheduler::Share& share, std::int64_t& link) const {
    if (options_.handover != nullptr) return now_ + nanoseconds(options_.handover->seconds(share.tokens));
    return link = std::max(now_, link) + nanoseconds(options_.load_seconds_per_token * share.tokens);
  }

  static std::int64_t nanoseconds(double seconds) { return base::saturated(seconds * 1e9 + 0.5); }

  static StepWork work_of(const Scheduler& group, const Scheduler::Step& step) {
    StepWork work;
    for (const Scheduler::Share& share : step.shares) {
      // Of a preempted sequence, what is computed again is a prompt's.
      if (group.decodes(share))
        work.add_decode(share.context + 1);
      else
        work.add_prompt(share.tokens, share.context, group.ends_prompt(share));
    }
    return work;
  }

  // Steps that only decode differ in their contexts alone, which only attention sees.
  double seconds(std::size_t number, const StepWork& work) {
    const StepModel& steps = *replicas_[number].steps;
    if (work.prompt_tokens > 0 || !steps.deployment().graphs) return steps.seconds(work);
    std::vector<double>& known = besides_attention_[&steps == replicas_.front().steps ? 0 : 1];
    const auto n = static_cast<std::size_t>(work.decodes);
    if (n >= known.size()) known.resize(n + 1, -1);
    if (known[n] < 0) known[n] = steps.seconds(work) - steps.attention_seconds(work);
    return known[n] + steps.attention_seconds(work);
  }

  // Keys and values are there.
  void fetch() {
    const Transfer done = transfers_.top();
    transfers_.pop();
    if (!read_at_.empty()) at(read_at_[static_cast<std::size_t>(done.request)]).release(done.request);
    at(done.to).fetched(done.request);
  }

  void end_step(Replica& replica) {
    const Flight flight = std::move(replica.flights.front());
    replica.flights.pop_front();
    ++replica.done;
    const bool reads = options_.handover != nullptr && replica.steps != &options_.handover->steps;
    Count ended = 0;
    for (std::size_t g = 0; g < replica.groups.size(); ++g) {
      const Count before = replica.groups[g].accepted_guesses();
      replica.groups[g].complete(flight.steps[g], [&](std::int32_t request, std::int32_t, bool last) {
        const auto r = static_cast<std::size_t>(request);
        if (reads && requests_[r].output > 1) {
          const Place to = route(second_, request, handed_over_++);
          at(to).add_read(request);
          return;
        }
        Served& served = out_.requests[r];
        if (served.first == 0) served.first = now_;
        if (!last) return;
        if (reads) replica.groups[g].release(request);
        served.end = now_;
        ++ended;
      });
      if (options_.timeline)
        out_.timeline[flight.record].accepted +=
            static_cast<std::int32_t>(replica.groups[g].accepted_guesses() - before);
    }
    if (options_.users > 0)
      for (; ended > 0; --ended) arrive(now_, true);
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
    std::vector<double> first, between, whole;
    double tokens = 0, prompts = 0;
    std::int64_t last = 0, begun = kNever;
    const std::size_t skipped = options_.skip_first + options_.skip_last;
    const std::size_t from = skipped < requests_.size() ? options_.skip_first : 0;
    const std::size_t to = requests_.size() - (skipped < requests_.size() ? options_.skip_last : 0);
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      const Served& s = out_.requests[r];
      tokens += requests_[r].output;
      prompts += requests_[r].prompt;
      last = std::max(last, s.end);
      begun = std::min(begun, s.arrival);
      if (r < from || r >= to) continue;
      first.push_back(static_cast<double>(s.first - s.arrival) * 1e-9);
      whole.push_back(static_cast<double>(s.end - s.arrival) * 1e-9);
      if (requests_[r].output > 1)
        between.push_back(static_cast<double>(s.end - s.first) * 1e-9 / (requests_[r].output - 1));
    }
    const auto mean = [](const std::vector<double>& all) {
      return all.empty() ? 0 : std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    };
    out_.ttft_mean = mean(first), out_.tpot_mean = mean(between), out_.e2e_mean = mean(whole);
    out_.seconds = static_cast<double>(last - begun) * 1e-9;
    out_.output_tokens_per_s = tokens / out_.seconds;
    out_.busy = static_cast<double>(busy_) * 1e-9 / (out_.seconds * static_cast<double>(replicas_.size()));
    Count hits = 0, loaded = 0;
    for (const Place& place : first_) hits += at(place).hit_tokens(), loaded += at(place).loaded_tokens();
    out_.hit_share = static_cast<double>(hits) / prompts;
    out_.loaded_share = static_cast<double>(loaded) / prompts;
    for (std::vector<double>* all : {&first, &between, &whole}) std::sort(all->begin(), all->end());
    out_.ttft_p50 = percentile(first, 0.5);
    out_.ttft_p99 = percentile(first, 0.99);
    if (!between.empty()) out_.tpot_p99 = percentile(between, 0.99);
    out_.e2e_p99 = percentile(whole, 0.99);
  }

  const std::vector<Request>& requests_;
  std::vector<Request> prompts_;  // the same, as the pool that reads prompts has them
  const SimulationOptions options_;
  std::vector<Replica> replicas_;
  std::vector<Place> first_, second_;                   // groups to which requests go, and then with their prompts read
  std::vector<Place> read_at_;                          // of two pools
  std::vector<Count> blocks_;                           // of a group of each replica
  std::vector<std::vector<double>> besides_attention_;  // of steps that decode so many; negative: not known yet
  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> transfers_;
  Simulation out_;
  std::size_t next_ = 0;  // the next request to arrive
  std::size_t handed_over_ = 0;
  std::int64_t now_ = 0, busy_ = 0;
};

// Of who may be paused, all that it has produced is read again.
bool cuts_prompts(const Deployment& d, const KvMemory& memory, const std::vector<Request>& requests) {
  double tokens = 0;
  Count longest = 0;
  for (const Request& request : requests) {
    tokens += request.length();
    longest = std::max<Count>(longest, d.evicts ? request.length() - 1 : request.prompt);
  }
  const Count mean = base::saturated(tokens / static_cast<double>(std::max<std::size_t>(1, requests.size())) + 0.5);
  return cuts_prompts(memory, d, longest, std::max<Count>(1, mean));
}

}  // namespace

void check(const Deployment& d, const SchedulerLimits& limits, const std::vector<Request>& requests,
           base::Diagnostics& found) {
  if (d.drafted > 0 && d.pp > 1)
    found.error("O2075", fmt::format("the simulation does not know guesses in pipelines: pp = {}", d.pp))
        .hint("leave `--simulate` out, or take `--pp 1`");
  if (limits.blocks > std::numeric_limits<std::int32_t>::max() / 2)
    found.error("O2075", fmt::format("{} blocks are more than the simulation counts", limits.blocks));
  const Count groups = d.replicas * d.dp;
  if (static_cast<double>(requests.size()) * static_cast<double>(groups) > kMostStates)
    found
        .error("O2075", fmt::format("{} requests in {} groups of attention are {} states, more than {:.0f}",
                                    requests.size(), groups, static_cast<Count>(requests.size()) * groups, kMostStates))
        .hint("simulate fewer (`--requests 100000`), or one replica with its part of the load");
  std::int64_t before = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Request& request = requests[r];
    const Count length = Count{request.prompt} + request.output;
    // vLLM has blocks for guesses, and for those behind them; SGLang for the former.
    const Count guesses = limits.schedule == Schedule::kVllm     ? 2 * limits.drafted
                          : limits.schedule == Schedule::kSglang ? limits.drafted
                                                                 : 0;
    if (request.prompt < 1 || request.output < 1)
      found.error("O2075", fmt::format("request {} has {} and {} tokens; each needs at least one", r + 1,
                                       request.prompt, request.output));
    else if (const Count needs = base::ceil_divide(length - 1 + guesses, limits.block_tokens); needs > limits.blocks)
      found.error("O2075", fmt::format("request {} needs {} blocks for its {} tokens, but there are {}", r + 1, needs,
                                       length, limits.blocks));
    else if (limits.context > 0 && length > limits.context)
      found.error("O2075",
                  fmt::format("request {} has {} tokens, but sequences at most {}", r + 1, length, limits.context));
    else if (limits.schedule == Schedule::kSglang &&
             length + guesses + limits.block_tokens >= limits.blocks * limits.block_tokens)
      found.error("O2075", fmt::format("request {} has {} tokens, but sglang admits none of {} or more here", r + 1,
                                       length, (limits.blocks - 1) * limits.block_tokens));
    else if (!limits.chunked && limits.schedule != Schedule::kNoEvict && length - 1 > limits.max_batched_tokens)
      found.error("O2075", fmt::format("request {} may have to compute {} tokens at once, but a step has at most {}",
                                       r + 1, length - 1, limits.max_batched_tokens));
    else if (request.arrival_ns < before)
      found.error("O2075", fmt::format("request {} arrives before the one that stands before it", r + 1));
    else
      before = request.arrival_ns;
    if (found.has_errors()) return;
  }
}

SchedulerLimits limits_of(const Deployment& d, const KvMemory& memory, const std::vector<Request>& requests) {
  SchedulerLimits out;
  out.blocks = memory.blocks;
  out.block_tokens = memory.block_tokens;
  const bool states =
      std::any_of(memory.groups.begin(), memory.groups.end(), [](const CacheGroup& g) { return g.state; });
  if ((memory.groups.size() > 1 || states) && !requests.empty()) {
    double tokens = 0, prompts = 0;
    for (const Request& request : requests) tokens += request.length(), prompts += request.prompt;
    const Count read = base::saturated(prompts / static_cast<double>(requests.size()) + 0.5);
    const Count mean = base::saturated(tokens / static_cast<double>(requests.size()) + 0.5);
    out.blocks = base::saturated(memory.users(mean, std::min(d.max_batched_tokens, read)) *
                                 static_cast<double>(base::ceil_divide(mean, memory.block_tokens)));
  }
  out.max_sequences = d.max_sequences;
  out.max_batched_tokens = d.max_batched_tokens;
  out.context = d.context;
  out.drafted = d.drafted;
  out.acceptance = d.acceptance;
  switch (d.engine) {
    case Engine::kVllm:
      break;
    case Engine::kTensorRtLlm:
      out.schedule = d.evicts ? Schedule::kMaxUtilization : Schedule::kNoEvict;
      out.chunked = cuts_prompts(d, memory, requests);
      break;
    case Engine::kSglang:
      out.schedule = Schedule::kSglang;
      out.stages = d.pp;
      break;
  }
  return out;
}

double add_host_memory(double bytes, const KvMemory& memory, const machine::Accelerator& accelerator,
                       SchedulerLimits& limits) {
  // Where layers keep different tokens, the limits' blocks are others.
  const double block = memory.block_bytes * static_cast<double>(memory.blocks) / static_cast<double>(limits.blocks);
  limits.host_blocks = base::saturated(std::floor(bytes / block));
  return block / static_cast<double>(limits.block_tokens) / accelerator.host_rate();
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
