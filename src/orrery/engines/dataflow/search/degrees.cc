// Degrees are sizes of dimensions: the allocation of N chips to d open dimensions is an ordered factorisation of N, of
// which there are at most a few hundred for usual numbers of chips; if there are too many to try, that is an error.
// Source of the combinations that are allowed: DFModel (arXiv 2412.16432); docs/model/dataflow.md, section "Degrees,
// tiles and the search". Cost: the number of allocations.
#include "orrery/engines/dataflow/search/degrees.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/base/numbers/factor.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {
namespace {

using Services = std::vector<std::optional<Parallelism>>;

constexpr std::array kParallelisms = {Parallelism::kTensor, Parallelism::kPipeline, Parallelism::kData,
                                      Parallelism::kSequence};

bool is_language_model(const Setup& setup) {
  return std::holds_alternative<LanguageModelRun>(setup.execution.workload);
}

// Ordered factorisations of `rest` onto the open dimensions from `at` on.
void fill_sizes(std::vector<Count>& sizes, const std::vector<std::size_t>& open, std::size_t at, Count rest,
                std::vector<std::vector<Count>>& all) {
  if (at + 1 >= open.size()) {
    if (!open.empty()) sizes[open[at]] = rest;
    if (!open.empty() || rest == 1) all.push_back(sizes);
    return;
  }
  for (const Count size : base::divisors(rest)) {
    sizes[open[at]] = size;
    fill_sizes(sizes, open, at + 1, rest / size, all);
  }
}

// Product of the stated sizes, limited to a number that no count of chips reaches.
Count stated_product(const System& system) {
  constexpr Count kMost = Count{1} << 62;
  Count product = 1;
  for (const NetworkDimension& dimension : system.network) {
    if (dimension.size > 0 && __builtin_mul_overflow(product, dimension.size, &product)) return kMost;
  }
  return product;
}

std::vector<std::vector<Count>> size_choices(const System& system) {
  std::vector<std::vector<Count>> all;
  const Count product = stated_product(system);
  if (system.chips < 1 || product < 1 || system.chips % product != 0) return all;
  std::vector<Count> sizes;
  std::vector<std::size_t> open;
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    sizes.push_back(system.network[d].size);
    if (sizes.back() <= 0) open.push_back(d);
  }
  fill_sizes(sizes, open, 0, system.chips / product, all);
  return all;
}

bool allowed_together(const Services& services, std::size_t dimensions) {
  for (std::size_t i = 0; i < services.size(); ++i) {
    if (!services[i]) continue;
    if (*services[i] == Parallelism::kSequence && dimensions < 4) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (services[j] == services[i]) return false;
  }
  return true;
}

// Every service for dimensions that name none, where that is searched; dimensions of one chip serve nothing.
void fill_services(const std::vector<Count>& sizes, const Services& stated, Services& services, std::size_t at,
                   bool search, std::vector<Services>& all) {
  if (at == sizes.size()) {
    if (allowed_together(services, sizes.size())) all.push_back(services);
    return;
  }
  services[at] = stated[at];
  if (stated[at] || !search || sizes[at] == 1) {
    fill_services(sizes, stated, services, at + 1, search, all);
    return;
  }
  for (const Parallelism parallelism : kParallelisms) {
    services[at] = parallelism;
    fill_services(sizes, stated, services, at + 1, search, all);
  }
}

Services stated_services(const System& system) {
  Services stated;
  for (const NetworkDimension& dimension : system.network) stated.push_back(dimension.parallelism);
  return stated;
}

bool as_wanted(const WantedDegrees& wanted, const Degrees& degrees) {
  return (wanted.tensor == 0 || wanted.tensor == degrees.tensor) &&
         (wanted.pipeline == 0 || wanted.pipeline == degrees.pipeline) &&
         (wanted.data == 0 || wanted.data == degrees.data);
}

// Before the batch and what degrees are wanted are considered.
std::vector<Allocation> allocations_of_network(const Setup& setup, const Defects& defects) {
  std::vector<Allocation> all;
  const Services stated = stated_services(setup.system);
  const bool search = is_language_model(setup) && !defects.services_as_stated;
  if (is_language_model(setup) && !allowed_together(stated, stated.size())) return all;
  for (const std::vector<Count>& sizes : size_choices(setup.system)) {
    std::vector<Services> services;
    if (is_language_model(setup)) {
      Services scratch(stated.size());
      fill_services(sizes, stated, scratch, 0, search, services);
    } else {
      services = {stated};
    }
    for (Services& serves : services) {
      Allocation allocation;
      allocation.degrees.sizes = sizes;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        if (serves[d]) allocation.degrees.of(*serves[d]) = sizes[d];
      // Every chip of a recommendation model is a replica.
      if (std::holds_alternative<Recommendation>(setup.execution.workload))
        allocation.degrees.data = setup.system.chips;
      allocation.serves = std::move(serves);
      all.push_back(std::move(allocation));
    }
  }
  return all;
}

constexpr std::array kAxes = {"x", "y", "z", "w"};

const char* short_name(Parallelism parallelism) {
  constexpr std::array kNames = {"TP", "PP", "DP", "SP"};
  return kNames[static_cast<std::size_t>(parallelism)];
}

// Ordered factorisations of `rest` over `open` dimensions: of each prime's exponent e, C(e + open - 1, open - 1).
double factorisations(Count rest, std::size_t open) {
  if (open < 2) return 1;
  double ways = 1;
  for (const auto& [prime, exponent] : base::prime_factors(rest))
    for (std::size_t i = 1; i < open; ++i)
      ways *= static_cast<double>(exponent + static_cast<int>(i)) / static_cast<double>(i);
  return ways;
}

// The open dimensions must allow few enough allocations to be tried one by one.
void explain_too_many(const Setup& setup, const Defects& defects, std::vector<Reason>& reasons) {
  constexpr double kMostAllocations = 100'000;
  constexpr Count kMostChips = 1'000'000'000'000;
  const System& system = setup.system;
  const Count product = stated_product(system);
  if (system.chips < 1 || product < 1 || system.chips % product != 0) return;
  Reason reason;
  reason.blamed.push_back({Part::kSystem, -1, "num_chip"});
  std::size_t open = 0, unnamed = 0;
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    unnamed += system.network[d].parallelism ? 0 : 1;
    if (system.network[d].size > 0) continue;
    ++open;
    reason.blamed.push_back({Part::kNetwork, static_cast<int>(d), kAxes[std::min<std::size_t>(d, 3)]});
  }
  if (open < 2) return;
  reason.diagnostic.code = "O1454";
  reason.diagnostic.message =
      fmt::format("{} chips can be spread over {} open dimensions in too many ways", system.chips, open);
  reason.diagnostic.hint("give some dimensions their size, or name what they serve");
  const Count rest = system.chips / product;
  if (rest > kMostChips) {
    reason.diagnostic.note(fmt::format("sizes are searched for up to {} chips", kMostChips));
    reasons.push_back(std::move(reason));
    return;
  }
  const double sizes = factorisations(rest, open);
  double services = 1;
  if (is_language_model(setup) && !defects.services_as_stated)
    for (std::size_t i = 0; i < unnamed; ++i) services *= static_cast<double>(std::max<std::size_t>(unnamed, 3) - i);
  if (sizes * services <= kMostAllocations) return;
  reason.diagnostic.note(
      fmt::format("{:.0f} ways to choose the sizes, times {:.0f} to choose what dimensions serve, "
                  "is {:.0f}; up to {:.0f} are tried",
                  sizes, services, sizes * services, kMostAllocations));
  reasons.push_back(std::move(reason));
}

void explain_sizes(const Setup& setup, std::vector<Reason>& reasons) {
  const System& system = setup.system;
  if (!size_choices(system).empty()) return;
  std::string product;
  Reason reason;
  reason.blamed.push_back({Part::kSystem, -1, "num_chip"});
  bool open = false;
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    if (system.network[d].size <= 0) {
      open = true;
      continue;
    }
    product += fmt::format("{}{}", product.empty() ? "" : " x ", system.network[d].size);
    reason.blamed.push_back({Part::kNetwork, static_cast<int>(d), kAxes[std::min<std::size_t>(d, 3)]});
  }
  reason.diagnostic.code = "O1441";
  reason.diagnostic.message = fmt::format("the network's dimensions do not make up {} chips", system.chips);
  if (!product.empty()) {
    const Count stated = stated_product(system);
    reason.diagnostic.note(fmt::format("{}{} {} {}", product,
                                       product.find('x') == std::string::npos ? "" : fmt::format(" = {}", stated),
                                       open ? "does not divide" : "is not", system.chips));
  }
  reason.diagnostic.hint("give one dimension size 0: it is then chosen to fit");
  reasons.push_back(std::move(reason));
}

void explain_services(const Setup& setup, std::vector<Reason>& reasons) {
  if (!is_language_model(setup)) return;
  const Services stated = stated_services(setup.system);
  if (allowed_together(stated, stated.size())) return;
  Reason reason;
  reason.diagnostic.code = "O1442";
  std::string named;
  for (std::size_t d = 0; d < stated.size(); ++d) {
    if (!stated[d]) continue;
    named += fmt::format("{}{}", named.empty() ? "" : ", ", short_name(*stated[d]));
    reason.blamed.push_back(
        {Part::kNetwork, static_cast<int>(d), fmt::format("par_{}", kAxes[std::min<std::size_t>(d, 3)])});
  }
  reason.diagnostic.message =
      fmt::format("{} cannot share a network of {} dimension{}", named, stated.size(), base::plural(stated.size()));
  reason.diagnostic.note("one dimension serves TP, PP or DP; two serve two of them; three all; four also SP");
  reason.diagnostic.note("no two dimensions may serve the same");
  reasons.push_back(std::move(reason));
}

// Degrees that the network has, but not together with all of those that are wanted.
void explain_wanted(const Setup& setup, const std::vector<Allocation>& tried, std::vector<Reason>& reasons) {
  const WantedDegrees& wanted = setup.system.wanted;
  if (std::any_of(tried.begin(), tried.end(),
                  [&](const Allocation& allocation) { return as_wanted(wanted, allocation.degrees); }))
    return;
  Reason reason;
  reason.diagnostic.code = "O1455";
  std::string named;
  const auto name = [&](const char* degree, Count size) {
    if (size > 0) named += fmt::format("{}{} {}", named.empty() ? "" : ", ", degree, size);
  };
  name("TP", wanted.tensor);
  name("PP", wanted.pipeline);
  name("DP", wanted.data);
  reason.diagnostic.message = fmt::format("the network of {} accelerators cannot serve {}", setup.system.chips, named);
  const auto values = [&](const char* degree, Count size, Parallelism parallelism) {
    if (size == 0) return;
    std::vector<Count> possible;
    for (const Allocation& allocation : tried) possible.push_back(allocation.degrees.of(parallelism));
    std::sort(possible.begin(), possible.end());
    possible.erase(std::unique(possible.begin(), possible.end()), possible.end());
    if (std::binary_search(possible.begin(), possible.end(), size)) return;
    constexpr std::size_t kMostShown = 16;
    const bool more = possible.size() > kMostShown;
    if (more) possible.resize(kMostShown);
    reason.diagnostic.note(
        fmt::format("{} may be {}{}", degree, base::joined(possible, ", "), more ? " and more" : ""));
  };
  values("TP", wanted.tensor, Parallelism::kTensor);
  values("PP", wanted.pipeline, Parallelism::kPipeline);
  values("DP", wanted.data, Parallelism::kData);
  std::string sizes;
  for (std::size_t d = 0; d < setup.system.network.size(); ++d) {
    const Count size = setup.system.network[d].size;
    sizes += (d == 0 ? "" : " x ") + (size > 0 ? fmt::format("{}", size) : std::string("any"));
  }
  reason.blamed.push_back({Part::kNetwork, -1, ""});
  reason.diagnostic.note(fmt::format("its dimensions are {}, and each serves one of TP, PP and DP as a whole", sizes));
  reason.diagnostic.hint("leave one of the degrees open: it is then chosen to fit");
  reasons.push_back(std::move(reason));
}

void explain_batch(const Setup& setup, const std::vector<Allocation>& tried, std::vector<Reason>& reasons) {
  Reason reason;
  reason.diagnostic.code = "O1443";
  reason.blamed.push_back({Part::kWorkload, -1, "global_batch_size"});
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload)) {
    reason.blamed.push_back({Part::kWorkload, -1, "micro_batch_size"});
    reason.diagnostic.message =
        fmt::format("a global batch of {} does not divide into whole micro-batches", model->global_batch);
    const Count micro = std::max<Count>(1, model->micro_batch);
    std::vector<Count> degrees;
    for (const Allocation& allocation : tried) degrees.push_back(allocation.degrees.data);
    std::sort(degrees.begin(), degrees.end());
    degrees.erase(std::unique(degrees.begin(), degrees.end()), degrees.end());
    for (std::size_t i = 0; i < std::min<std::size_t>(degrees.size(), 4); ++i) {
      Count share = 0;
      if (__builtin_mul_overflow(micro, degrees[i], &share)) share = Count{1} << 62;
      reason.diagnostic.note(fmt::format("{} / (micro-batch {} x DP {}) = {:.6g}", model->global_batch, micro,
                                         degrees[i], static_cast<double>(model->global_batch) / share));
    }
    if (degrees.size() > 4) reason.diagnostic.note(fmt::format("nor for {} larger DP", degrees.size() - 4));
  } else if (const auto* dlrm = std::get_if<Recommendation>(&setup.execution.workload)) {
    reason.blamed.push_back({Part::kSystem, -1, "num_chip"});
    reason.diagnostic.message =
        fmt::format("a global batch of {} does not divide over {} chips", dlrm->global_batch, setup.system.chips);
    reason.diagnostic.note("every chip takes an equal share of the batch");
  }
  reason.diagnostic.hint("the global batch must be a multiple of the micro-batch size times the replicas");
  reasons.push_back(std::move(reason));
}

}  // namespace

std::vector<Allocation> allocations(const Setup& setup, const Defects& defects) {
  std::vector<Allocation> all = allocations_of_network(setup, defects);
  std::erase_if(all, [&](const Allocation& allocation) {
    return !as_wanted(setup.system.wanted, allocation.degrees) || !micro_batches(setup, allocation.degrees);
  });
  return all;
}

std::vector<Reason> degree_contradictions(const Setup& setup, const Defects& defects) {
  std::vector<Reason> reasons;
  explain_too_many(setup, defects, reasons);
  if (!reasons.empty()) return reasons;
  explain_sizes(setup, reasons);
  explain_services(setup, reasons);
  if (!reasons.empty()) return reasons;
  std::vector<Allocation> tried = allocations_of_network(setup, defects);
  explain_wanted(setup, tried, reasons);
  if (!reasons.empty()) return reasons;
  std::erase_if(tried,
                [&](const Allocation& allocation) { return !as_wanted(setup.system.wanted, allocation.degrees); });
  if (std::none_of(tried.begin(), tried.end(),
                   [&](const Allocation& allocation) { return micro_batches(setup, allocation.degrees).has_value(); }))
    explain_batch(setup, tried, reasons);
  return reasons;
}

Setup allocated(const Setup& setup, const Allocation& allocation) {
  Setup filled = setup;
  for (std::size_t d = 0; d < allocation.serves.size(); ++d) {
    filled.system.network[d].size = allocation.degrees.sizes[d];
    filled.system.network[d].parallelism = allocation.serves[d];
  }
  return filled;
}

bool states(const Setup& setup, const Allocation& allocation) {
  return stated_services(setup.system) == allocation.serves;
}

std::vector<Tiling> tilings(const Setup& setup, const Degrees& degrees, const Defects& defects, std::size_t most) {
  Count sequence = 0;
  Count stated = 0;
  bool counted = false;
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload)) {
    sequence = base::ceil_divide(model->sequence, std::max<Count>(1, degrees.sequence));
    stated = model->tile_size;
    counted = model->tile_size_counts_tiles;
  } else if (const auto* space = std::get_if<StateSpaceModel>(&setup.execution.workload)) {
    sequence = space->sequence;
    stated = space->tile_size;
  }
  if (sequence < 1) return {{1, 0}};
  if (setup.execution.whole_kernels) return {{1, sequence}};
  constexpr Count kLong = 32768;
  const bool ragged = !defects.tiles_divide && (!defects.short_tiles_divide || sequence >= kLong);
  if (stated > 0) {
    const bool divides = sequence % stated == 0;
    if (defects.tile_size_counts_tiles || counted) {
      if (divides || ragged) return {{stated, base::ceil_divide(sequence, stated)}};
      return {};
    }
    if (divides || ragged) return {{base::ceil_divide(sequence, stated), stated}};
    return {};
  }
  std::vector<Tiling> all;
  if (!ragged) {
    for (const Count tiles : base::divisors(sequence))
      if (all.size() < most) all.push_back({tiles, sequence / tiles});
    return all;
  }
  // From one size to the next smaller one that lowers ceil(sequence / tiles).
  for (Count size = sequence; size >= 1 && all.size() < most;) {
    const Count tiles = base::ceil_divide(sequence, size);
    const Count least = base::ceil_divide(sequence, tiles);  // the smallest size with as many tiles
    all.push_back({tiles, least});
    size = least - 1;
  }
  return all;
}

}  // namespace orrery::dataflow
