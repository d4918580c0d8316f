// The cheapest ways to keep under given fan-outs: a shortest path over storages.
//
// A chain says what is kept where. Its energy is at least a sum over storages of a term each: the least over the front
// of what may enter the storage (tile_fronts.h) of a price for each word. A term depends on what the storage keeps and
// on where each of that is kept next outside; so the cheapest chain is a shortest path from the outermost storage
// inwards, whose states are who keeps each dataspace so far.
//
// The terms of storages outside a fan-out depend on it through what it spreads at most. They stay while it changes.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "orrery/engines/nest/search/tiles/tile_fronts.h"
#include "orrery/engines/nest/search/tiles/tile_problem.h"

namespace orrery::nest::tiles {

struct Least {
  double energy_pj = std::numeric_limits<double>::infinity();  // leakage aside
  double active = 0;
  double leak_pj_per_cycle = 0;
};

// What mappings that are wanted may take.
struct Wanted {
  std::function<bool(const Least&)> wanted;
  std::function<double(double leak_pj_per_cycle, double energy_pj)> most_active;  // cycles, if so much energy at least
};

class Chains {
 public:
  Chains(const Problem& problem, Fronts& fronts);

  // Under these fan-outs from now on. Front entries that load a port for longer than `most` alone are passed over.
  // `followed`: levels whose tiles hold what fan-outs inside spread; empty: none, and fan-outs may be better than any.
  void set(const std::vector<Fanout>& fanouts, double most, const std::vector<char>& followed);
  // The same with other fan-outs from level `first` up to the next one that keeps or loops, and nothing else changed.
  void change(const std::vector<Fanout>& fanouts, int first);

  const Crossings& crossings() const { return *crossings_; }
  // What everything costs at least, computing aside.
  double least() { return from(static_cast<int>(keeps_.size()) - 1, 0); }
  // Chains of less than `below`: what each level keeps.
  void each(double below, const std::function<void(const std::vector<std::uint32_t>&, double)>& use);
  // Cycles that the outermost storage's ports need, if all of these dataspaces are kept there.
  double outermost_active(std::uint32_t always);

 private:
  using Terms = std::vector<double>;  // [outside of what is kept << dataspaces + what is kept]; below 0: not known

  void update(const std::vector<Fanout>& fanouts, int first);
  int outside(int state, int s) const { return outside_[static_cast<std::size_t>(state * spaces_ + s)]; }
  int kept_by(int state, int k, std::uint32_t mask) const;
  const Crossings::Line& line(int s, int inner, int outer);
  double term(int k, int state, std::uint32_t mask);
  double price(int k, int state, std::uint32_t mask);
  double price_innermost(int s, int outer);
  double innermost(int state) const;
  double from(int k, int state);
  void visit(int k, int state, double so_far, double below, std::vector<std::uint32_t>& keep,
             const std::function<void(const std::vector<std::uint32_t>&, double)>& use);

  const Problem& problem_;
  Fronts& fronts_;
  std::vector<int> keeps_;  // levels that may keep something, the innermost first
  const int spaces_;
  int outsides_ = 1, states_ = 1;
  std::vector<int> outside_;  // [state][dataspace]: 0: nobody, else 1 + place in keeps_
  std::vector<int> width_;    // of each dataspace in a state
  double operations_ = 1;

  std::optional<Crossings> crossings_;
  double most_ = 0;
  std::vector<char> followed_;
  std::vector<std::optional<Crossings::Line>> lines_;  // [dataspace][1 + inner keeper][outer keeper]
  std::vector<Spreading> spreading_;                   // of each keeper: what fan-outs inside it spread
  std::vector<std::map<Spreading, Terms>> terms_;      // of each keeper
  std::vector<Terms*> current_;                        // those of spreading_
  std::vector<std::vector<double>> least_;             // [keeper][state]; below 0: not known
  std::vector<double> innermost_;                      // [dataspace][outside]: what compute units ask for
};

}  // namespace orrery::nest::tiles
