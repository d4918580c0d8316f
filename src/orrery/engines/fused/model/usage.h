// How many instances of each fan-out an einsum has to use.
//
// A fan-out asks for a share of its instances. Where the bounds' factors do not reach it, the most that they reach is
// asked for, fan-outs decided from the inside out: what an inner one takes is gone for the outer ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "orrery/engines/fused/model/einsum_view.h"

namespace orrery::fused {

struct SpreadSpace {
  std::vector<Count> bounds;               // of what may be spread: variables, or classes of them
  std::vector<std::vector<bool>> allowed;  // [fanout][bound]
  std::vector<Count> ways;                 // [fanout]
  std::vector<double> min_usage;           // [fanout]
};
SpreadSpace spread_space(const EinsumView& view);  // over Einsum::variables

// [fanout]; 1 where nothing is asked. Copies use none.
std::vector<Count> required_usage(const SpreadSpace& space);

// What required_usage allows; all in one piece, for there may be millions.
class SpreadList {
 public:
  // [fanout][bound]: how many parts.
  struct One {
    const std::uint32_t* parts;
    std::size_t fanouts, bounds;
    std::size_t size() const { return fanouts; }
    const std::uint32_t* operator[](std::size_t fanout) const { return parts + fanout * bounds; }
    double instances() const { return std::accumulate(parts, parts + fanouts * bounds, 1.0, std::multiplies<>()); }
  };
  SpreadList() = default;
  SpreadList(std::size_t fanouts, std::size_t bounds) : fanouts_(fanouts), bounds_(bounds) {}
  void add(const std::vector<std::uint32_t>& parts) {
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    ++size_;
  }
  void cut() { complete_ = false; }
  std::size_t size() const { return size_; }
  bool complete() const { return complete_; }
  // Those that were added last in front.
  One operator[](std::size_t i) const {
    return {parts_.data() + (size_ - 1 - i) * fanouts_ * bounds_, fanouts_, bounds_};
  }

 private:
  std::size_t fanouts_ = 0, bounds_ = 0, size_ = 0;
  bool complete_ = true;
  std::vector<std::uint32_t> parts_;
};
// Some of them once `ended` says so, at least one; those that use much of the inner fan-outs come first.
SpreadList allowed_spreads(const SpreadSpace& space, const std::function<bool()>& ended = {});

}  // namespace orrery::fused
