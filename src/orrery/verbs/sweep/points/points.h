// The points of a study in memory: a few dozen bytes each, whatever was found.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/verbs/sweep/points/study.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::sweep {

inline constexpr std::size_t kMostInMemory = 20'000'000;

class Points {
 public:
  Points() = default;
  Points(Points&&) = default;  // not copied: texts are pointed at
  Points& operator=(Points&&) = default;

  void add(Point point);  // with rising numbers

  std::size_t size() const { return numbers_.size(); }
  Point number(std::size_t at) const { return numbers_[at]; }
  std::size_t place_of(Point point) const;  // size(): not among them

  bool known(std::size_t at) const { return status_[at] != kOpen; }
  store::Status status(std::size_t at) const { return static_cast<store::Status>(status_[at]); }
  bool found(std::size_t at) const;
  const store::Figures& figures(std::size_t at) const { return figures_[at]; }
  double lower_bound(std::size_t at) const { return lower_bound_[at]; }
  const std::string& reason(std::size_t at) const;
  // Keeps what is needed of it: neither gap nor parts.
  void set(std::size_t at, const store::Outcome& outcome);

 private:
  static constexpr std::uint8_t kOpen = 255;
  std::vector<Point> numbers_;
  std::vector<std::uint8_t> status_;
  std::vector<double> lower_bound_;
  std::vector<store::Figures> figures_;
  std::vector<std::uint32_t> reason_;             // of each, a place in texts_; 0: none
  std::map<std::string, std::uint32_t> reasons_;  // each text once
  std::vector<const std::string*> texts_;
};

}  // namespace orrery::sweep
