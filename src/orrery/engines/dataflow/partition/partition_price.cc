#include "orrery/engines/dataflow/partition/partition_price.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::dataflow {
namespace {

// If a tile would have to be split into more parts than this, the kernel counts as not fitting.
constexpr Count kMostSplit = Count{1} << 62;

// Least `split` >= 2 that `fits`, or 0. Whatever fits also fits when split further.
template <typename Fits>
Count least_split(const Fits& fits) {
  Count high = 2;
  while (!fits(high)) {
    if (high >= kMostSplit) return 0;
    high *= 2;
  }
  Count low = high / 2;  // does not fit, or is 1
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

SetPricer::Incidence SetPricer::incidence(std::size_t kernels, const std::vector<PartitionEdge>& edges, bool into) {
  Incidence result;
  result.start.assign(kernels + 1, 0);
  result.edges.resize(edges.size());
  const auto end = [&](const PartitionEdge& edge) { return static_cast<std::size_t>(into ? edge.to : edge.from); };
  for (const PartitionEdge& edge : edges) ++result.start[end(edge) + 1];
  for (std::size_t k = 0; k < kernels; ++k) result.start[k + 1] += result.start[k];
  std::vector<int> next(result.start.begin(), result.start.end() - 1);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    result.edges[static_cast<std::size_t>(next[end(edges[e])]++)] = static_cast<int>(e);
  }
  return result;
}

SetPricer::SetPricer(const PartitionProblem& problem)
    : problem_(problem),
      into_(incidence(problem.kernels.size(), problem.edges, true)),
      out_of_(incidence(problem.kernels.size(), problem.edges, false)),
      mark_(problem.kernels.size(), 0) {
  tilings_.reserve(problem.tilings.size());
  for (const PartitionProblem& tiling : problem.tilings) tilings_.emplace_back(tiling);
  for (const PartitionKernel& kernel : problem.kernels) network_ns_.push_back(kernel.network_ns);
  for (const PartitionEdge& edge : problem.edges) network_ns_[static_cast<std::size_t>(edge.to)] += edge.network_ns;
  if (!problem.free_cores) return;
  choices_.resize(problem.kernels.size());
  for (std::size_t k = 0; k < choices_.size(); ++k) {
    const std::vector<CoreChoice>& given = problem.kernels[k].choices;
    const auto before = [](const CoreChoice& a, const CoreChoice& b) {
      return a.cores != b.cores ? a.cores < b.cores : a.ns < b.ns;
    };
    std::vector<CoreChoice> in_order;
    if (!std::is_sorted(given.begin(), given.end(), before)) {
      in_order = given;
      std::stable_sort(in_order.begin(), in_order.end(), before);
    }
    choices_[k].reserve(given.size());
    for (const CoreChoice& choice : in_order.empty() ? given : in_order) {
      if (problem.memory_units > 0 || choices_[k].empty() || choice.ns < choices_[k].back().ns) {
        choices_[k].push_back(choice);
      }
    }
  }
}

void SetPricer::mark(std::span<const int> members) {
  if (++round_ == 0) {
    std::fill(mark_.begin(), mark_.end(), 0);
    round_ = 1;
  }
  for (const int k : members) mark_[static_cast<std::size_t>(k)] = round_;
}

SetPricer::Price SetPricer::fastest(std::span<const int> members) {
  Price best;
  best.fits = false;
  for (std::size_t t = 0; t < tilings_.size(); ++t) {
    Price one = tilings_[t].price(members);
    if (best.tiling >= 0 && (one.fits < best.fits || (one.fits == best.fits && one.interval_ns >= best.interval_ns)))
      continue;
    best = one;
    best.tiling = static_cast<int>(t);
  }
  return best;
}

SetPricer::Price SetPricer::price(std::span<const int> members) {
  Price result;
  if (members.empty()) return result;
  if (!tilings_.empty()) return fastest(members);
  mark(members);
  const bool alone = members.size() == 1;
  double stream = 0, fixed = 0, tiled = 0, beside = 0;
  for (const int k : members) {
    const PartitionKernel& kernel = problem_.kernels[static_cast<std::size_t>(k)];
    result.compute_ns += kernel.compute_ns;
    result.network_ns += network_ns(k);
    beside += kernel.beside_ns;
    stream += kernel.memory_bytes;
    fixed += kernel.sram_extra_bytes;
    (alone ? tiled : fixed) += kernel.weight_bytes;
    for (const int e : edges_into(k)) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (marked(edge.from)) continue;
      stream += edge.stream_bytes;
      fixed += 2 * edge.buffer_bytes;
    }
    for (const int e : edges_out_of(k)) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (marked(edge.to)) {
        fixed += edge.depth * edge.buffer_bytes;
      } else {
        stream += edge.stream_bytes;
        (alone ? tiled : fixed) += 2 * edge.buffer_bytes;
      }
    }
  }
  result.network_ns = std::max(result.network_ns, beside);
  const auto holds = [&](Count split) {
    if (problem_.sram_bytes > 0 && sram(fixed, tiled, split) > problem_.sram_bytes) return false;
    return problem_.memory_units == 0 || allocate_units(members, buffers(members), split).fits;
  };
  result.fits = holds(1);
  if (!result.fits && alone && problem_.kernels[static_cast<std::size_t>(members[0])].can_split_weight &&
      (problem_.sram_bytes == 0 || fixed < problem_.sram_bytes)) {
    if (const Count split = least_split(holds)) {
      result.fits = true;
      result.weight_split = split;
    }
  }
  result.sram_bytes = sram(fixed, tiled, result.weight_split);
  if (problem_.free_cores) {
    if (problem_.memory_units == 0) {
      result.compute_ns = allocate_pool(members, result.fits);
    } else {
      const Cores cores = allocate(members, result.weight_split);
      result.compute_ns = cores.ns;
      result.fits = result.fits && cores.fits;
    }
  }
  if (stream > 0) result.memory_ns = stream / problem_.dram_bandwidth_gb_per_s;
  result.interval_ns = interval_ns(problem_, result.compute_ns, result.memory_ns, result.network_ns);
  return result;
}

double SetPricer::allocate_pool(std::span<const int> members, bool& fits) {
  // The slowest kernel on its fewest cores bounds T from above; on its most, from below.
  double low = 0, high = 0;
  Count least = 0;
  for (const int k : members) {
    const std::vector<CoreChoice>& choices = choices_[static_cast<std::size_t>(k)];
    if (choices.empty()) {
      fits = false;
      return 0;
    }
    low = std::max(low, choices.back().ns);
    high = std::max(high, choices.front().ns);
    least += choices.front().cores;
  }
  if (least > problem_.cores) {
    fits = false;
    return high;
  }
  const auto enough = [&](double bound) {
    Count cores = 0;
    for (const int k : members) {
      const std::vector<CoreChoice>& choices = choices_[static_cast<std::size_t>(k)];
      const auto it = std::partition_point(choices.begin(), choices.end(),
                                           [&](const CoreChoice& choice) { return choice.ns > bound; });
      cores += it->cores;
      if (cores > problem_.cores) return false;
    }
    return true;
  };
  if (enough(low)) return low;
  // Bisection kernel by kernel: T is a time of some choice, and each kernel's times are sorted.
  for (const int k : members) {
    const std::vector<CoreChoice>& choices = choices_[static_cast<std::size_t>(k)];
    auto first = std::partition_point(choices.begin(), choices.end(),
                                      [&](const CoreChoice& choice) { return choice.ns >= high; });
    auto last =
        std::partition_point(choices.begin(), choices.end(), [&](const CoreChoice& choice) { return choice.ns > low; });
    while (first < last) {
      const auto middle = first + (last - first) / 2;
      if (enough(middle->ns)) {
        high = middle->ns;
        first = middle + 1;
      } else {
        low = middle->ns;
        last = middle;
      }
    }
  }
  return high;
}

std::vector<SetPricer::Buffer> SetPricer::buffers(std::span<const int> members) const {
  std::vector<Buffer> result;
  const bool alone = members.size() == 1;
  for (const int k : members) {
    const PartitionKernel& kernel = problem_.kernels[static_cast<std::size_t>(k)];
    if (kernel.sram_extra_bytes > 0) result.push_back({kernel.sram_extra_bytes, 0, -1, false});
    if (kernel.weight_bytes > 0) {
      result.push_back(alone ? Buffer{0, kernel.weight_bytes, k, false} : Buffer{kernel.weight_bytes, 0, k, false});
    }
    for (const int e : edges_into(k)) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (!marked(edge.from) && edge.buffer_bytes > 0) {
        result.push_back({2 * edge.buffer_bytes, 0, k, edge.stage_parallel});
      }
    }
    for (const int e : edges_out_of(k)) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (edge.buffer_bytes <= 0) continue;
      if (marked(edge.to)) {
        result.push_back({edge.depth * edge.buffer_bytes, 0, k, edge.stage_parallel});
      } else if (alone) {
        result.push_back({0, 2 * edge.buffer_bytes, k, edge.stage_parallel});
      } else {
        result.push_back({2 * edge.buffer_bytes, 0, k, edge.stage_parallel});
      }
    }
  }
  return result;
}

Count SetPricer::units(const Buffer& buffer, Count split, const CoreChoice* choice) const {
  const double bytes = sram(buffer.bytes, buffer.tiled_bytes, split);
  const double whole = std::ceil(bytes / problem_.memory_unit_bytes);
  // Written so that neither an unset unit nor an absurd size overflows the count.
  Count result =
      whole <= static_cast<double>(problem_.memory_units) ? static_cast<Count>(whole) : problem_.memory_units + 1;
  if (choice == nullptr || buffer.owner < 0) return result;
  const Count parallel = buffer.stage_parallel
                             ? base::saturated(std::ceil(static_cast<double>(choice->stages) *
                                                         static_cast<double>(problem_.systolic_height) /
                                                         static_cast<double>(problem_.systolic_width)))
                             : choice->lanes;
  return std::max(result, std::min(parallel, problem_.memory_units + 1));
}

SetPricer::Cores SetPricer::allocate_units(std::span<const int> members, const std::vector<Buffer>& buffers,
                                           Count split) const {
  const Count room = problem_.memory_units;
  Cores result;
  for (const Buffer& buffer : buffers) {
    if (buffer.owner < 0 || !problem_.free_cores)
      result.units = std::min(room + 1, result.units + units(buffer, split, nullptr));
  }
  if (result.units > room) {
    result.fits = false;
    return result;
  }
  if (!problem_.free_cores) return result;

  struct Option {
    double ns;
    Count cores, units;
    int choice;
  };
  std::vector<std::vector<Option>> options;
  std::vector<double> times;
  for (const int k : members) {
    options.emplace_back();
    const std::vector<CoreChoice>& choices = choices_[static_cast<std::size_t>(k)];
    for (std::size_t i = 0; i < choices.size(); ++i) {
      Count need = 0;
      for (const Buffer& buffer : buffers) {
        if (buffer.owner == k) need = std::min(room + 1, need + units(buffer, split, &choices[i]));
      }
      if (choices[i].cores > problem_.cores || need > room) continue;
      options.back().push_back({choices[i].ns, choices[i].cores, need, static_cast<int>(i)});
      times.push_back(choices[i].ns);
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());

  struct Label {
    Count cores, units;
    int before, option;
  };
  std::vector<std::vector<Label>> labels(members.size() + 1);
  labels[0] = {{0, result.units, -1, -1}};
  const auto enough = [&](double bound) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      std::vector<Label> all;
      for (std::size_t l = 0; l < labels[m].size(); ++l) {
        for (std::size_t o = 0; o < options[m].size(); ++o) {
          const Option& option = options[m][o];
          const Label next{labels[m][l].cores + option.cores, labels[m][l].units + option.units, static_cast<int>(l),
                           static_cast<int>(o)};
          if (option.ns <= bound && next.cores <= problem_.cores && next.units <= room) all.push_back(next);
        }
      }
      std::stable_sort(all.begin(), all.end(), [](const Label& a, const Label& b) {
        return a.units != b.units ? a.units < b.units : a.cores < b.cores;
      });
      labels[m + 1].clear();
      for (const Label& label : all) {
        if (labels[m + 1].empty() || label.cores < labels[m + 1].back().cores) labels[m + 1].push_back(label);
      }
      if (labels[m + 1].empty()) return false;
    }
    return true;
  };
  const auto least = std::partition_point(times.begin(), times.end(), [&](double bound) { return !enough(bound); });
  if (least == times.end()) {
    result.fits = members.empty();
    return result;
  }
  enough(*least);
  result.ns = *least;
  const Label* label = labels.back().data();  // the fewest units, then the fewest cores
  result.cores = label->cores;
  result.units = label->units;
  for (std::size_t m = members.size(); m-- > 0; label = &labels[m][static_cast<std::size_t>(label->before)]) {
    const auto choice = static_cast<std::size_t>(options[m][static_cast<std::size_t>(label->option)].choice);
    result.choices.insert(result.choices.begin(), choices_[static_cast<std::size_t>(members[m])][choice]);
    if (m == 0) break;
  }
  return result;
}

SetPricer::Cores SetPricer::allocate(std::span<const int> members, Count split) {
  if (problem_.memory_units > 0) return allocate_units(members, buffers(members), split);
  Cores result;
  result.ns = allocate_pool(members, result.fits);
  for (const int k : members) {
    const std::vector<CoreChoice>& choices = choices_[static_cast<std::size_t>(k)];
    const auto it = std::partition_point(choices.begin(), choices.end(),
                                         [&](const CoreChoice& choice) { return choice.ns > result.ns; });
    if (it == choices.end()) continue;
    result.cores += it->cores;
    result.choices.push_back(*it);
  }
  return result;
}

ConfigurationCost SetPricer::describe(std::span<const int> members) {
  if (!tilings_.empty() && !members.empty()) {
    const int tiling = fastest(members).tiling;
    ConfigurationCost result = tilings_[static_cast<std::size_t>(tiling)].describe(members);
    result.tiling = tiling;
    return result;
  }
  const Price price = this->price(members);
  ConfigurationCost result;
  result.kernels.assign(members.begin(), members.end());
  if (members.empty()) return result;
  result.compute_ns = price.compute_ns;
  result.memory_ns = price.memory_ns;
  result.network_ns = price.network_ns;
  result.interval_ns = price.interval_ns;
  result.sram_bytes = price.sram_bytes;
  result.weight_split = price.weight_split;
  result.fits = price.fits;
  const double terms[] = {problem_.use_compute ? price.compute_ns : 0, problem_.use_memory ? price.memory_ns : 0,
                          problem_.use_network ? price.network_ns : 0};
  const auto largest = std::max_element(std::begin(terms), std::end(terms));
  constexpr Binding kinds[] = {Binding::kCompute, Binding::kMemory, Binding::kNetwork};
  if (*largest > 0) result.bound = kinds[largest - std::begin(terms)];
  if (problem_.free_cores) {
    Cores cores = allocate(members, price.weight_split);
    result.cores = cores.cores;
    result.memory_units = cores.units;
    result.choices = std::move(cores.choices);
  } else if (problem_.memory_units > 0) {
    result.memory_units = allocate_units(members, buffers(members), price.weight_split).units;
  }
  return result;
}

}  // namespace orrery::dataflow
