// The seam between a chip and a cluster. A training run asks for some twenty shapes of products, thousands of times;
// each is a search of some tenths of a second. So shapes are searched once and kept: a table from (m, n, k) to seconds,
// read under a shared lock. A plan's shapes are known before it is priced (cluster::operators_of), so they are searched
// side by side (`prepare`), and pricing looks them up.
//
//   seconds = batch * cycles(m, n, k) * cycle time;    memory-bound: bytes / port
//
// Cost: a look-up takes some 30 ns.
#include "orrery/inputs/systems/chip_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "orrery/base/limits/parallel.h"
#include "orrery/engines/nest/search/search.h"

namespace orrery::verbs {
namespace {

using machine::MatrixProduct;

constexpr double kPartOfTheRest = 1.0 / 8;
constexpr std::size_t kMostShares = 16;  // searches beside each other that share the memory

struct Shape {
  base::Count m = 0, n = 0, k = 0;
  bool operator==(const Shape&) const = default;
};

Shape shape_of(const MatrixProduct& product) {
  return {product.m, product.n, product.k};
}

struct Hash {
  std::size_t operator()(const Shape& shape) const {
    std::size_t hash = 0;
    for (const base::Count size : {shape.m, shape.n, shape.k})
      hash = (hash ^ static_cast<std::size_t>(size)) * 0x9E3779B97F4A7C15ULL, hash ^= hash >> 29;
    return hash;
  }
};

std::string name_of(const MatrixProduct& product) {
  return fmt::format("{} x {} times {} x {}", product.m, product.k, product.k, product.n);
}

// Of the heads of an attention, so many take the time of a whole one. Weights that are kept are those of whole columns.
double heads_of(const machine::Operator& attention) {
  return static_cast<double>(attention.product.batch) * (attention.keeps_weights ? 1 : attention.share);
}

}  // namespace

// Of one product, without its batch.
struct ChipOperators::Answer {
  double seconds = 0, joules = 0, gap = 0;
  std::vector<machine::LevelCost> levels;
  bool short_of_memory = false;
};

struct ChipOperators::Known {
  mutable std::shared_mutex guard;
  std::unordered_map<Shape, std::unique_ptr<const Answer>, Hash> answers;  // never taken out again
  std::mutex asking;                                                       // `ask_` is one thread's at a time
  std::map<AttentionShape, std::unique_ptr<const ChipAttention>> attentions;
  std::mutex joining;  // one attention is searched at a time, on all threads
};

ChipOperators::ChipOperators(std::shared_ptr<const machine::Chip> chip, Ask ask, const nest::ModelOptions& model,
                             const base::Limits& limits, double issue_seconds, Ask fuse)
    : chip_(std::move(chip)),
      ask_(std::move(ask)),
      fuse_(std::move(fuse)),
      model_(model),
      limits_(limits),
      budget_(limits),
      port_(machine::memory_port(*chip_)),
      issue_seconds_(issue_seconds),
      known_(std::make_unique<Known>()) {}

ChipOperators::~ChipOperators() = default;

ChipOperators::Answer ChipOperators::search(const MatrixProduct& product, int searches, int threads,
                                            double share) const {
  LayerQuestion question = [&] {
    const std::lock_guard<std::mutex> lock(known_->asking);
    return ask_(workload::matmul(name_of(product), product.n, product.k, product.m));
  }();
  lie_in_memory(question, {"Weights", "Inputs", "Outputs"});
  nest::SearchLimits limits;
  static_cast<base::Limits&>(limits) = limits_;
  limits.threads = threads;
  limits.searches = searches;
  limits.give_way = searches > 1;
  if (budget_.limited()) limits.seconds = std::max(1e-6, share * budget_.seconds_left());
  nest::Optimum optimum;
  try {
    const nest::Model model(question.einsum, *question.chip, model_, question.space.reuse);
    optimum = nest::optimize(model, question.space, {nest::Metric::kDelay, nest::Metric::kEnergy}, limits);
  } catch (const base::OverflowError&) {
    throw uncountable(question.name, question.einsum, *question.chip);
  }
  Answer out;
  out.short_of_memory = optimum.out_of_memory;
  if (searches > 1 && out.short_of_memory) return out;  // who asks will ask again, with all of the memory
  if (!optimum.mapping) {
    base::Diagnostics found;
    if (optimum.infeasible) {
      base::Diagnostic& error = found.error(
          "O1391", fmt::format("the chip has no mapping for a product that the run needs, {}", name_of(product)),
          optimum.conflicts.empty() ? base::Location{} : optimum.conflicts.front().where);
      for (const nest::Conflict& conflict : optimum.conflicts) error.note(conflict.text);
      for (const std::string& line : optimum.arithmetic) error.note(line);
      error.hint(fmt::format("`orrery map --gemm {},{},{}` with this chip says more", product.n, product.k, product.m));
    } else {
      found
          .error("O1392",
                 fmt::format("no mapping was found in time for a product that the run needs, {}", name_of(product)))
          .hint("give the searches more time with `--time-limit`, or more memory with `--memory`");
    }
    throw base::InputError(found.all());
  }
  const nest::Evaluation& evaluation = optimum.evaluation;
  out.seconds = static_cast<double>(evaluation.cycles) * question.chip->cycle_seconds;
  out.joules = evaluation.energy_pj * 1e-12;
  out.gap = optimum.certificate.optimal ? 0 : optimum.certificate.gap;
  out.levels = levels_of(*question.chip, evaluation);
  return out;
}

const ChipOperators::Answer& ChipOperators::answer(const MatrixProduct& product) const {
  const Shape shape = shape_of(product);
  {
    const std::shared_lock<std::shared_mutex> lock(known_->guard);
    const auto found = known_->answers.find(shape);
    if (found != known_->answers.end()) return *found->second;
  }
  // Nobody knows how many will be asked for one by one: each may take a part of what a limit leaves.
  auto fresh = std::make_unique<const Answer>(search(product, 1, std::max(1, limits_.threads), kPartOfTheRest));
  const std::unique_lock<std::shared_mutex> lock(known_->guard);
  return *known_->answers.emplace(shape, std::move(fresh)).first->second;  // another thread's, if it came first
}

void ChipOperators::prepare(const std::vector<MatrixProduct>& products,
                            const std::function<void(std::size_t, std::size_t)>& progress) const {
  std::vector<MatrixProduct> missing;
  {
    const std::shared_lock<std::shared_mutex> lock(known_->guard);
    for (const MatrixProduct& product : products) {
      const Shape shape = shape_of(product);
      if (product.batch <= 0 || shape.m <= 0 || shape.n <= 0 || shape.k <= 0) continue;
      const bool again = std::any_of(missing.begin(), missing.end(),
                                     [&](const MatrixProduct& other) { return shape_of(other) == shape; });
      if (!again && known_->answers.count(shape) == 0) missing.push_back(product);
    }
  }
  // The share of the memory is a matter of how many shapes there are, not of threads: answers may depend on it.
  const int shares = static_cast<int>(std::clamp<std::size_t>(missing.size(), 1, kMostShares));
  const int workers = std::clamp(limits_.threads, 1, shares);
  std::size_t done = 0;
  std::mutex told;
  const auto keep = [&](const MatrixProduct& product, std::unique_ptr<const Answer> fresh) {
    {
      const std::unique_lock<std::shared_mutex> lock(known_->guard);
      known_->answers.emplace(shape_of(product), std::move(fresh));
    }
    const std::lock_guard<std::mutex> lock(told);
    if (progress) progress(++done, missing.size());
  };
  std::vector<char> again(missing.size(), 0);
  base::parallel_for(missing.size(), workers, [&](std::size_t i) {
    // What a limit leaves is shared by those that have not begun, as many at a time as there are workers.
    const double left = static_cast<double>(missing.size() - i);
    auto fresh = std::make_unique<Answer>(search(missing[i], shares, workers == 1 ? std::max(1, limits_.threads) : 1,
                                                 std::min(1.0, static_cast<double>(workers) / left)));
    again[i] = shares > 1 && fresh->short_of_memory;
    if (!again[i]) keep(missing[i], std::move(fresh));
  });
  for (std::size_t i = 0; i < missing.size(); ++i)
    if (again[i]) keep(missing[i], std::make_unique<Answer>(search(missing[i], 1, std::max(1, limits_.threads))));
}

double ChipOperators::matrix_product_seconds(const MatrixProduct& product) const {
  if (product.batch <= 0 || product.m <= 0 || product.n <= 0 || product.k <= 0) return 0;
  return static_cast<double>(product.batch) * answer(product).seconds;
}

const ChipAttention& ChipOperators::attention(const AttentionShape& shape) const {
  const auto known = [&]() -> const ChipAttention* {
    const std::shared_lock<std::shared_mutex> lock(known_->guard);
    const auto found = known_->attentions.find(shape);
    return found == known_->attentions.end() ? nullptr : found->second.get();
  };
  if (const ChipAttention* found = known()) return *found;
  const std::lock_guard<std::mutex> one(known_->joining);
  if (const ChipAttention* found = known()) return *found;
  base::Limits limits = limits_;
  limits.threads = std::max(1, limits.threads);
  if (budget_.limited()) limits.seconds = std::max(1e-6, kPartOfTheRest * budget_.seconds_left());
  const auto guarded = [&](const Ask& ask) {
    return [&](const workload::Einsum& einsum) {
      const std::lock_guard<std::mutex> lock(known_->asking);
      return ask(einsum);
    };
  };
  auto fresh =
      std::make_unique<const ChipAttention>(attention_on_chip(shape, guarded(ask_), guarded(fuse_), model_, limits));
  const std::unique_lock<std::shared_mutex> lock(known_->guard);
  return *known_->attentions.emplace(shape, std::move(fresh)).first->second;
}

std::optional<double> ChipOperators::attention_seconds(const machine::Operator& one) const {
  const AttentionShape shape = attention_shape(one);
  if (!fuse_ || one.gradient || one.kind != machine::OperatorKind::kAttention || one.product.batch <= 0 ||
      std::min({shape.queries, shape.keys, shape.width, shape.value_width}) <= 0)
    return std::nullopt;
  const ChipAttention& found = attention(shape);
  if (!found.joined) return std::nullopt;
  return heads_of(one) * found.seconds;
}

double ChipOperators::memory_bound_seconds(double bytes) const {
  return port_.bytes_per_s > 0 ? bytes / port_.bytes_per_s : 0;
}

machine::Cost ChipOperators::cost(const machine::Operator& one) const {
  machine::Cost out = OperatorModel::cost(one);
  double times = 1;
  const auto add = [&](const MatrixProduct& product, double share) {
    times = share * static_cast<double>(product.batch);
    const Answer& known = answer(product);
    out.joules = out.joules.value_or(0) + times * known.joules;
    out.gap = std::max(out.gap, known.gap);
    if (out.levels.empty()) {
      out.levels = known.levels;
      for (machine::LevelCost& level : out.levels) level.bytes *= times, level.seconds *= times;
      return;
    }
    for (std::size_t i = 0; i < out.levels.size(); ++i) {
      out.levels[i].bytes += times * known.levels[i].bytes;
      out.levels[i].seconds += times * known.levels[i].seconds;
    }
  };
  if (one.kind == machine::OperatorKind::kProduct) {
    if (one.product.batch > 0 && one.product.flops() > 0) add(one.product, 1);
  } else if (attention_seconds(one)) {
    const ChipAttention& known = attention(attention_shape(one));
    out.joules = heads_of(one) * known.joules;
    out.gap = known.gap;
    out.levels = known.levels;
    for (machine::LevelCost& level : out.levels) level.bytes *= heads_of(one), level.seconds *= heads_of(one);
  } else if (one.kind == machine::OperatorKind::kAttention || one.kind == machine::OperatorKind::kSparseAttention) {
    add(one.product, one.share);
    MatrixProduct values = one.product;
    values.n = one.value_width;
    values.k = one.product.n;
    add(values, one.share);
  } else {
    out.joules = one.bytes * port_.pj_per_byte * 1e-12;
    out.levels = {{chip_->storages.empty() ? "memory" : chip_->storages.back().name, one.bytes, out.seconds}};
  }
  const auto longest = std::max_element(out.levels.begin(), out.levels.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (longest != out.levels.end()) {
    // Where the compute units take as long as a port, they bind: more bandwidth would not help.
    const bool compute = out.levels.back().seconds >= longest->seconds;
    out.binds = compute ? out.levels.back().name : longest->name;
  }
  return out;
}

std::size_t ChipOperators::searched() const {
  const std::shared_lock<std::shared_mutex> lock(known_->guard);
  return known_->answers.size();
}

std::vector<std::pair<AttentionShape, ChipAttention>> ChipOperators::attentions() const {
  std::vector<std::pair<AttentionShape, ChipAttention>> out;
  const std::shared_lock<std::shared_mutex> lock(known_->guard);
  for (const auto& [shape, known] : known_->attentions) out.emplace_back(shape, *known);
  return out;
}

std::vector<std::pair<MatrixProduct, double>> ChipOperators::unproven() const {
  std::vector<std::pair<MatrixProduct, double>> out;
  const std::shared_lock<std::shared_mutex> lock(known_->guard);
  for (const auto& [shape, known] : known_->answers)
    if (known->gap > 0) out.push_back({{1, shape.m, shape.n, shape.k}, known->gap});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.m, a.first.n, a.first.k) < std::tuple(b.first.m, b.first.n, b.first.k);
  });
  return out;
}

}  // namespace orrery::verbs
