#include "orrery/formats/traces/request_trace.h"

#include <gtest/gtest.h>

namespace orrery::formats::traces {
namespace {

std::vector<serving::Request> read(const std::string& text, base::Diagnostics* warnings = nullptr) {
  base::Diagnostics own;
  return read_requests(std::make_shared<const base::SourceFile>(base::SourceFile{"trace", text}),
                       warnings != nullptr ? *warnings : own);
}

// The line that is refused, and the message.
std::pair<int, std::string> refusal(const std::string& text) {
  try {
    read(text);
  } catch (const base::InputError& error) {
    return {error.diagnostics.front().primary.where.line, error.diagnostics.front().message};
  }
  return {-1, ""};
}

TEST(RequestTrace, OfEachKindIsTheSame) {
  for (const std::string text :
       {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 23:59:59.7500000,374,44\n2024-01-01 "
        "00:00:01.2500000,5,6\n",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,374,44,418,API\n"
        "6.5,GPT-4,5,6,11,API\n",
        "arrived_at,num_prefill_tokens,num_decode_tokens\r\n0.25,374,44\r\n1.75,5,6\r\n",
        "{\"timestamp\": 1000, \"input_length\": 374, \"output_length\": 44, \"hash_ids\": []}\n\n"
        "{\"timestamp\": 2500, \"input_length\": 5, \"output_length\": 6, \"hash_ids\": []}\n",
        "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 61.25, \"input_length\": 374, \"output_length\": 44}\n"
        "{\"chat_id\": 2, \"parent_chat_id\": 1, \"timestamp\": 62.75, \"input_length\": 5, \"output_length\": 6}\n",
        "{\"request_id\": \"a\", \"input_toks\": 374, \"output_toks\": 44, \"arrival_time\": 7.5}\n"
        "{\"request_id\": \"b\", \"input_toks\": 5, \"output_toks\": 6, \"arrival_time\": 9.0}",
        "{\"input_toks\": 374, \"output_toks\": 44, \"arrival_time_ns\": 0}\n"
        "{\"input_toks\": 5, \"output_toks\": 6, \"arrival_time_ns\": 1500000000}"}) {
    const std::vector<serving::Request> requests = read(text);
    ASSERT_EQ(requests.size(), 2U) << text;
    EXPECT_EQ(requests[0].arrival_ns, 0);
    EXPECT_NEAR(static_cast<double>(requests[1].arrival_ns), 1.5e9, 1000) << text;
    EXPECT_EQ(requests[0].prompt, 374);
    EXPECT_EQ(requests[1].output, 6);
  }
}

TEST(RequestTrace, HasMoreCellsThanOtherTables) {
  std::string text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  constexpr int kMany = 200'000;
  for (int i = 0; i < kMany; ++i) text += std::to_string(i) + ",\"GPT-4, old\",100,10,110,API\n";
  const auto requests = read(text);
  ASSERT_EQ(requests.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(requests.back().prompt, 100);
}

TEST(RequestTrace, OfLengthsAloneHasNoTimes) {
  for (const std::string text :
       {"num_prefill_tokens,num_decode_tokens\n374,44\n5,6\n",
        "{\"prompt_len\": 374, \"output_len\": 44}\n{\"prompt_len\": 5, \"output_len\": 6}\n",
        "\xEF\xBB\xBF[{\"prompt_len\": 374, \"output_len\": 44},\n {\"prompt_len\": 5, \"output_len\": 6}]\n",
        "{\"input_length\": 374, \"output_length\": 44}\n{\"input_length\": 5, \"output_length\": 6}\n",
        "[{\"input_toks\": 374, \"output_toks\": 44}, {\"input_toks\": 5, \"output_toks\": 6}]"}) {
    const std::vector<serving::Request> requests = read(text);
    ASSERT_EQ(requests.size(), 2U) << text;
    EXPECT_EQ(requests[1].arrival_ns, 0);
    EXPECT_EQ(requests[0].prompt, 374);
    EXPECT_EQ(requests[1].output, 6);
  }
  EXPECT_EQ(refusal("{\"input_length\": 3, \"output_length\": 4}\n"
                    "{\"timestamp\": 1, \"input_length\": 3, \"output_length\": 4}\n"),
            std::pair(2, std::string("the request has a `timestamp`, the first one has none")));
  EXPECT_EQ(refusal("[]").first, 1);
  EXPECT_EQ(refusal("[{\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"value\": \"Hi\"}]}]").second,
            "these are conversations as texts: how many tokens they have is a matter of the model's tokenizer");
}

TEST(RequestTrace, OfBailianSharesBlocksOfSixteenTokens) {
  const auto requests = read(R"({"chat_id": 3, "timestamp": 0.5, "input_length": 33, "output_length": 4,)"
                             R"( "hash_ids": [7, 9, 8]})");
  EXPECT_EQ(requests.at(0).content_tokens, 16);
  EXPECT_EQ(requests.at(0).contents.size(), 3U);
}

TEST(RequestTrace, OfOtherBlocksThanItsKindIsRefused) {
  constexpr const char* kLine = R"("timestamp": 0, "input_length": 33, "output_length": 4, "hash_ids": [7, 9, 8]})";
  EXPECT_EQ(refusal(std::string("{") + kLine).second, "3 `hash_ids` of 512 tokens each are not a prompt of 33");
  EXPECT_EQ(refusal(std::string("{\"chat_id\": 1, ") + kLine).first, -1);
}

TEST(RequestTrace, KeepsContents) {
  const auto requests = read(R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [7, 9]})");
  EXPECT_EQ(requests[0].contents, (std::vector<std::uint64_t>{7, 9}));
  EXPECT_EQ(requests[0].content_tokens, 512);
}

TEST(RequestTrace, LeavesFailuresOutAndSaysSo) {
  base::Diagnostics warnings;
  EXPECT_EQ(read("arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,0\n1,5,6\n", &warnings).size(), 1U);
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(warnings.all().front().code, "O2079");
}

TEST(RequestTrace, IsRefusedWhereItCannotBe) {
  const std::string header = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  EXPECT_EQ(refusal(header + "0,5,6\n-1,5,6\n").first, 3);
  EXPECT_EQ(refusal(header + "2,5,6\n1,5,6\n"), std::pair(3, std::string("the request comes before the last one")));
  EXPECT_EQ(refusal(header + "-2,5,6\n"), std::pair(2, std::string("the request's time is negative")));
  EXPECT_EQ(refusal(header + "0,,6\n").second, "the request has no number of its prompt's tokens");
  EXPECT_EQ(refusal(header + "0,5\n").second, "the request has no number of its answer's tokens");
  EXPECT_EQ(refusal(header + "0,5.5,6\n").first, 2);
  EXPECT_EQ(refusal(header + "0,5,-6\n").first, 2);
  EXPECT_EQ(refusal(header).second, "the trace has no requests");
  EXPECT_EQ(refusal("a,b,c\n1,2,3\n").second, "this is no trace of requests that is known");
  EXPECT_EQ(refusal("").second, "this is no trace of requests that is known");
  EXPECT_EQ(refusal("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-01 00:00:00,1,2\n").second,
            "the request has no time");
  EXPECT_NE(refusal("{\"timestamp\": 0, \"input_length\": 5").first, -1);
  EXPECT_NE(refusal("{}\n").first, -1);
}

}  // namespace
}  // namespace orrery::formats::traces
