#include "tests/rtl/cosim.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

#include "tests/rtl/branches.h"

namespace orrery::rtl {

std::size_t Unit::numbers() const {
  std::size_t all = 0;
  for (const Field& field : fields_) all += static_cast<std::size_t>(field.count);
  return all;
}

Cycle Unit::draw(Random& random) {
  Cycle cycle;
  for (const Field& field : fields_)
    for (int i = 0; i < field.count; ++i) cycle.push_back(random() >> (64 - field.bits));
  return cycle;
}

std::optional<Difference> run(Unit& unit, const std::vector<Cycle>& stimulus) {
  unit.reset();
  for (std::size_t t = 0; t < stimulus.size(); ++t)
    if (std::string what = unit.step(stimulus[t]); !what.empty()) return Difference{t, std::move(what)};
  return std::nullopt;
}

std::string text_of(const Unit& unit, const std::vector<Cycle>& stimulus, const Difference& difference) {
  std::string text = "the shortest failing stimulus has " + std::to_string(stimulus.size()) +
                     " cycles after reset (what is not named is 0):\n";
  for (std::size_t t = 0; t < stimulus.size(); ++t) {
    text += "  " + std::to_string(t) + ":";
    std::size_t at = 0;
    for (const Field& field : unit.fields()) {
      for (int i = 0; i < field.count; ++i, ++at) {
        if (stimulus[t][at] == 0) continue;
        text += std::string(" ") + field.name + (field.count == 1 ? "" : "[" + std::to_string(i) + "]") + "=" +
                std::to_string(stimulus[t][at]);
      }
    }
    text += "\n";
  }
  return text + "  in cycle " + std::to_string(difference.cycle) + ": " + difference.what + "\n";
}

std::string cosimulate(Unit& unit, std::size_t cycles, std::size_t most, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t done = 0; done < cycles;) {
    const std::size_t length = std::min(cycles - done, 1 + random() % most);
    unit.begin_episode(random);
    unit.reset();
    std::vector<Cycle> stimulus;
    for (std::size_t t = 0; t < length; ++t, ++done) {
      stimulus.push_back(unit.draw(random));
      if (unit.step(stimulus.back()).empty()) continue;
      const std::vector<Cycle> least = shrink(unit, stimulus);
      return text_of(unit, least, run(unit, least).value_or(Difference{t, "only once"}));
    }
  }
  return {};
}

std::size_t cosim_cycles() {
  const char* const text = std::getenv("ORRERY_COSIM_CYCLES");
  return text == nullptr ? 100'000 : std::strtoull(text, nullptr, 10);
}

namespace {

// A point in Verilator's file: C '\001KEY\002VALUE ... ' COUNT, of which f is the file, l the line, o a net's bit or the kind
// of a branch, page the kind of point.
struct Point {
  std::string page, place, object;
  bool reached = false;
};

std::vector<Point> points_of(Unit& unit) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("orrery_coverage." + std::to_string(getpid()))).string();
  unit.write_coverage(path);
  std::ifstream file(path);
  const auto value = [](const std::string& line, const std::string& key) {
    const std::size_t at = line.find("\001" + key + "\002"), from = at + key.size() + 2;
    return at == std::string::npos ? std::string() : line.substr(from, line.find_first_of("\001'", from) - from);
  };
  std::vector<Point> points;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("C '", 0) != 0) continue;
    points.push_back({value(line, "page"),
                      std::filesystem::path(value(line, "f")).filename().string() + ":" + value(line, "l"),
                      value(line, "o"), line.substr(line.rfind(' ') + 1) != "0"});
  }
  std::filesystem::remove(path);
  return points;
}

bool toggles(const Point& point) {
  return point.page.rfind("v_toggle", 0) == 0;
}

Reached counted(const std::map<std::string, bool>& points) {
  Reached all;
  for (const auto& [name, reached] : points) {
    ++all.all;
    all.reached += reached ? 1 : 0;
    if (!reached) all.holes.push_back(name);
  }
  return all;
}

}  // namespace

Coverage coverage(Unit& unit) {
  std::map<std::string, bool> lines, bits;
  for (const Point& point : points_of(unit)) {
    bool& reached = toggles(point) ? bits[point.place + " " + point.object] : lines[point.place];
    reached = reached || point.reached;
  }
  return {counted(lines), counted(bits)};
}

Reached branches(Unit& unit) {
  std::map<std::string, bool> all;
  for (const Point& point : points_of(unit)) {
    if (toggles(point) || point.object == "block") continue;
    bool& reached = all[point.place + " " + point.object];
    reached = reached || point.reached;
  }
  return counted(all);
}

}  // namespace orrery::rtl
