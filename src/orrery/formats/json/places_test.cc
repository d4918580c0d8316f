#include "orrery/formats/json/json_places.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::json {
namespace {

TEST(JsonPlaces, NestedKeysAndBracesInTextAreNotTopLevelKeys) {
  const auto keys =
      top_level_keys(base::source("{\"a\": {\"b\": [1, {\"c\": \"}\\\"{\"}]},\n \"d\" : \"x,y\" , \"\xC3\xA9\": 1}"));
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].key, "a");
  EXPECT_EQ(keys[0].value_where.column, 7);
  EXPECT_EQ(keys[1].key, "d");
  EXPECT_EQ(keys[1].value_where.line, 2);
  EXPECT_EQ(keys[1].value_where.column, 8);
  EXPECT_EQ(keys[1].value_where.length, 5);
  EXPECT_EQ(keys[2].key_where.length, 4) << "bytes";
}

}  // namespace
}  // namespace orrery::formats::json
