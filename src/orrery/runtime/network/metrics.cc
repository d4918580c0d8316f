// Matthews' correlation of K classes is J. Gorodkin's ("Comparing two K-category assignments by a K-category
// correlation coefficient", 2004), as scikit-learn has it: (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum
// t_k^2)), c the correct ones of s, p_k and t_k how often class k is said and true.
#include "orrery/runtime/network/metrics.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>

#include "orrery/base/text/text.h"

namespace orrery::network {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = (static_cast<double>(i + end) + 1) / 2;
    i = end;
  }
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(normalised_answer(text));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

double accuracy(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said) {
  if (truth.empty()) return kNone;
  double right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) right += truth[i] == said[i];
  return right / static_cast<double>(truth.size());
}

double f1(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said, std::int32_t classes) {
  double sum = 0, counted = 0;
  for (std::int32_t k = classes == 2 ? 1 : 0; k < classes; ++k) {
    double both = 0, either = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      both += truth[i] == k && said[i] == k;
      either += static_cast<double>(truth[i] == k) + static_cast<double>(said[i] == k);
    }
    if (either == 0 && classes != 2) continue;
    sum += either == 0 ? 0 : 2 * both / either;
    ++counted;
  }
  return truth.empty() || counted == 0 ? kNone : sum / counted;
}

double matthews(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said, std::int32_t classes) {
  if (truth.empty()) return kNone;
  std::vector<double> t(static_cast<std::size_t>(classes)), p(t.size());
  double right = 0;
  const auto count = static_cast<double>(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ++t[static_cast<std::size_t>(truth[i])], ++p[static_cast<std::size_t>(said[i])];
    right += truth[i] == said[i];
  }
  double both = 0, truths = 0, saids = 0;
  for (std::size_t k = 0; k < t.size(); ++k) both += t[k] * p[k], truths += t[k] * t[k], saids += p[k] * p[k];
  const double below = (count * count - saids) * (count * count - truths);
  return below == 0 ? 0 : (right * count - both) / std::sqrt(below);
}

double pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa == 0 || bb == 0 ? kNone : ab / std::sqrt(aa * bb);
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  return pearson(ranks(a), ranks(b));
}

std::string normalised_answer(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::ispunct(byte)) continue;
    plain += base::lower(c);
  }
  std::istringstream in(plain);
  std::string out;
  for (std::string word; in >> word;) {
    if (word == "a" || word == "an" || word == "the") continue;
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

bool exact_match(const std::string& truth, const std::string& said) {
  return normalised_answer(truth) == normalised_answer(said);
}

double word_f1(const std::string& truth, const std::string& said) {
  const std::vector<std::string> a = words_of(truth), b = words_of(said);
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  std::map<std::string, int> left;
  for (const std::string& word : a) ++left[word];
  double common = 0;
  for (const std::string& word : b)
    if (left[word]-- > 0) ++common;
  return 2 * common / static_cast<double>(a.size() + b.size());
}

}  // namespace orrery::network
