#include "orrery/formats/tokenizer/tokenizer_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/tokenizer/tokenizer_test_util.h"

namespace orrery::formats::tokenizer {
namespace {

using base::Codes;

std::vector<Id> ids(const Encoding& tokens) {
  std::vector<Id> out;
  for (const Token& token : tokens) out.push_back(token.id);
  return out;
}

// A tokenizer.json, whose parts may be replaced.
struct Parts {
  std::string
      normalizer = R"({"type":"BertNormalizer"})",
      pre = R"({"type":"BertPreTokenizer"})", post = "null",
      decoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})",
      model =
          R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"the":1,"fox":2,"##es":3,"[CLS]":4,"[SEP]":5}})",
      added = "[]", more;

  std::string text() const {
    return fmt::format(
        R"({{"version":"1.0","normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{},"added_tokens":{}{}}})",
        normalizer, pre, post, decoder, model, added, more);
  }
};

Parts byte_level(const std::string& model) {
  Parts parts;
  parts.normalizer = "null";
  parts.pre = R"({"type":"ByteLevel","add_prefix_space":false})";
  parts.decoder = R"({"type":"ByteLevel"})";
  parts.model = model;
  return parts;
}

std::vector<base::Diagnostic> said_of(const Parts& parts) {
  base::Diagnostics warnings;
  return base::refused([&] { read_tokenizer_json(base::source(parts.text(), "tokenizer.json"), nullptr, warnings); });
}

Tokenizer read(const Parts& parts, Codes warned = {}) {
  base::Diagnostics warnings;
  Tokenizer tokenizer = read_tokenizer_json(base::source(parts.text(), "tokenizer.json"), nullptr, warnings);
  std::vector<std::string> found;
  for (const base::Diagnostic& one : warnings.all()) found.push_back(one.code);
  EXPECT_EQ(found, warned);
  return tokenizer;
}

TEST(TokenizerJson, PostProcessorsPutTheirTokensAround) {
  Parts parts;
  EXPECT_EQ(ids(read(parts).encode("The foxes")), (std::vector<Id>{1, 2, 3}));
  const std::pair<std::string, std::vector<Id>> posts[] = {
      {R"({"type":"BertProcessing","sep":["[SEP]",5],"cls":["[CLS]",4]})", {4, 1, 5, 2, 5}},
      {R"({"type":"RobertaProcessing","sep":["[SEP]",5],"cls":["[CLS]",4],"trim_offsets":false})", {4, 1, 5, 5, 2, 5}},
      {R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"B","type_id":0}},
          {"SpecialToken":{"id":"x","type_id":1}},{"Sequence":{"id":"A","type_id":1}}],"special_tokens":{"x":{"id":"x","ids":[5,4],"tokens":["[SEP]","[CLS]"]}}})",
       {2, 5, 4, 1}}};
  for (const auto& [post, expected] : posts) {
    parts.post = post;
    EXPECT_EQ(ids(read(parts).encode("the", "fox", {}).front()), expected) << post;
    parts.post = R"({"type":"Sequence","processors":[)" + post + "]}";
    EXPECT_EQ(ids(read(parts).encode("the", "fox", {}).front()), expected) << post;
  }
}

TEST(TokenizerJson, AddedTokensAreFoundAsTheySay) {
  Parts parts;
  const auto with = [&](const char* options) {
    parts.added = fmt::format(R"([{{"id":9,"content":"Fox"{}}}])", options);
    return read(parts);
  };
  const auto of = [](const Tokenizer& tokenizer, const char* text) { return ids(tokenizer.encode(text)); };
  EXPECT_EQ(of(with(R"(,"normalized":false)"), "the Fox fox"), (std::vector<Id>{1, 9, 2}));
  EXPECT_EQ(of(with(R"(,"normalized":true)"), "the Fox fox"), (std::vector<Id>{1, 9, 9}));
  EXPECT_EQ(of(with(R"(,"normalized":false)"), "theFoxes"), (std::vector<Id>{1, 9, 0})) << "within a word";
  EXPECT_EQ(of(with(R"(,"normalized":false,"single_word":true)"), "theFox Fox"), (std::vector<Id>{0, 9}));
  const Encoding left = with(R"(,"normalized":false,"lstrip":true)").encode("the  Fox  the");
  EXPECT_EQ(left[1].begin, 3U);
  EXPECT_EQ(left[1].end, 8U);
  const Encoding right = with(R"(,"normalized":false,"rstrip":true)").encode("the  Fox  the");
  EXPECT_EQ(right[1].begin, 5U);
  EXPECT_EQ(right[1].end, 10U);
  const Tokenizer special = with(R"(,"special":true)");
  EXPECT_EQ(special.decode({1, 9, 2}), "the fox");
  EXPECT_EQ(special.decode({1, 9, 2}, false), "the Fox fox");
  EXPECT_EQ(special.find("Fox"), 9);
  EXPECT_EQ(special.find("the"), 1);
  EXPECT_EQ(special.find("none"), std::nullopt);
}

TEST(TokenizerJson, TruncationIsReadAndPaddingNamed) {
  Parts parts;
  parts.more =
      R"(,"truncation":{"direction":"Right","max_length":7,"strategy":"OnlySecond","stride":2},"padding":{"length":3})";
  const Tokenizer tokenizer = read(parts, {"O1627"});
  EXPECT_EQ(tokenizer.limits().truncate, Truncate::kOnlySecond);
  EXPECT_EQ(tokenizer.limits().most_tokens, 7U);
  EXPECT_EQ(tokenizer.limits().stride, 2U);
  parts.more = R"(,"surprise":3)";
  read(parts, {"O1627"});
}

TEST(TokenizerJson, PartsThatAreNotKnownAreRefusedByName) {
  const auto refused_as = [](const Parts& parts, const std::string& code, const std::string& text) {
    const auto found = said_of(parts);
    ASSERT_FALSE(found.empty()) << text;
    bool there = false;
    for (const base::Diagnostic& one : found) there |= one.code == code && one.message.find(text) != std::string::npos;
    EXPECT_TRUE(there) << text << " in: " << found[0].code << " " << found[0].message;
    EXPECT_GT(found[0].primary.where.column, 0);
  };
  const auto changed = [](std::string Parts::*which, const std::string& text) {
    Parts parts;
    parts.*which = text;
    return parts;
  };
  refused_as(changed(&Parts::normalizer, R"({"type":"NFKC"})"), "O1624", "the normalizer `NFKC`");
  refused_as(changed(&Parts::pre, R"({"type":"Metaspace"})"), "O1624", "the pre-tokenizer `Metaspace`");
  refused_as(changed(&Parts::post, R"({"type":"Odd"})"), "O1624", "the post-processor `Odd`");
  refused_as(changed(&Parts::decoder, R"({"type":"ByteLevel"})"), "O1624", "the decoder `ByteLevel`");
  refused_as(changed(&Parts::model, R"({"type":"Unigram","vocab":[]})"), "O1624", "the model `Unigram`");
  refused_as(changed(&Parts::pre, "null"), "O1624", "BertPreTokenizer only");
  refused_as(byte_level(R"({"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]})"), "O1624", "`dropout`");
  refused_as(byte_level(R"({"type":"BPE","byte_fallback":true,"vocab":{"a":0},"merges":[]})"), "O1624",
             "`byte_fallback`");
  refused_as(changed(&Parts::pre, R"({"type":"ByteLevel","use_regex":false})"), "O1624", "`use_regex`");
  refused_as(changed(&Parts::model, "null"), "O1623", "`model` is missing");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece"})"), "O1621", "no `vocab`");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece","vocab":{}})"), "O1621", "is empty");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece","vocab":{"a":0}})"), "O1621", "lacks the token `[UNK]`");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece","vocab":{"[UNK]":0,"a":0}})"), "O1621",
             "have the same id, 0");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece","vocab":{"[UNK]":0},"max_input_chars_per_word":100000})"),
             "O1624", "words of 100000 characters");
  refused_as(changed(&Parts::added, R"([{"id":7,"content":"a"},{"id":7,"content":"b"}])"), "O1621",
             "`a` and `b` have the same id, 7");
  refused_as(changed(&Parts::model, R"({"type":"WordPiece","vocab":{"[UNK]":0,"[UNK]":1}})"), "O1621", "stands twice");
  for (const char* const id : {"-1", "0.5", "1e10", "\"0\"", "null"})
    refused_as(changed(&Parts::model, fmt::format(R"({{"type":"WordPiece","vocab":{{"[UNK]":{}}}}})", id)), "O1621",
               "must be a count");
  refused_as(changed(&Parts::added, R"([{"id":7,"content":"the"}])"), "O1621",
             "`the` has the id 7 here and 1 in the vocabulary");
  refused_as(changed(&Parts::added, R"([{"id":7,"content":""}])"), "O1623", "an added token is empty");
  refused_as(changed(&Parts::added, R"([{"content":"x"}])"), "O1623", "`id` is missing");
  refused_as(changed(&Parts::added, R"([{"id":7,"content":"x","special":3}])"), "O1623", "`special`, true or false,");
  refused_as(changed(&Parts::normalizer, R"({"type":"BertNormalizer","lowercase":1})"), "O1623",
             "`lowercase`, true or false,");
  refused_as(changed(&Parts::post, R"({"type":"BertProcessing","sep":["[SEP]",5]})"), "O1623", "`cls` must be a list");
  refused_as(changed(&Parts::post, R"({"type":"TemplateProcessing","single":[],"pair":[]})"), "O1623",
             "each of its texts once");
  refused_as(changed(&Parts::post, R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"q"}}],"pair":[]})"),
             "O1623", "no ids of `q`");
  refused_as(changed(&Parts::post, R"({"type":"Sequence","processors":[{"type":"Sequence"}]})"), "O1624", "`Sequence`");
  refused_as(changed(&Parts::more, R"(,"truncation":{"direction":"Left"})"), "O1624", "from the left");
  refused_as(changed(&Parts::more, R"(,"truncation":{"strategy":"Odd"})"), "O1624", "the truncation `Odd`");
  refused_as(changed(&Parts::more, R"(,"model":3)"), "O1623", "`model` stands twice");
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "[";
  refused_as(changed(&Parts::more, ",\"x\":" + deep), "O1623", "nest deeper than 64");
}

TEST(TokenizerJson, MergesNeedTheirTokens) {
  const auto said = [](const std::string& merges) {
    base::Diagnostics warnings;
    const auto parts = byte_level(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[)" + merges + "]}");
    const auto found = said_of(parts);
    return found.empty() ? "" : found[0].code + " " + found[0].message;
  };
  EXPECT_EQ(said("\"a b\""), "");
  EXPECT_EQ(said("[\"a\",\"b\"]"), "");
  EXPECT_EQ(said("\"a c\""), "O1622 `c` is not in the vocabulary");
  EXPECT_EQ(said("\"b a\""), "O1622 `ba` is not in the vocabulary");
  EXPECT_EQ(said("\"ab\""), "O1622 a merge is two tokens with a blank between");
  EXPECT_EQ(said("\"a b c\""), "O1622 a merge is two tokens with a blank between");
  EXPECT_EQ(said("3"), "O1622 a merge is a text or a list of two, and this is the number 3");
  EXPECT_EQ(said("\"a b\",\"a b\""), "O1622 this merge stands twice");
  // Most bytes have no token: the text loses them, which is said.
  EXPECT_EQ(ids(read(byte_level(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})"), {"O1627"})
                    .encode("cabd")),
            (std::vector<Id>{2}));
}

TEST(TokenizerFiles, TheConfigurationAddsTokensAndALengthToAVocabulary) {
  const Tokenizer tokenizer =
      words(R"({"model_max_length": 128, "added_tokens_decoder": {"500": {"content": "<new>", "special": true}}})");
  EXPECT_EQ(tokenizer.most_tokens(), 128U);
  EXPECT_EQ(ids(tokenizer.encode("the<new>")), (std::vector<Id>{2, 5, 500, 3}));
  EXPECT_EQ(words(R"({"model_max_length": 1000000000000000019884624838656})").most_tokens(), std::nullopt);
  EXPECT_EQ(base::codes_of([] { words(R"({"model_max_length": "long"})"); }), Codes{"O1623"});
  EXPECT_EQ(base::codes_of([] { words(R"({"added_tokens_decoder": {"x": {"content": "a"}}})"); }), Codes{"O1623"});
  EXPECT_EQ(base::codes_of([] { words(R"({"added_tokens_decoder": {"7": {"content": "the"}}})"); }), Codes{"O1621"});
}

TEST(TokenizerFiles, BesideATokenizerJsonTheConfigurationIsComparedNotApplied) {
  const auto warned = [](const std::string& config) {
    base::Diagnostics warnings;
    const Tokenizer tokenizer = read_tokenizer_json(base::source(Parts().text(), "tokenizer.json"),
                                                    base::source(config, "tokenizer_config.json"), warnings);
    EXPECT_EQ(ids(tokenizer.encode("THE fox")), (std::vector<Id>{1, 2}));
    return base::codes(warnings.all());
  };
  EXPECT_EQ(warned(R"({"do_lower_case": true, "model_max_length": 512})"), Codes{});
  EXPECT_EQ(warned(R"({"do_lower_case": false})"), Codes{"O1627"});
  EXPECT_EQ(warned(R"({"strip_accents": false, "tokenize_chinese_chars": false})"), (Codes{"O1627", "O1627"}));
  EXPECT_EQ(warned(R"({"added_tokens_decoder": {"9": {"content": "<new>"}}})"), Codes{"O1627"});
}

TEST(TokenizerFiles, TheFolderSaysWhichTokenizerItIs) {
  base::Diagnostics warnings;
  const auto codes_for = [&](const base::Folder& folder) {
    return base::codes_of([&] { read_tokenizer(folder.string(), warnings); });
  };
  const base::Folder folder;
  EXPECT_EQ(codes_for(folder), Codes{"O1620"});
  folder.write("spiece.model", "x");
  EXPECT_EQ(codes_for(folder), Codes{"O1630"});
  folder.write("vocab.json", byte_vocabulary());
  EXPECT_EQ(codes_for(folder), Codes{"O0100"}) << "merges.txt is missing";
  folder.write("merges.txt", "#version: 0.2\n" + kMerges);
  EXPECT_EQ(read_tokenizer(folder.string(), warnings).encode("hello").size(), 3U);
  folder.write("vocab.txt", word_lines());
  EXPECT_EQ(ids(read_tokenizer(folder.string(), warnings).encode("The")), (std::vector<Id>{2, 5, 3}));
  folder.write("tokenizer_config.json", R"({"do_lower_case":false,"cls_token":{"content":"[MASK]"}})");
  EXPECT_EQ(ids(read_tokenizer(folder.string(), warnings).encode("The")), (std::vector<Id>{4, 1, 3}));
  folder.write("tokenizer_config.json", "{}");
  folder.write("tokenizer.json", Parts().text());
  EXPECT_EQ(ids(read_tokenizer(folder.string(), warnings).encode("the")), (std::vector<Id>{1}));
  EXPECT_EQ(ids(read_tokenizer((folder.path() / "tokenizer.json").string(), warnings).encode("fox")),
            (std::vector<Id>{2}));
  EXPECT_TRUE(warnings.all().empty());
}

TEST(TokenizerFiles, VocabulariesWithMistakesAreRefused) {
  const auto said = [](const std::string& lines, const std::string& config = "{}") {
    base::Diagnostics warnings;
    const auto found = base::refused([&] {
      read_word_piece(base::source(lines, "vocab.txt"), base::source(config, "tokenizer_config.json"), warnings);
    });
    return found.empty() ? "" : found[0].code + " " + found[0].message;
  };
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\r\nthe"), "");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\nthe\nthe\n"), "O1621 `the` stands twice in the vocabulary");
  EXPECT_EQ(said("[UNK]\n[CLS]\nthe\n"), "O1621 the vocabulary lacks the special token `[SEP]`");
  EXPECT_EQ(said("[UNK]\n[CLS]\nthe\n", R"({"sep_token":"the"})"), "");
  EXPECT_EQ(said(""), "O1621 the vocabulary is empty");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\n", R"({"do_lower_case":3})"),
            "O1623 `do_lower_case` must be true or false, and is the number 3");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\n", R"({"cls_token":3})"),
            "O1623 `cls_token` must be a token, and is the number 3");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\n", R"({"do_basic_tokenize":false})").substr(0, 5), "O1624");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\n", "[]"), "O1623 an object must stand here, not a list");
  EXPECT_EQ(said("[UNK]\n[CLS]\n[SEP]\n", R"({"added_tokens_decoder":[3]})"),
            "O1623 `added_tokens_decoder` must be an object, and is a list");
  EXPECT_EQ(base::codes_of([] { pairs("{}", "a b c\n"); }), Codes{"O1622"});
  EXPECT_EQ(base::codes_of([] { pairs("{}", "a b\na b\n"); }), Codes{"O1622"});
}

}  // namespace
}  // namespace orrery::formats::tokenizer
