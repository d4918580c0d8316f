#include "orrery/formats/orrery/measured_products.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::orrery {
namespace {

std::vector<machine::MeasuredProduct> read(const std::string& text) {
  return read_measured_products(base::source(text, "gemms.csv"));
}

std::string trouble(const std::string& text) {
  const base::Diagnostic first = base::refused([&] { read(text); }).at(0);
  return first.code + ": " + first.message;
}

TEST(MeasuredProducts, ColumnsStandInAnyOrderAndTwoMayBeAbsent) {
  const auto products = read("# timed in May\nseconds,k,n,m\n0.5,3,2,1\n1e-3,6,5,4\n");
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[1].product.m, 4);
  EXPECT_EQ(products[1].product.n, 5);
  EXPECT_EQ(products[1].product.k, 6);
  EXPECT_EQ(products[1].product.batch, 1);
  EXPECT_EQ(products[1].product.precision, machine::Precision::kBf16);
  EXPECT_EQ(products[1].seconds, 1e-3);
  EXPECT_EQ(read("m,n,k,batch,precision,seconds\n1,2,3,4,fp8,5\n")[0].product.precision, machine::Precision::kFp8);
}

TEST(MeasuredProducts, AreReadFromAiConfiguratorsTablesOfOneAccelerator) {
  const auto products = read(
      "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
      "TRTLLM,1.0,H100,gemm,torch,bfloat16,1,1024,2048,0.5\nTRTLLM,1.0,H100,gemm,torch,fp8,8,1024,2048,0.25\n");
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[0].product.k, 2048);
  EXPECT_EQ(products[0].product.precision, machine::Precision::kBf16);
  EXPECT_DOUBLE_EQ(products[0].seconds, 0.5e-3);
  EXPECT_EQ(products[1].product.precision, machine::Precision::kFp8);
  EXPECT_EQ(trouble("gpu,gemm_dtype,m,n,k,latency\na,fp8,1,1,1,1\nb,fp8,1,1,1,1\n"),
            "O1377: a table of measurements is of one accelerator, not of `a` and `b`");
  EXPECT_EQ(trouble("gpu,m,n,k,latency\na,1,1,1,1\nb\n").substr(0, 5), "O1377");
  EXPECT_EQ(trouble("gemm_dtype,m,n,k,latency\nfp8_block,1,1,1,1\n").substr(0, 5), "O1377");
  EXPECT_EQ(trouble("m,n,k,seconds,latency\n1,1,1,1,1\n").substr(0, 5), "O1377");
}

TEST(MeasuredProducts, WhatIsNoMeasurementIsRefusedWithItsPlace) {
  EXPECT_EQ(trouble(""), "O1377: a table of measurements has a header and a row for each product");
  EXPECT_EQ(trouble("m,n,seconds\n1,2,3\n"), "O1377: column `k` is missing");
  EXPECT_EQ(trouble("m,n,k,second\n1,2,3,4\n"), "O1377: a table of measurements has no column `second`");
  EXPECT_EQ(trouble("m,m,n,k,seconds\n1,1,2,3,4\n"), "O1377: column `m` occurs twice");
  EXPECT_EQ(trouble("m,n,k,seconds\n1,2,3\n"), "O1377: this row has 3 cells, the header 4");
  EXPECT_EQ(trouble("m,n,k,seconds\n0,2,3,1\n"), "O1377: `m` must be a whole number from 1 to 1000000000");
  EXPECT_EQ(trouble("m,n,k,seconds\n1,2,3,nan\n"), "O1377: `seconds` must be a number above 0");
  EXPECT_EQ(trouble("m,n,k,seconds,precision\n1,2,3,1,int8\n"),
            "O1377: `precision` must be fp32, tf32, bf16, fp8, mxfp8 or nvfp4");
  EXPECT_EQ(trouble("m,n,k,seconds\n1,2,3,\"4\n").substr(0, 5), "O1230");
}

}  // namespace
}  // namespace orrery::formats::orrery
