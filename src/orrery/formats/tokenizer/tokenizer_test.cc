#include "orrery/formats/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "orrery/formats/tokenizer/models.h"
#include "orrery/formats/tokenizer/tokenizer_test_util.h"

namespace orrery::formats::tokenizer {
namespace {

using base::Codes;

// "id:begin:end ...", in code points.
std::string shown(const std::string& text, const Encoding& tokens) {
  const auto places = code_points(text, tokens, 0);
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    out += fmt::format("{}{}:{}:{}", i > 0 ? " " : "", tokens[i].id, places[i].first, places[i].second);
  return out;
}

struct Fact {
  std::string text, tokens;
};

void expect(const Tokenizer& tokenizer, const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) EXPECT_EQ(shown(fact.text, tokenizer.encode(fact.text)), fact.tokens) << fact.text;
}

// What Hugging Face's tokenizers 0.23.3 gives with the same vocabulary.
TEST(Tokenizer, WordPiecesWithoutCaseAreTheOriginals) {
  expect(
      words(),
      {
          {"The quick brown fox jumps, jumped!",
           "2:0:0 5:0:3 6:4:9 7:10:15 8:16:19 9:20:24 10:24:25 18:25:26 9:27:31 11:31:33 20:33:34 3:0:0"},
          {"unaffable hello-world", "2:0:0 30:0:2 31:2:5 32:5:9 33:10:15 17:15:16 34:16:21 3:0:0"},
          {"Caf\303\251 R\303\211SUM\303\211 na\303\257ve", "2:0:0 22:0:4 23:5:11 48:12:17 3:0:0"},
          {"e\314\201 cafe\314\201\314\243", "2:0:0 1:0:1 22:3:7 3:0:0"},
          {"\344\275\240\345\245\275,\344\270\226\347\225\214", "2:0:0 35:0:1 36:1:2 18:2:3 37:3:4 38:4:5 3:0:0"},
          {"\320\237\321\200\320\270\320\262\320\265\321\202 \320\274\320\270\321\200 \320\271",
           "2:0:0 39:0:6 40:7:10 46:11:12 3:0:0"},
          {"\316\236\316\237\316\243 \317\203", "2:0:0 41:0:1 42:1:2 43:2:3 45:4:5 3:0:0"},
          {"\304\260stanbul i\314\207", "2:0:0 49:0:1 51:1:8 49:9:10 3:0:0"},
          {std::string("a\000b\357\277\275c\302\255x x\342\200\215x", 16), "2:0:0 1:0:7 59:8:9 60:10:11 3:0:0"},
          {"\011tabs\343\200\200and\302\240blanks \342\200\250 x", "2:0:0 1:1:5 1:6:9 1:10:16 59:19:20 3:0:0"},
          {"[CLS] hello [MASK]world [SEP]", "2:0:0 2:0:5 33:6:11 4:12:18 34:18:23 3:24:29 3:0:0"},
          {"don't DO", "2:0:0 26:0:3 16:3:4 29:4:5 25:6:8 3:0:0"},
          {"\302\275 \302\262 \342\204\242 \357\254\201 3.14 314",
           "2:0:0 53:0:1 54:2:3 55:4:5 61:6:7 56:8:9 19:9:10 1:10:12 56:13:14 57:14:16 3:0:0"},
          {"_x_xx", "2:0:0 58:0:1 59:1:2 58:2:3 59:3:4 60:4:5 3:0:0"},
          {"hello\314\201\314\202world", "2:0:0 1:0:12 3:0:0"},
          {"\360\237\221\251\342\200\215\360\237\221\251\342\200\215\360\237\221\247 fox", "2:0:0 1:0:5 8:6:9 3:0:0"},
          {"", "2:0:0 3:0:0"},
          {"   ", "2:0:0 3:0:0"},
          {std::string(100, 'x'),
           "2:0:0 59:0:1 60:1:2 60:2:3 60:3:4 60:4:5 60:5:6 60:6:7 60:7:8 60:8:9 60:9:10 60:10:11 60:11:12 60:12:13 "
           "60:13:14 60:14:15 60:15:16 60:16:17 60:17:18 60:18:19 60:19:20 60:20:21 60:21:22 60:22:23 60:23:24 "
           "60:24:25 60:25:26 60:26:27 60:27:28 60:28:29 60:29:30 60:30:31 60:31:32 60:32:33 60:33:34 60:34:35 "
           "60:35:36 60:36:37 60:37:38 60:38:39 60:39:40 60:40:41 60:41:42 60:42:43 60:43:44 60:44:45 60:45:46 "
           "60:46:47 60:47:48 60:48:49 60:49:50 60:50:51 60:51:52 60:52:53 60:53:54 60:54:55 60:55:56 60:56:57 "
           "60:57:58 60:58:59 60:59:60 60:60:61 60:61:62 60:62:63 60:63:64 60:64:65 60:65:66 60:66:67 60:67:68 "
           "60:68:69 60:69:70 60:70:71 60:71:72 60:72:73 60:73:74 60:74:75 60:75:76 60:76:77 60:77:78 60:78:79 "
           "60:79:80 60:80:81 60:81:82 60:82:83 60:83:84 60:84:85 60:85:86 60:86:87 60:87:88 60:88:89 60:89:90 "
           "60:90:91 60:91:92 60:92:93 60:93:94 60:94:95 60:95:96 60:96:97 60:97:98 60:98:99 60:99:100 3:0:0"},
          {std::string(101, 'x'), "2:0:0 1:0:101 3:0:0"},
          {std::string("\341\273\207 \303\251\000", 7), "2:0:0 1:0:1 1:2:3 3:0:0"},
          {"\315\204x", "2:0:0 59:1:2 3:0:0"},
          {"stra\303\237e Strasse", "2:0:0 1:0:6 24:7:14 3:0:0"},
          {"\341\231\255x", "2:0:0 1:0:1 59:1:2 3:0:0"},
          {"\360\240\200\200dog\357\244\200", "2:0:0 1:0:1 15:1:4 1:4:5 3:0:0"},
      });
}

TEST(Tokenizer, WordPiecesWithCaseAreTheOriginals) {
  expect(
      words(R"({"do_lower_case": false})"),
      {
          {"The quick brown fox jumps, jumped!",
           "2:0:0 1:0:3 6:4:9 7:10:15 8:16:19 9:20:24 10:24:25 18:25:26 9:27:31 11:31:33 20:33:34 3:0:0"},
          {"unaffable hello-world", "2:0:0 30:0:2 31:2:5 32:5:9 33:10:15 17:15:16 34:16:21 3:0:0"},
          {"Caf\303\251 R\303\211SUM\303\211 na\303\257ve", "2:0:0 1:0:4 1:5:11 1:12:17 3:0:0"},
          {"e\314\201 cafe\314\201\314\243", "2:0:0 1:0:2 1:3:9 3:0:0"},
          {"\344\275\240\345\245\275,\344\270\226\347\225\214", "2:0:0 35:0:1 36:1:2 18:2:3 37:3:4 38:4:5 3:0:0"},
          {"\320\237\321\200\320\270\320\262\320\265\321\202 \320\274\320\270\321\200 \320\271",
           "2:0:0 1:0:6 40:7:10 1:11:12 3:0:0"},
          {"\316\236\316\237\316\243 \317\203", "2:0:0 1:0:3 45:4:5 3:0:0"},
          {"\304\260stanbul i\314\207", "2:0:0 1:0:8 49:9:10 52:10:11 3:0:0"},
          {std::string("a\000b\357\277\275c\302\255x x\342\200\215x", 16), "2:0:0 1:0:7 59:8:9 60:10:11 3:0:0"},
          {"\011tabs\343\200\200and\302\240blanks \342\200\250 x", "2:0:0 1:1:5 1:6:9 1:10:16 59:19:20 3:0:0"},
          {"[CLS] hello [MASK]world [SEP]", "2:0:0 2:0:5 33:6:11 4:12:18 34:18:23 3:24:29 3:0:0"},
          {"don't DO", "2:0:0 26:0:3 16:3:4 29:4:5 1:6:8 3:0:0"},
          {"\302\275 \302\262 \342\204\242 \357\254\201 3.14 314",
           "2:0:0 53:0:1 54:2:3 55:4:5 61:6:7 56:8:9 19:9:10 1:10:12 56:13:14 57:14:16 3:0:0"},
          {"_x_xx", "2:0:0 58:0:1 59:1:2 58:2:3 59:3:4 60:4:5 3:0:0"},
          {"hello\314\201\314\202world", "2:0:0 1:0:12 3:0:0"},
          {"\360\237\221\251\342\200\215\360\237\221\251\342\200\215\360\237\221\247 fox", "2:0:0 1:0:5 8:6:9 3:0:0"},
      });
}

TEST(Tokenizer, BytePairsAreTheOriginals) {
  expect(
      pairs(),
      {
          {"hello hello world", "287:0:0 266:0:5 267:6:11 274:12:17 288:0:0"},
          {"the there thing", "287:0:0 257:0:3 32:4:4 257:4:7 114:7:8 101:8:9 284:10:12 262:12:15 288:0:0"},
          {"  hello   world  ", "287:0:0 32:1:1 267:2:7 263:9:9 274:10:15 263:17:17 288:0:0"},
          {"it's we'll don't 'S",
           "287:0:0 105:0:1 116:1:2 268:2:4 270:5:6 101:6:7 269:7:10 32:11:11 100:11:12 111:12:13 110:13:14 39:14:15 "
           "116:15:16 32:17:17 39:17:18 83:18:19 288:0:0"},
          {"123 1234 x12", "287:0:0 279:0:3 32:4:4 279:4:7 52:7:8 32:9:9 120:9:10 278:10:12 288:0:0"},
          {"\303\251 \320\270 \357\267\275", "287:0:0 275:0:1 32:2:2 276:2:3 32:4:4 239:4:5 183:4:5 189:4:5 288:0:0"},
          {"hello<mask>world <s> </s>",
           "287:0:0 266:0:5 289:5:11 119:11:12 271:12:14 108:14:15 100:15:16 32:17:17 287:17:20 32:21:21 288:21:25 "
           "288:0:0"},
          {"a  <mask> hello", "287:0:0 97:0:1 289:3:9 267:10:15 288:0:0"},
          {"...  ....", "287:0:0 281:0:3 32:4:4 32:5:5 280:5:7 280:7:9 288:0:0"},
          {"\343\200\200\342\200\203 x\302\240y\302\205z",
           "287:0:0 227:0:1 128:0:1 128:0:1 286:1:2 131:1:2 32:3:3 120:3:4 194:4:5 160:4:5 121:5:6 194:6:7 133:6:7 "
           "122:7:8 288:0:0"},
          {"\360\237\221\251\342\200\215\360\237\221\251\342\200\215\360\237\221\247 hi",
           "287:0:0 240:0:1 159:0:1 145:0:1 169:0:1 286:1:2 141:1:2 240:2:3 159:2:3 145:2:3 169:2:3 286:3:4 141:3:4 "
           "240:4:5 159:4:5 145:4:5 167:4:5 32:6:6 104:6:7 105:7:8 288:0:0"},
          {"tab\011here\015", "287:0:0 116:0:1 97:1:2 98:2:3 9:3:4 258:4:6 114:6:7 101:7:8 13:8:9 288:0:0"},
          {"", "287:0:0 288:0:0"},
          {"   ", "287:0:0 263:2:2 32:3:3 288:0:0"},
          {std::string("e\314\201\000x", 5), "287:0:0 101:0:1 204:1:2 129:1:2 0:2:3 120:3:4 288:0:0"},
          {"\331\241\331\242\331\243\342\205\267\302\262x_9",
           "287:0:0 217:0:1 161:0:1 217:1:2 162:1:2 217:2:3 163:2:3 226:3:4 133:3:4 183:3:4 194:4:5 178:4:5 120:5:6 "
           "95:6:7 57:7:8 288:0:0"},
          {"'ll 's 'x", "287:0:0 269:0:3 32:4:4 39:4:5 115:5:6 32:7:7 39:7:8 120:8:9 288:0:0"},
          {"hello\342\200\213world", "287:0:0 266:0:5 286:5:6 139:5:6 119:6:7 271:7:9 108:9:10 100:10:11 288:0:0"},
      });
}

// Code points that the originals' tables of Unicode know otherwise than newer ones; by the originals themselves.
TEST(Tokenizer, CodePointsAreOfTheOriginalsVersionOfUnicode) {
  EXPECT_TRUE(is_punctuation(0x166d)) << "a symbol since Unicode 12";
  EXPECT_FALSE(is_punctuation(0x2e52)) << "assigned in Unicode 14";
  EXPECT_FALSE(is_nonspacing_mark(0x898));
  EXPECT_FALSE(is_other(0x890));
  EXPECT_TRUE(is_letter(0x2ebf0)) << "assigned in Unicode 15.1";
  EXPECT_TRUE(is_number(0x16130)) << "assigned in Unicode 16";
  const auto codes = [](std::vector<std::uint32_t> given, bool lower) {
    Characters text;
    for (const std::uint32_t code : given) text.push_back({code, 0, 0});
    lower ? to_lower_case(text) : decompose(text);
    given.clear();
    for (const Character& one : text) given.push_back(one.code);
    return given;
  };
  using Codes32 = std::vector<std::uint32_t>;
  EXPECT_EQ(codes({0x1c89}, true), Codes32{0x1c8a});
  EXPECT_EQ(codes({0x130}, true), (Codes32{'i', 0x307}));
  EXPECT_EQ(codes({0x11938}, false), Codes32{0x11938});
  EXPECT_EQ(codes({0x1ec7}, false), (Codes32{'e', 0x323, 0x302}));
  EXPECT_EQ(codes({'a', 0x301, 0x323}, false), (Codes32{'a', 0x323, 0x301}));
  EXPECT_EQ(codes({'a', 0x1ac4, 0x323}, false), (Codes32{'a', 0x1ac4, 0x323})) << "a mark of Unicode 14 stays";
  EXPECT_EQ(codes({0xd55c}, false), (Codes32{0x1112, 0x1161, 0x11ab}));
}

TEST(Tokenizer, PairsHaveTypesAndWindowsShareTheStride) {
  const Tokenizer tokenizer = words();
  const std::vector<Encoding> windows =
      tokenizer.encode("the fox", "hello world dog hello fox x", {Truncate::kOnlySecond, 8, 1});
  // [CLS] the fox [SEP] and [SEP] leave room for 3 of the second text's 6 tokens.
  ASSERT_EQ(windows.size(), 3U);
  std::vector<std::size_t> begins, ends;
  for (const Encoding& window : windows) {
    ASSERT_LE(window.size(), 8U);
    std::string types, sequences;
    for (const Token& token : window) {
      types += std::to_string(token.type);
      sequences += token.sequence < 0 ? "-" : std::to_string(token.sequence);
    }
    EXPECT_EQ(types.substr(0, 5), "00001");
    EXPECT_EQ(sequences.substr(0, 4), "-00-");
    EXPECT_EQ(sequences.back(), '-');
    begins.push_back(window[4].begin);
    ends.push_back(window[window.size() - 2].end);
  }
  EXPECT_EQ(begins, (std::vector<std::size_t>{0, 12, 22}));
  EXPECT_EQ(ends, (std::vector<std::size_t>{15, 25, 27}));
  EXPECT_EQ(pairs().encode("a", "b", {}).front().size(), 6U) << "<s> a </s> </s> b </s>";
  EXPECT_EQ(tokenizer.encode("the fox", "hello", {}, false).front().size(), 3U);
}

TEST(Tokenizer, TheLongerTextIsCutFirst) {
  for (std::size_t first = 0; first < 12; ++first)
    for (std::size_t second = 0; second < 12; ++second)
      for (std::size_t room = 0; room < 14; ++room) {
        // Token by token, as the papers say it: the longer one loses its last.
        const auto kept = kept_lengths(first, second, true, Truncate::kLongestFirst, room);
        EXPECT_EQ(kept.first + kept.second, std::min(first + second, room));
        std::size_t a = first, b = second;
        while (a + b > room) --(a > b ? a : b);
        EXPECT_EQ(std::min(kept.first, kept.second), std::min(a, b)) << first << " " << second << " " << room;
        if (first + second > room && first > room) {
          EXPECT_EQ(base::codes_of([&] { kept_lengths(first, second, true, Truncate::kOnlySecond, room); }),
                    Codes{"O1626"});
        }
      }
  EXPECT_EQ(kept_lengths(5, 9, true, Truncate::kOnlySecond, 8), (std::pair<std::size_t, std::size_t>(5, 3)));
  EXPECT_EQ(kept_lengths(5, 9, true, Truncate::kOnlyFirst, 10), (std::pair<std::size_t, std::size_t>(1, 9)));
}

TEST(Tokenizer, LimitsWithoutRoomAreRefused) {
  const Tokenizer tokenizer = words();
  const auto said = [&](const Limits& limits) {
    return base::codes_of([&] { tokenizer.encode("the fox x", "hello world dog", limits); });
  };
  EXPECT_EQ(said({Truncate::kOnlySecond, 8, 2}), Codes{"O1626"}) << "a stride as long as the window";
  EXPECT_EQ(said({Truncate::kLongestFirst, 2, 0}), Codes{"O1626"}) << "fewer tokens than special ones";
  EXPECT_EQ(said({Truncate::kOnlyFirst, 6, 0}), Codes{"O1626"});
  EXPECT_EQ(said({Truncate::kLongestFirst, 7, 1}), Codes{"O1626"}) << "both are cut";
  EXPECT_EQ(said({Truncate::kLongestFirst, 7, 0}), Codes{});
}

TEST(Tokenizer, TextsThatAreNoUtf8AreRefused) {
  for (const char* const text :
       {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80", "\x80"})
    EXPECT_EQ(base::codes_of([&] { words().encode(text); }), Codes{"O1625"}) << text;
}

// A naive reading of the definition: look at all neighbours, merge the leftmost of the best, and begin again.
std::vector<std::string> naive_pairs(const std::string& word, const std::string& merges) {
  std::vector<std::pair<std::string, std::string>> list;
  std::string left, right;
  bool second = false;
  for (const char one : merges) {
    if (one == ' ') {
      second = true;
    } else if (one == '\n') {
      list.emplace_back(left, right);
      left.clear(), right.clear();
      second = false;
    } else {
      (second ? right : left) += one;
    }
  }
  std::vector<std::string> parts;
  for (const char one : word) parts.emplace_back(1, one);
  for (bool merged = true; merged;) {
    merged = false;
    for (const auto& merge : list) {
      for (std::size_t i = 0; i + 1 < parts.size() && !merged; ++i)
        if (parts[i] == merge.first && parts[i + 1] == merge.second) {
          parts[i] += parts[i + 1];
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
      if (merged) break;
    }
  }
  return parts;
}

TEST(Tokenizer, BytePairsEqualTheNaiveDefinitionOnRandomMerges) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> known{"a", "b", "c"};
    std::string merges;
    for (int i = 0; i < 25; ++i) {
      const std::string left = known[random() % known.size()], right = known[random() % known.size()];
      if (left.size() + right.size() > 12 || merges.find("\n" + left + " " + right + "\n") != std::string::npos ||
          merges.rfind(left + " " + right + "\n", 0) == 0)
        continue;
      merges += left + " " + right + "\n";
      if (std::find(known.begin(), known.end(), left + right) == known.end()) known.push_back(left + right);
    }
    const Tokenizer tokenizer = pairs("{}", merges);
    for (const std::size_t size : {1, 2, 7, 24, 25, 60, 200}) {  // both ways to merge
      std::string word;
      for (std::size_t i = 0; i < size; ++i) word += "abc"[random() % 3];
      std::vector<std::string> got;
      const Encoding tokens = tokenizer.encode(word, {}, {}, false).front();
      for (const Token& token : tokens) {
        got.push_back(*tokenizer.vocabulary().text(token.id));
        EXPECT_EQ(word.substr(token.begin, token.end - token.begin), got.back());
      }
      ASSERT_EQ(got, naive_pairs(word, merges)) << word << "\n" << merges;
    }
  }
}

TEST(Tokenizer, WordPiecesEqualTheNaiveDefinitionOnRandomVocabularies) {
  std::mt19937 random(5);
  const std::string letters[] = {"a", "b", "\xc3\xa4", "\xe6\xb0\xb4"};
  const auto drawn = [&](unsigned most) {
    std::string text;
    for (unsigned n = 1 + random() % most; n > 0; --n) text += letters[random() % 4];
    return text;
  };
  for (int round = 0; round < 400; ++round) {
    auto vocabulary = std::make_shared<Vocabulary>();
    vocabulary->add("?", 0);
    const std::string mark = round % 3 == 0 ? "" : round % 3 == 1 ? "##" : "\xc3\xa4\xc3\xa4\xc3\xa4";
    for (Id id = 1; id < 20; ++id) vocabulary->add((random() % 2 == 0 ? "" : mark) + drawn(4), id);
    const auto model = word_piece(vocabulary, {0, mark, 30});
    for (int word = 0; word < 20; ++word) {
      const std::string text = drawn(12);
      Characters characters;
      append_characters(text, 0, characters);
      std::vector<Piece> pieces;
      model->tokenize(characters, pieces);
      std::vector<Id> expected;
      for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.size();
        std::optional<Id> id;
        for (; end > begin; --end)
          if ((id = vocabulary->find((begin > 0 ? mark : "") + text.substr(begin, end - begin)))) break;
        if (!id) {
          expected.assign(1, 0);
          break;
        }
        expected.push_back(*id);
        begin = end;
      }
      std::vector<Id> ids;
      for (const Piece& piece : pieces) ids.push_back(piece.id);
      ASSERT_EQ(ids, expected) << text << " with " << mark;
    }
  }
}

TEST(Tokenizer, AWordOfAMegabyteTakesNoLongerThanItsBytes) {
  const std::string word(1 << 20, 't');
  EXPECT_EQ(pairs().encode(word, {}, {}, false).front().size(), word.size());
  std::string the;
  for (int i = 0; i < 300'000; ++i) the += "the";
  EXPECT_EQ(pairs().encode(the, {}, {}, false).front().size(), 300'000U);
  EXPECT_EQ(words().encode(word).size(), 3U);
}

TEST(Tokenizer, BytePairsDecodeToTheirText) {
  const Tokenizer tokenizer = pairs();
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      std::uint32_t code = random() % 2 ? random() % 0x300 : random() % 0x110000;
      if (code >= 0xd800 && code < 0xe000) code = ' ';
      append_utf8(code, text);
    }
    std::vector<Id> ids;
    for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  EXPECT_EQ(tokenizer.decode({0xe2, 0x82, 'x'}), "\xef\xbf\xbdx") << "half a character";
  EXPECT_EQ(base::codes_of([&] { tokenizer.decode({-3}); }), Codes{"O1628"});
  EXPECT_EQ(base::codes_of([&] { tokenizer.decode({99'999}); }), Codes{"O1628"});
}

TEST(Tokenizer, WordPiecesDecodeWithBlanksBetweenWords) {
  const Tokenizer tokenizer = words();
  std::vector<Id> ids;
  for (const Token& token : tokenizer.encode("The fox jumped, don't!")) ids.push_back(token.id);
  EXPECT_EQ(tokenizer.decode(ids), "the fox jumped, don ' t!");
  EXPECT_EQ(tokenizer.decode(ids, false), "[CLS] the fox jumped, don ' t! [SEP]");
}

TEST(Tokenizer, PlacesAreWithinTheTextAndInOrder) {
  std::mt19937 random(9);
  const Tokenizer both[] = {words(), pairs()};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t code = random() % 3 ? random() % 0x500 : random() % 0x110000;
      append_utf8(code >= 0xd800 && code < 0xe000 ? 'x' : code, text);
    }
    for (const Tokenizer& tokenizer : both) {
      std::size_t before = 0;
      const Encoding tokens = tokenizer.encode(text, {}, {}, false).front();
      for (const Token& token : tokens) {
        EXPECT_LE(token.begin, token.end);
        EXPECT_LE(token.end, text.size());
        if (&tokenizer == &both[1]) {
          EXPECT_GE(token.end, before) << text;
        }
        before = token.begin;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::formats::tokenizer
