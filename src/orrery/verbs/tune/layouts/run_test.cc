#include "orrery/verbs/tune/layouts/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace orrery::verbs {
namespace {

std::map<std::string, std::string> files_of(base::Count b, base::Count h, base::Count i, base::Count j) {
  std::map<std::string, std::string> out;
  for (const OutputFile& file : layout_files(tune_layouts({.b = b, .h = h, .i = i, .j = j})))
    out[file.name] = file.text;
  return out;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(TuneLayouts, WritesTheFilesOfEinsumPerms) {
  const auto files = files_of(8, 16, 1024, 512);
  EXPECT_EQ(files.size(), 2 * 24u + 1);
  EXPECT_EQ(files.at("size-params.txt"),
            "{'b': 8, 'h': 16, 'i': 1024, 'j': 512, 'k': 512, 'p': 64, 'u': 4096, 'q': 3, 'v': 2}");
  const std::string header = "optype,trans_a,trans_b,M,N,K,lda,ldb,ldc,stride_a,stride_b,stride_c,batch\n";
  EXPECT_TRUE(files.at("QKT.csv").starts_with("A,B,C," + header));
  EXPECT_TRUE(files.at("QKT-pruned.csv").starts_with(header));
  EXPECT_TRUE(has_line(files.at("QKT.csv"), "phbk,phbj,hbjk,BMM,N,T,512,512,64,65536,65536,512,512,512,262144,128"));
  EXPECT_TRUE(has_line(files.at("QKT-pruned.csv"), "BMM,N,T,512,512,64,65536,65536,512,512,512,262144,128"));
  EXPECT_TRUE(has_line(files.at("lin1.csv"), "bji,ui,bju,GEMM,T,N,4096,4096,1024,1024,1024,4096"));
  EXPECT_TRUE(has_line(files.at("lin1-pruned.csv"), "GEMM,T,N,4096,4096,1024,1024,1024,4096,,,,"));
  const auto lines = [&](const char* name) { return std::count(files.at(name).begin(), files.at(name).end(), '\n'); };
  EXPECT_EQ(lines("QKT.csv"), 1 + 128);
  EXPECT_EQ(lines("QKT-pruned.csv"), 1 + 32);
  EXPECT_EQ(lines("lin1-pruned.csv"), 1 + 4);
}

// One sequence of one head has no batch: the same contraction is a product.
TEST(TuneLayouts, CallAProductWhatHasABatchOfOne) {
  const auto files = files_of(1, 1, 8, 4);
  EXPECT_EQ(files.at("QKT.csv").find("BMM"), std::string::npos);
  EXPECT_TRUE(has_line(files.at("QKT.csv"), "phbk,phbj,hbjk,GEMM,N,T,4,4,8,4,4,4"));
}

TEST(TuneLayouts, TakeTheSizesThatAreGivenApart) {
  LayoutsRequest request{.b = 2, .h = 3, .i = 8, .j = 4};
  EXPECT_THROW(tune_layouts(request), base::InputError);  // 3 does not divide 8
  request.p = 5;
  request.k = 7;
  request.u = 11;
  const LayoutsAnswer answer = tune_layouts(request);
  EXPECT_EQ(answer.sizes['p'], 5);
  EXPECT_EQ(answer.sizes['k'], 7);
  EXPECT_EQ(answer.sizes['u'], 11);
}

}  // namespace
}  // namespace orrery::verbs
