#include "orrery/base/text/edit_distance.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace orrery::base {
namespace {

const std::vector<std::string> kKeys{"attributes", "spatial", "subclass", "constraints", "factors_only", "permutation"};

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("spatial", "sptaial"), 1u);
}

TEST(EditDistance, IsSymmetricAndBoundedByTheLengths) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    const std::size_t distance = edit_distance(a, b);
    RC_ASSERT(distance == edit_distance(b, a));
    RC_ASSERT(distance <= std::max(a.size(), b.size()));
    RC_ASSERT(distance >= std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  }));
}

TEST(Closest, FindsAMisspeltName) {
  EXPECT_EQ(closest("atributes", kKeys), "attributes");
  EXPECT_EQ(closest("sptaial", kKeys), "spatial");
  EXPECT_EQ(closest("permuation", kKeys), "permutation");
}

TEST(Closest, LooksThroughLetterCaseAndDashes) {
  EXPECT_EQ(closest("FACTORS-ONLY", kKeys), "factors_only");
  const std::vector<std::string> names{"pe_arrays", "PE-array"};
  EXPECT_EQ(closest("pe_array", names), "PE-array");
}

TEST(Closest, SuggestsNothingWhenNothingIsNear) {
  EXPECT_EQ(closest("bandwidth", kKeys), "");
  EXPECT_EQ(closest("", kKeys), "");
  EXPECT_EQ(closest("anything", {}), "");
}

TEST(Closest, DoesNotOfferOneSingleLetterForAnother) {
  const std::vector<std::string> dimensions{"M", "K", "N"};
  EXPECT_EQ(closest("P", dimensions), "");
  EXPECT_EQ(closest("k", dimensions), "K");
}

TEST(Closest, TakesShortNamesForMisspeltOnlyWhereTheLettersAreTheSame) {
  struct Case {
    const char* wanted;
    const char* candidate;
    bool suggested;
  };
  for (const Case& c :
       {Case{"mpt", "opt", false}, Case{"tp", "pp", false}, Case{"l2", "l1", false}, Case{"QK", "QV", false},
        Case{"hpl", "fft", false}, Case{"ab", "ba", true}, Case{"KTO", "KTQ", true}, Case{"lmm", "llm", true},
        Case{"otp", "opt", true}, Case{"op", "opt", true}, Case{"opt", "optt", true}, Case{"OPT", "opt", true},
        Case{"mp", "map", true}, Case{"lama", "llama", true}, Case{"bart", "bert", true}, Case{"bloom", "llama", false},
        Case{"phi", "qwen2", false}, Case{"gpt3", "gpt2", true}, Case{"falcon", "nemotron", false}}) {
    const std::vector<std::string> names{c.candidate};
    EXPECT_EQ(closest(c.wanted, names), c.suggested ? c.candidate : "") << c.wanted << " " << c.candidate;
  }
}

TEST(Closest, GivesTheEarlierOfTwoEquallyNearNames) {
  const std::vector<std::string> names{"shared_glb2", "shared_glb3"};
  EXPECT_EQ(closest("shared_glb1", names), "shared_glb2");
}

TEST(Closest, IgnoresInputTooLongToBeAName) {
  EXPECT_EQ(closest(std::string(1 << 20, 'a'), kKeys), "");
}

TEST(DidYouMean, NamesTheNearestOrSaysTheOtherThing) {
  EXPECT_EQ(did_you_mean("FACTORS-ONLY", kKeys, "other"), "did you mean `factors_only`?");
  EXPECT_EQ(did_you_mean("bandwidth", kKeys, "other"), "other");
  EXPECT_EQ(did_you_mean("bandwidth", kKeys), "");
  EXPECT_EQ(did_you_mean("", "other"), "other");
}

}  // namespace
}  // namespace orrery::base
