// Files in, figures out: shapes, BART's form, masks of bytes and bits.
#include "orrery/verbs/sparse/measure/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "orrery/formats/numpy/array.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/verbs/sparse/mask/run.h"
#include "orrery/verbs/sparse/pack/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
namespace numpy = formats::numpy;

class SparseFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "orrery_sparse_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name + "/";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ + name, std::ios::binary) << bytes;
    return folder_ + name;
  }
  std::string random(const std::string& name, const std::vector<Count>& shape, unsigned seed, float factor = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::size_t count = 1;
    for (const Count size : shape) count *= static_cast<std::size_t>(size);
    std::vector<float> values(count);
    for (float& x : values) x = normal(engine) * factor;
    return write(name, numpy::file_of(shape, values));
  }
  static std::string code_of(const SparseMeasureRequest& request) {
    try {
      measure_sparse(request);
    } catch (const base::InputError& error) {
      return error.diagnostics.front().code;
    }
    return "";
  }
  SparseMeasureRequest predicted(const std::vector<Count>& q, const std::vector<Count>& k) {
    SparseMeasureRequest request;
    request.arrays.query = random("q.npy", q, 1);
    request.arrays.key = random("k.npy", k, 2);
    request.packs = false;
    return request;
  }

  std::string folder_;
  int each_ = 0;
};

TEST_F(SparseFiles, OfBartGiveTheMaskOfFourDimensionsAndScaledQueries) {
  SparseMeasureRequest four = predicted({2, 3, 20, 16}, {2, 3, 33, 16}), three = four;
  four.predictor.threshold = three.predictor.threshold = 0.05;
  three.arrays.query = random("q3.npy", {6, 20, 16}, 1, 0.25F);  // divided by sqrt(16), exactly
  three.arrays.key = random("k3.npy", {6, 33, 16}, 2);
  three.arrays.heads = 3;
  three.arrays.scaled = true;
  EXPECT_EQ(measure_sparse(four).mask, measure_sparse(three).mask);
  three.arrays.heads = 4;
  EXPECT_EQ(code_of(three), "O1803");
}

TEST_F(SparseFiles, ThatDoNotBelongTogetherAreRefused) {
  EXPECT_EQ(code_of(predicted({1, 2, 8, 4}, {1, 2, 9, 4})), "");
  EXPECT_EQ(code_of(predicted({1, 2, 8, 4}, {1, 3, 8, 4})), "O1803");
  EXPECT_EQ(code_of(predicted({1, 2, 8, 4}, {2, 2, 8, 4})), "O1803");
  EXPECT_EQ(code_of(predicted({1, 2, 8, 4}, {1, 2, 8, 5})), "O1803");
  EXPECT_EQ(code_of(predicted({1, 2, 0, 4}, {1, 2, 0, 4})), "O1803");
  EXPECT_EQ(code_of(predicted({1, 1, 2, 2049}, {1, 1, 2, 2049})), "O1803");
  SparseMeasureRequest request = predicted({1, 2, 8, 4}, {1, 2, 9, 4});
  request.arrays.value = random("v.npy", {1, 2, 8, 4}, 3);
  EXPECT_EQ(code_of(request), "O1803");
  request.arrays.value = random("v.npy", {1, 2, 9, 6}, 3);
  EXPECT_EQ(code_of(request), "");
  request.arrays.valid = write("valid.npy", numpy::file_of({1, 8}, std::vector<std::uint8_t>(8, 1)));
  EXPECT_EQ(code_of(request), "O1803");
  request.arrays.valid = write("valid.npy", numpy::file_of({1, 9}, std::vector<std::uint8_t>(9, 3)));
  EXPECT_EQ(code_of(request), "O1806");
}

TEST_F(SparseFiles, AMaskThatIsSavedMeasuresAsItDidAndCostsWhatItDid) {
  SparseMeasureRequest request = predicted({2, 2, 70, 8}, {2, 2, 70, 8});
  request.arrays.value = random("v.npy", {2, 2, 70, 8}, 3);
  request.arrays.causal = true;
  std::vector<std::uint8_t> valid(140, 1);
  std::fill(valid.begin() + 50, valid.begin() + 70, 0);
  request.arrays.valid = write("valid.npy", numpy::file_of({2, 70}, valid));
  request.predictor.threshold = 0.03;
  const SparseMeasurement first = measure_sparse(request);
  request.mask = write("mask.npy", mask_file(first.mask, false));
  const SparseMeasurement second = measure_sparse(request);
  EXPECT_EQ(first.mask, second.mask);
  EXPECT_EQ(first.mean.density, second.mean.density);
  EXPECT_EQ(first.error->relative, second.error->relative);
  EXPECT_GT(first.mean.density, 0);
  EXPECT_LT(first.mean.density, 1);
}

TEST_F(SparseFiles, MasksAreReadAsBytesOrAsPackedBits) {
  std::mt19937 engine(4);
  masks::Mask mask({1, 2, 24, 24});
  for (Count h = 0; h < 2; ++h)
    for (Count r = 0; r < 24; ++r)
      for (Count c = 0; c < 24; ++c)
        if (engine() % 3 == 0) mask.keep(0, h, r, c);
  const std::string bytes = write("bytes.npy", mask_file(mask, true));
  const std::string packed = write("packed.npy", numpy::file_of({2, 24, 3}, masks::packed_of(mask)));
  EXPECT_EQ(read_mask(bytes, {}), mask);
  EXPECT_EQ(read_mask(packed, {}), mask);
  EXPECT_EQ(read_mask(packed, 24), mask);
  const auto code = [&](const std::string& path, std::optional<Count> columns) -> std::string {
    try {
      read_mask(path, columns);
    } catch (const base::InputError& error) {
      return error.diagnostics.front().code;
    }
    return "";
  };
  EXPECT_EQ(code(packed, 25), "O1803");
  EXPECT_EQ(code(write("ones.npy", numpy::file_of({24, 3}, std::vector<std::uint8_t>(72, 1))), {}), "O1803");
  EXPECT_EQ(code(write("twos.npy", numpy::file_of({24, 24}, std::vector<std::uint8_t>(576, 2))), {}), "O1806");
}

TEST_F(SparseFiles, AFolderOfMasksHasTheMeanOfItsMasksAndALineForEach) {
  const auto save = [&](const char* name, Count kept) {
    masks::Mask mask({1, 1, 8, 64});
    for (Count r = 0; r < 8; ++r)
      for (Count c = 0; c < kept; ++c) mask.keep(0, 0, r, c);
    write(name, mask_file(mask, true));
  };
  save("b.npy", 16);
  save("a.npy", 48);
  write("notes.txt", "no mask");
  SparseMeasureRequest request;
  request.mask = folder_;
  request.packs = false;
  const SparseMeasurement answer = measure_sparse(request);
  ASSERT_EQ(answer.masks.size(), 2U);
  EXPECT_TRUE(answer.masks[0].name.ends_with("a.npy"));
  EXPECT_DOUBLE_EQ(answer.mean.density, 0.5);
  EXPECT_TRUE(answer.packing.empty());
  const std::string csv = load_balance_csv(answer);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

TEST_F(SparseFiles, AFolderIsPackedAsItsMasksAreTogether) {
  std::mt19937 engine(5);
  Count kept = 0;
  std::vector<SparsePack> each;
  std::filesystem::create_directory(folder_ + "masks");
  for (const char* name : {"masks/a.npy", "masks/b.npy"}) {
    masks::Mask mask({1, 2, 70, 70});
    for (Count h = 0; h < 2; ++h)
      for (Count r = 0; r < 70; ++r)
        for (Count c = 0; c < 70; ++c)
          if (engine() % 5 == 0) mask.keep(0, h, r, c);
    SparsePackRequest request;
    request.mask = write(name, mask_file(mask, true));
    each.push_back(pack_sparse(request));
    kept += mask.kept();
  }
  std::vector<std::uint8_t> valid(70, 1);
  SparsePackRequest packs;
  packs.mask = folder_ + "masks";
  const SparsePack both = pack_sparse(packs);
  ASSERT_EQ(both.masks.size(), 2U);
  EXPECT_EQ(both.kept, kept);
  SparseMeasureRequest measures;
  measures.mask = packs.mask;
  const SparseMeasurement measured = measure_sparse(measures);
  ASSERT_EQ(measured.packing.size(), both.schemes.size());
  for (std::size_t s = 0; s < both.schemes.size(); ++s) {
    const masks::PackedScheme &sum = both.schemes[s], &first = each[0].schemes[s], &second = each[1].schemes[s];
    EXPECT_EQ(sum.blocks, first.blocks + second.blocks);
    EXPECT_DOUBLE_EQ(sum.utilization * (static_cast<double>(first.kept) / first.utilization +
                                        static_cast<double>(second.kept) / second.utilization),
                     static_cast<double>(kept))
        << sum.name;
    EXPECT_LE(sum.utilization, sum.bound);
    EXPECT_EQ(measured.packing[s].sub_rows, sum.sub_rows);
  }
  // The tokens that are there stand beside the masks.
  std::fill(valid.begin() + 35, valid.end(), 0);
  write("masks/attn_valid.npy", numpy::file_of({1, 70}, valid));
  EXPECT_LT(pack_sparse(packs).kept, kept);
  EXPECT_EQ(pack_sparse(packs).masks.size(), 2U);
  // A folder with a mask of that name stands for it alone.
  std::filesystem::copy_file(folder_ + "masks/a.npy", folder_ + "masks/mask.npy");
  EXPECT_EQ(pack_sparse(packs).masks.size(), 1U);
  EXPECT_EQ(measure_sparse(measures).masks.size(), 1U);
}

TEST_F(SparseFiles, TokensThatAreThereMayBeOfAnyType) {
  SparseMeasureRequest request = predicted({1, 2, 8, 4}, {1, 2, 8, 4});
  const std::vector<std::uint8_t> bytes = {1, 1, 0, 1, 1, 0, 0, 1};
  request.arrays.valid = write("valid.npy", numpy::file_of({1, 8}, bytes));
  const masks::Mask mask = measure_sparse(request).mask;
  const std::vector<std::int64_t> wide(bytes.begin(), bytes.end());
  request.arrays.valid = write(
      "wide.npy", numpy::file_of(numpy::Element::kInt64, {1, 8},
                                 {reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof wide.front()}));
  EXPECT_EQ(measure_sparse(request).mask, mask);
  request.arrays.query = request.arrays.valid;
  EXPECT_EQ(code_of(request), "O1806");
}

TEST_F(SparseFiles, MasksOfDifferentSizesHaveNoCommonMean) {
  std::filesystem::create_directory(folder_ + "masks");
  for (const Count size : {8, 8, 9}) {
    masks::Mask mask({1, 1, size, size});
    write("masks/" + std::to_string(each_++) + ".npy", mask_file(mask, true));
  }
  SparseMeasureRequest request;
  request.mask = folder_ + "masks";
  EXPECT_EQ(code_of(request), "O1842");
}

TEST_F(SparseFiles, LimitsLeaveWholeStepsOutAndSaySo) {
  SparseMeasureRequest request = predicted({1, 2, 40, 16}, {1, 2, 40, 16});
  request.packs = true;
  std::atomic<bool> stop = true;
  request.limits.stop = &stop;
  for (const masks::PredictorKind kind :
       {masks::PredictorKind::kThreshold, masks::PredictorKind::kTopK, masks::PredictorKind::kRounds,
        masks::PredictorKind::kBlocks, masks::PredictorKind::kWindow}) {
    request.predictor.kind = kind;
    const SparseMeasurement nothing = measure_sparse(request);
    EXPECT_TRUE(nothing.masks.empty());
    EXPECT_TRUE(nothing.packing.empty());
    ASSERT_EQ(nothing.unfinished.size(), 1U);
    EXPECT_EQ(nothing.warnings.all().back().code, "O1841");
  }
  stop = false;
  EXPECT_TRUE(measure_sparse(request).unfinished.empty());
  request.limits.memory = 1000;
  EXPECT_EQ(code_of(request), "O1840");

  SparseMaskRequest made;
  made.kind = "dense";
  made.tokens = 20000;
  made.limits.seconds = 1e-6;
  EXPECT_EQ(make_sparse_mask(made).mask.rows(), 0);
  made.limits.seconds = 0;
  made.limits.memory = 40 << 20;
  EXPECT_THROW(make_sparse_mask(made), base::InputError);
}

}  // namespace
}  // namespace orrery::verbs
