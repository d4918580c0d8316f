#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/tokenizer/sentence_piece_test_util.h"

namespace orrery::formats::tokenizer {
namespace {

using base::Codes;

std::string shown(const Encoding& tokens, std::size_t from = 0) {
  std::string out;
  for (std::size_t i = from; i < tokens.size(); ++i)
    out += fmt::format("{}{}:{}:{}", i > from ? " " : "", tokens[i].id, tokens[i].begin, tokens[i].end);
  return out;
}

PieceModel greetings() {
  PieceModel model;
  model.add(kBlank, -3).add("hello", -2).add(kBlank + "hello", -3).add("l", -5).add("he", -4).add("o", -5);
  model.add("w\303\266rld", -2).add("w", -6).add("r", -6).add("d", -6);
  return model;
}

#ifdef ORRERY_SENTENCEPIECE

TEST(SentencePiece, PiecesAreThoseOfTheLargestSumOfScores) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    PieceModel model;
    std::map<std::string, float> scores;
    // Multiples of 1/1024, so that sums are exact.
    const auto score = [&] { return -static_cast<float>(random() % 20000) / 1024; };
    for (const std::string one : {"a", "b", "c", kBlank.c_str()}) scores[one] = score();
    for (int i = 0; i < 20; ++i) {
      std::string text = random() % 3 == 0 ? kBlank : "";
      for (unsigned n = 1 + random() % 4; n > 0; --n) text += static_cast<char>('a' + random() % 3);
      scores[text] = score();
    }
    for (const auto& [text, value] : scores) model.add(text, value);
    const Tokenizer tokenizer = model.read();
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (unsigned n = 1 + random() % 9; n > 0; --n) text += static_cast<char>("abc "[n == 1 ? 0 : random() % 4]);
      // As the library normalises it: blanks at the ends go, of several one is left, one comes before.
      std::string normal = kBlank;
      for (const char c : text.substr(text.find_first_not_of(' ')))
        if (c != ' ')
          normal += c;
        else if (normal.size() < 3 || normal.substr(normal.size() - 3) != kBlank)
          normal += kBlank;
      std::vector<float> best(normal.size() + 1, -1e30F);
      best[0] = 0;
      for (std::size_t at = 0; at < normal.size(); ++at)
        for (const auto& [piece, value] : scores)
          if (normal.compare(at, piece.size(), piece) == 0)
            best[at + piece.size()] = std::max(best[at + piece.size()], best[at] + value);
      float sum = 0;
      std::string together;
      for (const Token& token : tokenizer.encode(text)) {
        const std::string& piece = *tokenizer.vocabulary().text(token.id);
        sum += scores.at(piece), together += piece;
      }
      EXPECT_EQ(together, normal) << text;
      EXPECT_EQ(sum, best.back()) << text;
    }
  }
}

TEST(SentencePiece, PlacesAreBytesOfTheText) {
  const Tokenizer tokenizer = greetings().read();
  const std::string text = "hello  w\303\266rld\343\200\202";
  //                                                  the blank takes both; what is unknown has its bytes, too
  EXPECT_EQ(shown(tokenizer.encode(text)), "3:0:5 1:5:7 7:7:13 0:13:16");
  EXPECT_EQ(code_points(text, tokenizer.encode(text), 0).back(), std::pair(std::size_t{12}, std::size_t{13}));
  EXPECT_EQ(tokenizer.decode({3, 1, 7}), "hello w\303\266rld");
  EXPECT_EQ(shown(tokenizer.encode("")), "");
  EXPECT_EQ(shown(tokenizer.encode("   ")), "");
}

TEST(SentencePiece, BytePairsAreMergedByTheirScores) {
  PieceModel model;
  model.kind = 2;
  model.add(kBlank, -9).add("a", -9).add("b", -9).add("ab", -1).add("abab", -2).add(kBlank + "a", -3);
  EXPECT_EQ(shown(model.read().encode("ababa")), "1:0:0 5:0:4 2:4:5");
}

TEST(SentencePiece, AlbertsTextsAreMadePlainAndStandBetweenItsSpecialPieces) {
  PieceModel model = greetings();
  model.add("[CLS]", 0, SentencePieces::kControl).add("[SEP]", 0, SentencePieces::kControl);
  model.add("[MASK]", 0, SentencePieces::kUserDefined).add("\"", -4).add("world", -2);
  const Tokenizer tokenizer = model.read();
  // Lower case without marks: of two bytes one is left, and the place is theirs.
  EXPECT_EQ(shown(tokenizer.encode("HELLO W\303\226rld")), "11:0:0 3:0:5 1:5:6 15:6:12 12:0:0");
  EXPECT_EQ(shown(tokenizer.encode("``''")), "11:0:0 1:0:0 14:0:2 14:2:4 12:0:0");
  EXPECT_EQ(shown(tokenizer.encode("hello [MASK]")), "11:0:0 3:0:5 13:5:12 12:0:0");
  const Encoding pair = tokenizer.encode("hello", "w", {}).front();
  EXPECT_EQ(shown(pair), "11:0:0 3:0:5 12:0:0 1:0:0 8:0:1 12:0:0");
  EXPECT_EQ(pair[3].type, 1);
  EXPECT_EQ(pair[2].type, 0);
  const Tokenizer cased = model.read(R"({"do_lower_case": false, "keep_accents": true})");
  EXPECT_EQ(shown(cased.encode("HELLO w\303\266rld")), "11:0:0 1:0:0 0:0:5 1:5:6 7:6:12 12:0:0");
}

TEST(SentencePiece, PairsAreCutAndHaveWindowsAsThoseOfOthers) {
  PieceModel model = greetings();
  model.add("[CLS]", 0, SentencePieces::kControl).add("[SEP]", 0, SentencePieces::kControl);
  const Tokenizer tokenizer = model.read();
  const std::string second = "hello hello hello hello hello";
  const auto windows = tokenizer.encode("w", second, {Truncate::kOnlySecond, 8, 1});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(shown(windows[0], 4), "3:0:5 3:5:11 3:11:17 12:0:0");
  EXPECT_EQ(shown(windows[1], 4), "3:11:17 3:17:23 3:23:29 12:0:0");
  EXPECT_EQ(tokenizer.encode("hello hello", second, {Truncate::kLongestFirst, 6, 0}).front().size(), 6U);
}

TEST(SentencePiece, OfT5EndsATextAndHasPiecesForWhatIsLeftOut) {
  PieceModel model = greetings();
  model.add("</s>", 0, SentencePieces::kControl);
  const Tokenizer tokenizer = model.read();
  EXPECT_EQ(shown(tokenizer.encode("hello<extra_id_0>")), "3:0:5 111:5:17 11:0:0");
  EXPECT_EQ(tokenizer.find("<extra_id_99>"), 12);
  EXPECT_EQ(shown(model.read(R"({"extra_ids": 2})").encode("<extra_id_1>")), "12:0:12 11:0:0");
  EXPECT_EQ(shown(tokenizer.encode("hello", "w", {}).front()), "3:0:5 11:0:0 1:0:0 8:0:1 11:0:0");
}

TEST(SentencePiece, OfLlamaBeginsATextUnlessItsConfigurationSaysOtherwise) {
  PieceModel model = greetings();
  model.add("<s>", 0, SentencePieces::kControl).add("</s>", 0, SentencePieces::kControl);
  EXPECT_EQ(shown(model.read().encode("hello")), "11:0:0 3:0:5");
  EXPECT_EQ(shown(model.read(R"({"add_bos_token": false, "add_eos_token": true})").encode("hello")), "3:0:5 12:0:0");
}

TEST(SentencePiece, OfXlnetHasItsClassBehindTheText) {
  PieceModel model = greetings();
  model.add("<sep>", 0, SentencePieces::kControl).add("<cls>", 0, SentencePieces::kControl);
  const Encoding tokens = model.read().encode("hello", "w", {}).front();
  EXPECT_EQ(shown(tokens), "3:0:5 11:0:0 1:0:0 8:0:1 11:0:0 12:0:0");
  EXPECT_EQ(tokens.back().type, 2);
}

TEST(SentencePiece, AFolderWithOneIsRead) {
  const base::Folder folder;
  folder.add("spiece.model", greetings().bytes());
  base::Diagnostics warnings;
  EXPECT_EQ(shown(read_tokenizer(folder.path().string(), warnings).encode("hello")), "3:0:5");
}

#endif

TEST(SentencePiece, WithoutTheLibraryItIsSaidWhatToInstall) {
  ASSERT_EQ(setenv("ORRERY_WITHOUT", "sentencepiece", 1), 0);
  const auto said = base::refused([] { greetings().read(); });
  ASSERT_EQ(unsetenv("ORRERY_WITHOUT"), 0);
  ASSERT_EQ(base::codes(said), Codes{"O1629"});
  EXPECT_NE(said[0].hints.at(0).find("libsentencepiece-dev"), std::string::npos);
}

// A map of characters: its length, `units`, replacements.
std::string map_of(std::vector<std::uint32_t> units, const std::string& replacements) {
  units.insert(units.begin(), static_cast<std::uint32_t>(4 * units.size()));
  std::string out;
  for (const std::uint32_t unit : units)
    for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(unit >> (8 * i));
  return out + replacements;
}

TEST(SentencePiece, WhatTheLibraryWouldNotSurviveIsRefused) {
  const auto refused = [](const std::function<void(PieceModel&)>& change) {
    PieceModel model = greetings();
    change(model);
    return base::codes_of([&] { model.read(); });
  };
  const Codes refusal{"O1630"};
  EXPECT_EQ(refused([](PieceModel& m) { m.pieces.erase(m.pieces.begin()); }), refusal) << "nothing for the unknown";
  EXPECT_EQ(refused([](PieceModel& m) { m.add("hello", 0); }), refusal) << "a piece twice";
  EXPECT_EQ(refused([](PieceModel& m) { m.add("", 0); }), refusal) << "an empty piece";
  EXPECT_EQ(refused([](PieceModel& m) { m.add(std::string("a\0b", 3), 0); }), refusal) << "a zero in a piece";
  EXPECT_EQ(refused([](PieceModel& m) { m.add("x", std::nanf("")); }), refusal) << "no score";
  EXPECT_EQ(refused([](PieceModel& m) { m.add("x", 0, 9); }), refusal) << "no kind";
  EXPECT_EQ(refused([](PieceModel& m) { m.kind = 7; }), refusal) << "no kind of model";
  std::vector<std::uint32_t> units(256, 0);
  const std::string some("x\0y", 4);
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = "abc"; }), refusal) << "a short map";
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = map_of({1, 2, 3}, some); }), refusal) << "children beyond the trie";
  units[0] = 0x3ffU << 10;
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = map_of(units, some); }), refusal) << "an offset beyond the trie";
  units[0] = 1U << 31;
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = map_of(units, some); }), refusal) << "no root";
  units[0] = 1U << 8, units[1] = 0x80000001, units[2] = 0;
  units[0] |= 1U << 10;  // its children at 1
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = map_of(units, some); }).size(), 0U) << "a value within";
  units[1] = 0x80000004;
  EXPECT_EQ(refused([&](PieceModel& m) { m.map = map_of(units, some); }), refusal) << "a value beyond replacements";
  const std::string whole = greetings().bytes();
  for (std::size_t length = 0; length < whole.size(); length += 3) {
    base::Diagnostics warnings;
    const auto read = [&] {
      read_sentence_piece("x.model", std::string_view(whole).substr(0, length), nullptr, warnings);
    };
    for (const std::string& code : base::codes_of(read)) EXPECT_EQ(code, "O1630") << length;
  }
}

}  // namespace
}  // namespace orrery::formats::tokenizer
