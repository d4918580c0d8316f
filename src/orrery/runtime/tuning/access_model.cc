#include "orrery/runtime/tuning/access_model.h"

#include <algorithm>
#include <cmath>

namespace orrery::tuning {
namespace {

constexpr double kFactors[] = {0.05, 1, 1.5, 8};  // by access
constexpr double kRidge = 1e-3;
constexpr double kLeast = 0.03, kUnknown = 0.5;  // stated errors: within a kind; before there is experience
constexpr std::size_t kRecent = 30, kEnough = 6;

}  // namespace

std::string kind_of(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run) {
  std::string out;
  for (const kernels::Strided& x : runs_of(kernel, choice, run)) {
    const kernels::StridedShape shape = kernels::shape_of(x);
    const char vectors = shape.vector < 16 ? 's' : shape.vector < 64 ? 'm' : 'l';
    out += shape.along ? static_cast<char>(vectors - 'a' + 'A') : vectors;
    for (const kernels::Access access : shape.access) out += static_cast<char>('0' + static_cast<int>(access));
  }
  return out;
}

AccessModel::AccessModel(const FusedKernel& kernel, const FusedRun& run, double bytes_per_second)
    : per_access_(static_cast<double>(run.sizes.words(kernel.dims)) * kernels::bytes_of(run.type) / bytes_per_second) {}

AccessModel::Row AccessModel::row_of(const std::string& kind) const {
  Row row;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const auto [at, added] = features_.try_emplace({static_cast<int>(i), kind[i]}, start_.size());
    if (added) {
      const bool access = kind[i] >= '0' && kind[i] <= '3';
      const double slow = kind[i] == 's' || kind[i] == 'S' ? 4 : 0.3;
      start_.push_back(per_access_ * (access ? kFactors[kind[i] - '0'] : slow));
      weights_.push_back(start_.back());
    }
    row.push_back(at->second);
  }
  return row;
}

double AccessModel::predict(const std::string& kind) const {
  if (const auto known = fastest_.find(kind); known != fastest_.end()) return known->second;
  double sum = 0;
  for (const std::size_t feature : row_of(kind)) sum += std::max(0.0, weights_[feature]);
  return std::max(sum, per_access_);  // a kernel moves one tensor at least
}

double AccessModel::lower(const std::string& kind) const {
  return predict(kind) / (1 + (fastest_.count(kind) != 0 ? kLeast : error()));
}

double AccessModel::error() const {
  if (missed_.size() < kEnough) return kUnknown;
  std::vector<double> recent(missed_.end() - static_cast<std::ptrdiff_t>(std::min(kRecent, missed_.size())),
                             missed_.end());
  std::sort(recent.begin(), recent.end());
  return std::max(kLeast, recent[recent.size() * 9 / 10]);
}

void AccessModel::learn(const std::string& kind, double seconds) {
  const auto known = fastest_.find(kind);
  if (known == fastest_.end()) missed_.push_back(predict(kind) / seconds - 1);
  known_.push_back({kind, seconds});
  double& fastest = fastest_.try_emplace(kind, seconds).first->second;
  fastest = std::min(fastest, seconds);
  if (known == fastest_.end()) fit();
}

// Normal equations of the differences to where weights started, in units of these: (A'A + ridge) d = A'r.
void AccessModel::fit() {
  std::vector<Row> rows;
  for (const Known& one : known_) rows.push_back(row_of(one.kind));
  const std::size_t n = start_.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0.0));
  for (std::size_t i = 0; i < n; ++i) a[i][i] = kRidge;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double left = 1;
    for (const std::size_t f : rows[k]) left -= start_[f] / known_[k].seconds;
    for (const std::size_t f : rows[k]) {
      const double x = start_[f] / known_[k].seconds;
      for (const std::size_t g : rows[k]) a[f][g] += x * start_[g] / known_[k].seconds;
      a[f][n] += x * left;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {  // positive definite: no pivots are needed
    for (std::size_t r = i + 1; r < n; ++r) {
      const double factor = a[r][i] / a[i][i];
      if (factor == 0) continue;
      for (std::size_t c = i; c <= n; ++c) a[r][c] -= factor * a[i][c];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    double sum = a[i][n];
    for (std::size_t c = i + 1; c < n; ++c) sum -= a[i][c] * a[c][n];
    a[i][n] = sum / a[i][i];
    weights_[i] = start_[i] * (1 + a[i][n]);
  }
}

}  // namespace orrery::tuning
