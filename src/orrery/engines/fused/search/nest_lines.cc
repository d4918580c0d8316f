#include "orrery/engines/fused/search/nest_lines.h"

#include <algorithm>
#include <numeric>

namespace orrery::fused {
namespace {

struct Place {
  int access = 0;
  int storage = 0;
};

// All orders of holds, storages outside in.
class Orders {
 public:
  explicit Orders(const EinsumShape& shape) : shape_(shape) {}
  std::vector<std::vector<Place>> all() {
    choose(0);
    return std::move(all_);
  }

 private:
  void choose(std::size_t storage) {
    if (storage == shape_.inner.size()) {
      all_.push_back(line_);
      return;
    }
    const int s = shape_.inner[storage];
    const unsigned accesses = 1U << shape_.view.accesses();
    for (unsigned held = 0; held < accesses; ++held) {
      std::vector<int> order;
      bool allowed = true;
      for (int a = 0; a < shape_.view.accesses(); ++a) {
        const Keep keep = shape_.view.keep(s, a);
        const bool in = (held >> a & 1) != 0;
        allowed = allowed && !(in && keep == Keep::kNever) && !(!in && keep == Keep::kMust);
        if (in) order.push_back(a);
      }
      if (!allowed) continue;
      do {
        for (const int a : order) line_.push_back({a, s});
        choose(storage + 1);
        line_.resize(line_.size() - order.size());
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }

  const EinsumShape& shape_;
  std::vector<Place> line_;
  std::vector<std::vector<Place>> all_;
};

class Builder {
 public:
  Builder(const EinsumShape& shape, Counted counted) : shape_(shape), account_{shape, counted} {}

  NestLine build(const std::vector<Place>& places, std::size_t spread) {
    line_ = {};
    line_.spread = spread;
    parts();
    for (const Place& place : places) {
      NestLine::Hold hold;
      hold.access = place.access;
      hold.storage = place.storage;
      hold.bits = shape_.view.word_bits(place.storage, place.access);
      hold.inside.resize(ports_inside(shape_));
      for (int c = 0; c < shape_.classes(); ++c) hold.parts[c] = parts_above(position(place.storage), c);
      line_.holds.push_back(std::move(hold));
    }
    line_.fixed.resize(shape_.view.accesses());
    line_.fixed_inside.resize(ports_inside(shape_));
    for (int a = 0; a < shape_.view.accesses(); ++a) crossings(a);
    blocks();
    unit();
    return std::move(line_);
  }

 private:
  int position(int storage) const { return shape_.view.machine.storages[storage].position; }
  int unit_position() const { return shape_.view.machine.units[shape_.view.e.unit].position; }
  SpreadList::One spreads() const { return shape_.spreads[line_.spread]; }

  double parts_above(int position, int c) const {
    double product = 1;
    for (std::size_t f = 0; f < spreads().size(); ++f)
      if (shape_.view.machine.fanouts[f].position < position) product *= static_cast<double>(spreads()[f][c]);
    return product;
  }
  double instances(int position) const {
    double product = 1;
    for (int c = 0; c < shape_.classes(); ++c) product *= parts_above(position, c);
    return product;
  }
  // Copies of a word that a keeper sends down to a holder.
  double sent(int access, int keeper, int holder) const {
    double product = 1;
    for (int f = 0; f < static_cast<int>(spreads().size()); ++f) {
      const int at = shape_.view.machine.fanouts[f].position;
      if (at < keeper || at > holder) continue;
      for (int c = 0; c < shape_.classes(); ++c)
        if (shape_.relevant(access, c) || !shape_.view.shares(f, access))
          product *= static_cast<double>(spreads()[f][c]);
    }
    return product;
  }

  void parts() {
    for (int c = 0; c < shape_.classes(); ++c)
      line_.parts[c] =
          static_cast<std::uint8_t>(shape_.all[c].place(static_cast<Count>(parts_above(unit_position(), c))));
  }

  void crossings(int access) {
    int keeper = -1;
    for (NestLine::Hold& hold : line_.holds) {
      if (hold.access != access) continue;
      cross(access, keeper, hold.storage, position(hold.storage), 1, hold.cost, hold.inside);
      keeper = hold.storage;
    }
    double repeats = 1;
    for (int c = 0; c < shape_.classes(); ++c)
      if (!shape_.relevant(access, c))
        repeats *= static_cast<double>(shape_.all[c].bound) / parts_above(unit_position(), c);
    cross(access, keeper, -1, unit_position(), repeats, line_.fixed[access], line_.fixed_inside);
  }

  // From `keeper` (-1: outside) to a holder (-1: the unit), `repeats` times.
  void cross(int access, int keeper, int holder, int at, double repeats, std::array<Cost, 2>& cost,
             std::vector<double>& inside) {
    double words = shape_.words(shape_.full, access);
    for (int c = 0; c < shape_.classes(); ++c)
      if (shape_.relevant(access, c)) words /= parts_above(at, c);
    const bool output = access == shape_.view.e.output();
    for (int outside = 0; outside < 2; ++outside) {
      const int from = keeper >= 0 ? keeper : outside == kOutermost ? 0 : shape_.exchange;
      if (from < 0) continue;
      std::vector<double>* ports = outside == 0 ? &inside : nullptr;
      std::vector<double>* fixed = outside == 0 ? &line_.fixed_inside : nullptr;
      const double moved = words * sent(access, position(from), at);
      const double keepers = instances(position(from));
      account_.add(cost[outside], ports, from, access, moved * repeats, output ? moved * repeats : 0, keepers);
      if (output) account_.add(line_.fixed[access][outside], fixed, from, access, -moved, 0, keepers);
      if (holder < 0) continue;
      account_.add(cost[outside], ports, holder, access, output ? words * repeats : 0, words * repeats, instances(at));
      if (output) account_.add(line_.fixed[access][outside], fixed, holder, access, 0, -words, instances(at));
    }
  }

  void blocks() {
    const int holds = static_cast<int>(line_.holds.size());
    for (int c = 0; c < shape_.classes(); ++c) {
      int last = -1;
      for (int b = 0; b <= holds; ++b) {
        const bool below = b == 0 || !shape_.relevant(line_.holds[b - 1].access, c);
        const bool above = b == holds || shape_.relevant(line_.holds[b].access, c);
        if (!below || !above) continue;
        if (last >= 0) line_.free.push_back({c, last});
        last = b;
      }
      line_.rest[c] = last;
    }
  }

  void unit() {
    const Unit& unit = shape_.view.machine.units[shape_.view.e.unit];
    double operations = 1;
    for (const VariableClass& one : shape_.all) operations *= static_cast<double>(one.bound);
    const double times = shape_.view.e.times;
    if (account_.counted.energy)
      for (Cost& cost : line_.fixed.back()) cost.energy += operations * unit.energy * times;
    if (account_.counted.delay) line_.unit_latency = operations / instances(unit_position()) / unit.rate * times;
  }

  const EinsumShape& shape_;
  Account account_;
  NestLine line_;
};

// The places of the spreads that use the most instances, at most so many.
std::vector<std::size_t> widest(const SpreadList& spreads, double most) {
  std::vector<std::size_t> places(spreads.size());
  std::iota(places.begin(), places.end(), 0);
  if (static_cast<double>(places.size()) <= most) return places;
  std::vector<double> instances;
  for (const std::size_t i : places) instances.push_back(spreads[i].instances());
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(most);
  std::partial_sort(places.begin(), end, places.end(), [&](std::size_t a, std::size_t b) {
    return instances[a] != instances[b] ? instances[a] > instances[b] : a < b;
  });
  places.erase(end, places.end());
  return places;
}

// Of storage s, its reads or its writes.
int port_inside(const EinsumShape& shape, int storage, bool write) {
  int port = 0;
  for (const int s : shape.inner) {
    const Storage& at = shape.view.machine.storages[s];
    const bool one = at.ports == Ports::kShared;
    if (s == storage) return port + (write && !one ? 1 : 0);
    port += one ? 1 : 2;
  }
  return -1;
}

}  // namespace

int ports_inside(const EinsumShape& shape) {
  int ports = 0;
  for (const int s : shape.inner) ports += shape.view.machine.storages[s].ports == Ports::kShared ? 1 : 2;
  return ports;
}

void Account::add(Cost& cost, std::vector<double>* inside, int storage, int access, double read, double written,
                  double instances) const {
  const Storage& at = shape.view.machine.storages[storage];
  const double bits = shape.view.word_bits(storage, access) * shape.view.e.times;
  if (counted.energy) cost.energy += (read * at.read_energy + written * at.write_energy) * bits * instances;
  if (!counted.delay) return;
  const double reading = read * bits / at.read_rate;
  const double writing = written * bits / at.write_rate;
  const bool one = at.ports == Ports::kShared;
  if (storage == 0 || storage == shape.exchange) {
    const int first = storage == 0 ? 0 : 2;
    cost.port[first] += reading;
    cost.port[first + (one ? 0 : 1)] += writing;
  } else if (inside != nullptr) {
    (*inside)[port_inside(shape, storage, false)] += reading;
    (*inside)[port_inside(shape, storage, true)] += writing;
  }
}

std::vector<NestLine> nest_lines(const EinsumShape& shape, Counted counted, Hope& hope) {
  std::vector<NestLine> lines;
  if (shape.view.e.copy) return lines;
  Builder builder(shape, counted);
  const std::vector<std::vector<Place>> orders = Orders(shape).all();
  const double most = std::max(1.0, hope.most_lines() / std::max(1.0, static_cast<double>(orders.size())));
  const std::vector<std::size_t> spreads = widest(shape.spreads, most);
  for (const std::vector<Place>& places : orders)
    for (const std::size_t spread : spreads) {
      if (hope.ended()) return lines;
      lines.push_back(builder.build(places, spread));
    }
  return lines;
}

}  // namespace orrery::fused
