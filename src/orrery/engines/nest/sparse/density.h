// How many of a tile's words are not zero: distributions over the tiles of a tensor.
//
// A tile is known by its shape only (a "mold": extents along the tensor's ranks), so that an occupancy is a random
// number. Three kinds, as in Sparseloop (Wu et al., MICRO 2022, section 5.3.2):
//
//   structured       every tile of n words has d n nonzeros; where that is not whole, floor or ceil, d n on average
//   hypergeometric   the r = ceil(d N) nonzeros lie anywhere among the tensor's N words, each place as likely:
//                    P(k of n) = C(r, k) C(N - r, n - k) / C(N, n)
//   pattern          the nonzeros are given (a table, a band): tiles are cut from the origin, each as likely
//
// `within` asks the same of tiles inside a larger tile whose occupancy is known.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::nest {

struct Mold {
  std::vector<base::Count> extents;  // along the tensor's ranks
  base::Count words = 1;             // their product
};

// Where the nonzeros of a tensor are.
struct Pattern {
  std::vector<base::Count> bounds;       // of the tensor's ranks
  std::vector<base::Count> coordinates;  // of one nonzero after the other, each different from the others
  base::Count nonzeros() const {
    return bounds.empty() ? 0 : static_cast<base::Count>(coordinates.size() / bounds.size());
  }
};

class Density {
 public:
  enum class Kind { kStructured, kHypergeometric, kPattern };

  Density() = default;  // dense
  static Density structured(double share);
  static Density hypergeometric(double share, base::Count words);
  static Density pattern(Pattern pattern);

  Kind kind() const { return kind_; }
  const char* name() const;
  double share() const { return share_; }  // of all words, those that are not zero
  bool dense() const { return share_ >= 1; }
  base::Count words() const { return words_; }              // of the whole tensor, hypergeometric
  const Pattern* listed() const { return pattern_.get(); }  // of a pattern; else null

  // Occupancies of tiles of this shape with their probabilities, rising; those that sum to less than 1e-15 are left
  // out, and of thousands every so many stand for all.
  std::vector<std::pair<base::Count, double>> occupancies(const Mold& tile) const;
  double empty(const Mold& tile) const;      // the probability that a tile has none
  double expected(const Mold& tile) const;   // nonzeros on average
  base::Count most(const Mold& tile) const;  // that a tile may have

  // How long a question about a tile takes, at most, about, in units of a structured one's.
  double effort() const;

  // The probability that a tile inside `outer` is empty, as a function of the nonzeros that `outer` has.
  std::function<double(base::Count)> empty_within(const Mold& tile, const Mold& outer) const;

 private:
  Kind kind_ = Kind::kStructured;
  double share_ = 1;
  base::Count words_ = 0, nonzeros_ = 0;  // of the whole tensor, hypergeometric
  std::shared_ptr<const Pattern> pattern_;
};

// P(k nonzeros among n of N words that hold r), to 1e-13 of itself.
double hypergeometric_share(base::Count k, base::Count n, base::Count r, base::Count all);

// The places (i, j) with |i - j| <= width of a matrix.
Pattern band(base::Count rows, base::Count columns, base::Count width);

}  // namespace orrery::nest
