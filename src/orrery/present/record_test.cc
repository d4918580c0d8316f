#include "orrery/present/record.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/present/schema_check_test_util.h"

namespace orrery::verbs {
namespace {

using nlohmann::json;

struct Point {
  double x = 0.5;
  std::optional<base::Count> layer;
};

struct Chart {
  std::string name = "north";
  std::vector<Point> points = {{}, {2, 3}};
  std::vector<std::pair<std::string, bool>> flags = {{"b", true}, {"a", false}};
  std::optional<Point> centre;
  bool named = false;
};

Record<Point> point() {
  return {{"x", "m, to the right.", &Point::x}, {"layer", "From below; null: any.", &Point::layer}};
}

Record<Chart> chart() {
  return {{"points", "In any order.", &Chart::points, point()},
          {"flags", "By name.", &Chart::flags},
          {"centre", "Null: none.", &Chart::centre, point()},
          {"name", "Where it has one.", &Chart::name, when(&Chart::named), OneOf{{"north", "south"}}}};
}

json written(const Chart& of) {
  return json::parse(text(chart().json(of)));
}

TEST(Record, WritesKeysInTheirOrderAndTypesAsTheGettersHaveThem) {
  std::string line = text(chart().json({}));
  std::erase_if(line, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(line,
            R"({"points":[{"x":0.5,"layer":null},{"x":2.0,"layer":3}],"flags":{"b":true,"a":false},"centre":null})");
}

TEST(Record, ASchemaTakesWhatItsWriterWritesAndNothingElse) {
  const SchemaCheck check(json::parse(text(chart().schema())));
  Chart of;
  EXPECT_EQ(check(written(of)), std::vector<std::string>());
  of.named = true;
  of.centre = Point();
  EXPECT_EQ(check(written(of)), std::vector<std::string>());
  of.name = "east";
  EXPECT_EQ(check(written(of)).size(), 1u) << "none of the choices";
  json more = written({});
  more["points"][1]["y"] = 1;
  EXPECT_EQ(check(more).size(), 1u) << "a key that nobody described";
  json less = written({});
  less.erase("flags");
  EXPECT_EQ(check(less).size(), 1u) << "a key that is always there";
  json other = written({});
  other["flags"]["c"] = 1;
  other["points"][0]["layer"] = 0.5;
  EXPECT_EQ(check(other).size(), 2u) << "a number for a flag, half a layer";
}

TEST(Record, KeysOfAPartAndKeysThatStandForTwoThingsAreDescribed) {
  Record<Chart> seen = point().of<Chart>([](const Chart& m) { return m.points[1]; });
  seen.only(&Chart::named).add({{"x", "Its name.", &Chart::name, when([](const Chart& m) { return !m.named; })}});
  const SchemaCheck check(json::parse(text(seen.schema())));
  for (const bool named : {false, true}) {
    Chart of;
    of.named = named;
    const json out = json::parse(text(seen.json(of)));
    EXPECT_EQ(out.at("x"), named ? json(2.0) : json("north"));
    EXPECT_EQ(out.contains("layer"), named);
    EXPECT_EQ(check(out), std::vector<std::string>());
  }
  EXPECT_FALSE(check(json{{"x", true}}).empty());
}

TEST(Json, NumbersReadBackAndBytesThatAreNoTextAreRepaired) {
  const Json list = Json::List{0.1, 1e300, std::numeric_limits<double>::infinity(), base::Count{1} << 62, "\xff"};
  EXPECT_EQ(json::parse(text(list)), json::parse(R"([0.1, 1e300, null, 4611686018427387904, "\ufffd"])"));
}

}  // namespace
}  // namespace orrery::verbs
