#include "orrery/base/numbers/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace orrery::base {
namespace {

TEST(ContentHash, NamesNothingByTheFigureThatXxhashDocuments) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
}

TEST(ContentHash, IsThirtyTwoLowerCaseDigits) {
  const std::string hash = content_hash("architecture:");
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(ContentHash, TellsTextsApartThatDifferInOneByte) {
  std::set<std::string> hashes;
  const std::string text(300, 'x');  // longer than the switch to the long-input algorithm at 240 bytes
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'y';
    hashes.insert(content_hash(other));
  }
  hashes.insert(content_hash(text));
  hashes.insert(content_hash(text + '\0'));
  EXPECT_EQ(hashes.size(), text.size() + 2);
}

}  // namespace
}  // namespace orrery::base
