// Masks and figures against the equations of docs/model/sparse.md, written down once more in plain loops and fp64:
// norms, codes, scores, probabilities, empty rows, load balance. Nothing of the library is called but what is compared.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/diagnostics/defect.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/random_input_test_util.h"

namespace orrery::masks {
namespace {

using testing::Random;
using testing::RandomInput;

struct Plain {
  const AttentionInput& in;
  const PredictorOptions& options;
  bool doubtful = false;  // a code stands at a half, where fp32 and fp64 may round apart

  std::size_t rows() const { return static_cast<std::size_t>(in.shape.matrices() * in.shape.rows); }
  bool there(Count m, Count r, Count c) const {
    const bool valid = in.valid_columns.empty() ||
                       in.valid_columns[static_cast<std::size_t>(m / in.shape.heads * in.shape.columns + c)] != 0;
    return valid && (!in.causal || c <= r + in.shape.columns - in.shape.rows);
  }
  bool row_there(Count m, Count r) const {
    return in.valid_rows.empty() ||
           in.valid_rows[static_cast<std::size_t>(m / in.shape.heads * in.shape.rows + r)] != 0;
  }

  // What codes stand for, row by row.
  std::vector<double> rounded(const float* data, Count count, std::optional<float> frozen) {
    const Count depth = in.depth;
    std::vector<double> out(data, data + count * depth);
    if (options.quantiser.bits == kExactBits) return out;
    std::vector<double> norms(static_cast<std::size_t>(count), 1);
    double most = 0;
    for (Count r = 0; r < count; ++r) {
      double square = 0;
      for (Count d = 0; d < depth; ++d) square += std::pow(static_cast<double>(data[r * depth + d]), 2);
      double& norm = norms[static_cast<std::size_t>(r)];
      if (options.quantiser.normalise == Normalise::kInnerProduct && square > 0) norm = std::sqrt(square);
      for (Count d = 0; d < depth; ++d) most = std::max(most, std::fabs(data[r * depth + d] / norm));
    }
    const double n = std::pow(2, options.quantiser.bits - 1) - 1, scale = n / (frozen ? *frozen : most);
    for (Count r = 0; r < count; ++r)
      for (Count d = 0; d < depth; ++d) {
        double& x = out[static_cast<std::size_t>(r * depth + d)];
        const double norm = norms[static_cast<std::size_t>(r)], scaled = x / norm * scale;
        const double part = scaled - std::floor(scaled);
        doubtful = doubtful || std::fabs(part - 0.5) < 1e-4;
        const double code = part > 0.5 ? std::ceil(scaled) : std::floor(scaled);  // never a half
        x = std::min(std::max(code, -n), n) / scale * norm;
      }
    return out;
  }

  // 1: kept, 0: not, 2: at the threshold to rounding; by row, whether it was emptied.
  std::vector<int> mask(std::vector<bool>& emptied) {
    const MaskShape& s = in.shape;
    const auto q = rounded(in.query, s.matrices() * s.rows, options.quantiser.query_clip);
    const auto k = rounded(in.key, s.matrices() * s.columns, options.quantiser.key_clip);
    std::vector<int> out(rows() * static_cast<std::size_t>(s.columns));
    emptied.assign(rows(), false);
    for (Count m = 0; m < s.matrices(); ++m)
      for (Count r = 0; r < s.rows; ++r) {
        std::vector<double> e(static_cast<std::size_t>(s.columns));
        double most = -HUGE_VAL, sum = 0;
        for (Count c = 0; c < s.columns; ++c) {
          double product = 0;
          for (Count d = 0; d < in.depth; ++d)
            product += q[static_cast<std::size_t>((m * s.rows + r) * in.depth + d)] *
                       k[static_cast<std::size_t>((m * s.columns + c) * in.depth + d)];
          e[static_cast<std::size_t>(c)] = product * in.scale;
          if (there(m, r, c)) most = std::max(most, e[static_cast<std::size_t>(c)]);
        }
        for (Count c = 0; c < s.columns; ++c) {
          double& x = e[static_cast<std::size_t>(c)];
          sum += x = there(m, r, c) ? std::exp(x - most) : 0;
        }
        if (sum == 0) continue;  // sees no key
        int* row = out.data() + (m * s.rows + r) * s.columns;
        bool any = false, all_sure = true;
        for (Count c = 0; c < s.columns; ++c) {
          const double p = e[static_cast<std::size_t>(c)] / sum;
          const bool near = std::fabs(p / options.threshold - 1) < 3e-5;
          row[c] = near ? 2 : p > options.threshold;
          any = any || row[c] == 1;
          all_sure = all_sure && !near;
        }
        if (any) continue;
        if (!all_sure) {
          doubtful = true;
          continue;
        }
        emptied[static_cast<std::size_t>(m * s.rows + r)] = true;
        Count best = 0;
        for (Count c = 0; c < s.columns; ++c) {
          if (options.empty == EmptyRows::kDense) row[c] = there(m, r, c);
          if (e[static_cast<std::size_t>(c)] > e[static_cast<std::size_t>(best)]) best = c;
        }
        if (options.empty != EmptyRows::kArgmax) continue;
        row[best] = 1;
        for (Count c = 0; c < s.columns; ++c)  // the second best is as good to rounding
          if (c != best && there(m, r, c) &&
              e[static_cast<std::size_t>(c)] > e[static_cast<std::size_t>(best)] * (1 - 1e-5))
            doubtful = true;
      }
    return out;
  }

  // The log's four load balances, then the density of each sequence's mean, of a mask that is given.
  std::vector<double> figures(const Mask& of, bool sanger, const std::vector<bool>& emptied) const {
    const MaskShape& s = in.shape;
    std::vector<double> out;
    for (const Count p : {32, 16})
      for (const bool skip : {false, true}) {
        double kept = 0, slots = 0;
        for (Count m = 0; m < s.matrices(); ++m)
          for (Count r = 0; r < s.rows; ++r)
            for (Count first = 0; first < s.columns; first += 64) {
              Count n = 0;
              bool pair = false;
              for (Count c = first; c < std::min(first + 64, s.columns); ++c) {
                const bool here = there(m, r, c) && row_there(m, r);
                pair = pair || here;
                const bool idle = sanger && emptied[static_cast<std::size_t>(m * s.rows + r)];
                n += !idle && (here || sanger) && of.kept(m / s.heads, m % s.heads, r, c);
              }
              if (!pair) continue;
              kept += static_cast<double>(n);
              slots += std::ceil(static_cast<double>(n) / static_cast<double>(p));
              if (!skip) slots += sanger ? n > 0 : n == 0;
            }
        out.push_back(slots > 0 ? kept / static_cast<double>(p) / slots : 0);
      }
    double mean = 0, sequences = 0;
    for (Count b = 0; b < s.batch; ++b) {
      double kept = 0, pairs = 0;
      for (Count h = 0; h < s.heads; ++h)
        for (Count r = 0; r < s.rows; ++r)
          for (Count c = 0; c < s.columns; ++c) {
            const Count m = b * s.heads + h;
            if (!there(m, r, c) || !row_there(m, r)) continue;
            ++pairs;
            kept += of.kept(b, h, r, c) && !(sanger && emptied[static_cast<std::size_t>(m * s.rows + r)]);
          }
      if (pairs == 0) continue;
      ++sequences;
      mean += kept / pairs;
    }
    out.push_back(sequences > 0 ? mean / sequences : 0);
    return out;
  }
};

TEST(PlainReference, GivesTheSameMasksAndFiguresOnThousandsOfCases) {
  const auto contexts = kernels::testing::contexts(1);  // every instruction set
  int compared = 0, emptied_rows = 0, sanger_figures = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    const bool cross = random.one_in(3);
    const Count rows = random.pick<Count>({1, 2, 5, 17, 63, 64, 65}),
                columns = cross ? random.pick<Count>({1, 3, 31, 64, 70, 129}) : rows;
    RandomInput x({random(1, 2), random(1, 2), rows, columns}, random.pick<Count>({1, 4, 7, 16}), random);
    x.input.causal = random.one_in(3);
    if (random.one_in(4)) x.input.scale = 1;  // BART's
    if (random.one_in(2)) {
      x.pad_keys(random);
      if (rows == columns) x.input.valid_rows = x.input.valid_columns;
    }
    PredictorOptions options;
    options.quantiser.bits = random.pick({2, 4, 6, 8, kExactBits});
    options.quantiser.normalise = random.pick({Normalise::kInnerProduct, Normalise::kNone});
    if (random.one_in(4)) options.quantiser.query_clip = 0.7F, options.quantiser.key_clip = 0.3F;
    options.threshold = random.pick({0.001, 0.01, 0.05, 0.2, 0.6});
    options.empty = random.pick({EmptyRows::kArgmax, EmptyRows::kDense, EmptyRows::kZero});
    Prediction ours;
    make_predictor(options)->predict(*contexts[seed % contexts.size()], x.input, {}, ours);
    Plain plain{x.input, options};
    std::vector<bool> emptied;
    const std::vector<int> mask = plain.mask(emptied);
    if (plain.doubtful) continue;
    ++compared;
    const std::vector<std::uint8_t> bits = bytes_of(ours.mask);
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (mask[i] != 2) {
        ASSERT_EQ(bits[i], mask[i]) << "seed " << seed << ", bit " << i;
      }
    }
    std::vector<bool> told(emptied.size());
    for (const Count row : ours.emptied) told[static_cast<std::size_t>(row)] = true;
    ASSERT_EQ(told, emptied) << seed;
    emptied_rows += static_cast<int>(ours.emptied.size());
    const bool whole = rows % 64 == 0 && columns % 64 == 0 && !x.input.causal;
    for (const bool sanger : {false, true}) {
      if (sanger && !whole) continue;
      const Measured figures =
          measure(ours.mask, sanger ? base::defects_of(kMeasureDefects, "sanger") : MeasureDefects{}, ours.emptied);
      const std::vector<double> expected = plain.figures(ours.mask, sanger, emptied);
      if (sanger && expected[0] == 0) continue;  // nan there
      for (std::size_t i = 0; i < kLoadBalances; ++i) ASSERT_NEAR(figures.load_balance[i], expected[i], 1e-6) << seed;
      ASSERT_NEAR(figures.overall_sparsity, expected[kLoadBalances], 1e-12) << seed;
      sanger_figures += sanger;
    }
  }
  EXPECT_GT(compared, 2500);
  EXPECT_GT(emptied_rows, 1000);
  EXPECT_GT(sanger_figures, 100);
}

}  // namespace
}  // namespace orrery::masks
