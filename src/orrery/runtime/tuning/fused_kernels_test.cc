// Every kernel against its formula in fp64, element by element, over layouts and special dimensions.
#include "orrery/runtime/tuning/fused_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery::tuning {
namespace {

using Tensors = std::map<std::string, std::vector<double>, std::less<>>;  // in canonical order of their dims

Sizes small() {
  Sizes sizes;
  sizes['b'] = 3, sizes['j'] = 18, sizes['k'] = 19, sizes['h'] = 2, sizes['p'] = 17, sizes['i'] = 21, sizes['u'] = 35;
  return sizes;
}

// f(letters' indices) over all of them.
template <class Function>
void over(const Sizes& sizes, const std::string& dims, Function f) {
  std::map<char, std::size_t> at;
  const std::size_t words = static_cast<std::size_t>(sizes.words(dims));
  for (std::size_t n = 0; n < words; ++n) {
    std::size_t rest = n;
    for (std::size_t i = dims.size(); i-- > 0;) {
      const auto extent = static_cast<std::size_t>(sizes[dims[i]]);
      at[dims[i]] = rest % extent;
      rest /= extent;
    }
    f(at);
  }
}

std::size_t offset(const Sizes& sizes, const std::string& layout, const std::map<char, std::size_t>& at) {
  std::size_t out = 0;
  for (const char letter : layout) out = out * static_cast<std::size_t>(sizes[letter]) + at.at(letter);
  return out;
}

// What the kernel makes of its inputs and its mask, as its formula says.
void by_formula(const FusedKernel& kernel, const Sizes& sizes, Tensors& t) {
  std::map<std::string, std::string> dims;
  for (const FusedColumn& column : kernel.columns) {
    dims[column.name] = column.dims;
    t[column.name].resize(static_cast<std::size_t>(sizes.words(column.dims)));
  }
  std::string rest;
  for (const char letter : kernel.dims)
    if (kernel.reduced.find(letter) == std::string::npos) rest += letter;
  const auto all = [&](auto f) {
    over(sizes, kernel.dims, [&](const std::map<char, std::size_t>& at) {
      f([&](const char* name) -> double& { return t[name][offset(sizes, dims[name], at)]; });
    });
  };
  // Of each line along the reduced dimensions.
  const auto lines = [&](auto f) {
    over(sizes, rest, [&](std::map<char, std::size_t> at) {
      f([&](auto g) {
        over(sizes, kernel.reduced, [&](const std::map<char, std::size_t>& inner) {
          for (const auto& [letter, index] : inner) at[letter] = index;
          g([&](const char* name) -> double& { return t[name][offset(sizes, dims[name], at)]; });
        });
      });
    });
  };
  if (kernel.name == "aib") {
    all([](auto v) { v("kk") = v("wkk") + v("bk"), v("vv") = v("wvv") + v("bv"), v("qq") = v("wqq") + v("bq"); });
  } else if (kernel.name == "bei") {
    all([](auto v) { v("dx") = v("dxatt") + v("dresid1"); });
  } else if (kernel.name == "bad") {
    all([](auto v) {
      v("lin1") = v("sb1_linw1") + v("linb1");
      v("drop2") = std::max(0.0, v("lin1")) * v("drop2mask");
    });
  } else if (kernel.name == "softmax") {
    lines([](auto line) {
      double sum = 0;
      line([&](auto v) { sum += std::exp(v("in")); });
      line([&](auto v) { v("out") = std::exp(v("in")) / sum, v("drop") = v("out") * v("drop_mask"); });
    });
  } else if (kernel.name == "bs") {
    lines([](auto line) {
      double sum = 0;
      line([&](auto v) { sum += v("alpha") * v("drop_mask") * v("drop"); });
      line([&](auto v) { v("dbeta") = v("alpha") * (v("drop_mask") * v("drop") - sum); });
    });
  } else if (kernel.name == "bdrln") {
    lines([](auto line) {
      double sum = 0, squares = 0, n = 0;
      line([&](auto v) {
        v("lin2") = v("drop2_linw2") + v("linb2");
        v("ln2diff") = v("drop3mask") * v("lin2") + v("sb1");
        sum += v("ln2diff"), ++n;
      });
      line([&](auto v) { v("ln2diff") -= sum / n, squares += v("ln2diff") * v("ln2diff"); });
      line([&](auto v) {
        v("ln2std") = 1 / std::sqrt(squares / n + 1e-5);
        v("ln2") = v("ln2diff") * v("ln2std"), v("sb2") = v("ln2") * v("s2") + v("b2");
      });
    });
  } else if (kernel.name == "blnrd") {
    lines([](auto line) {
      double sum = 0, slope = 0, n = 0;
      line([&](auto v) { sum += v("dln2"), slope += v("dln2") * v("ln2diff"), ++n; });
      line([&](auto v) {
        const double s = v("ln2std");
        v("dresid2") = s * v("dln2") - s / n * sum - v("ln2diff") * s * s * s / n * slope;
        v("dlin2") = v("dresid2") * v("drop3mask");
      });
    });
  } else if (kernel.name == "bsb") {
    all([](auto v) {
      v("dln2") = v("dsb2") * v("s2");
      v("ds2") += v("dsb2") * v("ln2"), v("db2") += v("dsb2");
    });
  } else if (kernel.name == "bdrlb") {
    all([](auto v) {
      v("dlin1") = v("lin1") > 0 ? v("ddrop2") * v("drop2mask") : 0;
      v("dlinb1") += v("dlin1");
    });
  } else if (kernel.name == "ebsb") {
    all([](auto v) {
      const double d = v("dresid2") + v("dlin1_linw1");
      v("dln1") = d * v("s1"), v("ds1") += d * v("ln1"), v("db1") += d, v("dlinb2") += v("dlin2");
    });
  } else if (kernel.name == "baob") {
    all([](auto v) { v("dbo") += v("datt"); });
  } else {
    ASSERT_EQ(kernel.name, "baib");
    all([](auto v) { v("dbk") += v("dkk"), v("dbv") += v("dvv"), v("dbq") += v("dqq"); });
  }
}

std::string permuted(std::string letters, std::mt19937& random) {
  std::shuffle(letters.begin(), letters.end(), random);
  return letters;
}

FusedChoice drawn(const FusedKernel& kernel, std::mt19937& random) {
  FusedChoice choice;
  for (const FusedColumn& column : kernel.columns) choice.layouts[column.name] = permuted(column.dims, random);
  for (const std::string& special : kernel.specials) {
    const std::string_view letters = kernel.choices(special);
    choice.specials[special] = letters[random() % letters.size()];
  }
  return choice;
}

// Runs the kernel; returns what it computed in canonical order.
Tensors computed(kernels::Context& context, const FusedKernel& kernel, const FusedChoice& choice, FusedRun run,
                 const Tensors& inputs) {
  std::map<std::string, std::vector<float>, std::less<>> wide;
  std::map<std::string, std::vector<kernels::Bf16>, std::less<>> narrow;
  const auto is_wide = [&](const FusedColumn& c) { return c.parameter || run.type == kernels::Type::kF32; };
  for (const FusedColumn& column : kernel.columns) {
    const auto words = static_cast<std::size_t>(run.sizes.words(column.dims));
    const std::string& layout = choice.layouts.find(column.name)->second;
    wide[column.name].assign(words, std::nanf(""));
    narrow[column.name].assign(words, kernels::to_bf16(std::nanf("")));
    if (column.written) continue;
    std::size_t n = 0;
    over(run.sizes, column.dims, [&](const std::map<char, std::size_t>& at) {
      const double x = inputs.find(column.name)->second[n++];
      wide[column.name][offset(run.sizes, layout, at)] = static_cast<float>(x);
      narrow[column.name][offset(run.sizes, layout, at)] = kernels::to_bf16(static_cast<float>(x));
    });
  }
  run.data = [&](std::string_view name) -> void* {
    for (const FusedColumn& column : kernel.columns)
      if (column.name == name)
        return is_wide(column) ? static_cast<void*>(wide.find(name)->second.data()) : narrow.find(name)->second.data();
    return nullptr;
  };
  for (const kernels::Strided& x : runs_of(kernel, choice, run)) kernels::run(context, x);
  Tensors out;
  for (const FusedColumn& column : kernel.columns) {
    const std::string& layout = choice.layouts.find(column.name)->second;
    over(run.sizes, column.dims, [&](const std::map<char, std::size_t>& at) {
      const std::size_t from = offset(run.sizes, layout, at);
      out[column.name].push_back(is_wide(column) ? wide[column.name][from]
                                                 : kernels::from_bf16(narrow[column.name][from]));
    });
  }
  return out;
}

Tensors drawn_inputs(const FusedKernel& kernel, const Sizes& sizes, std::mt19937& random) {
  std::uniform_real_distribution<float> draw(-2, 2);
  Tensors out;
  for (const FusedColumn& column : kernel.columns)
    if (!column.written)
      for (std::size_t i = 0; i < static_cast<std::size_t>(sizes.words(column.dims)); ++i)
        out[column.name].push_back(kernels::from_bf16(kernels::to_bf16(draw(random))));  // numbers that bf16 has
  return out;
}

void expect_formula(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run, const Tensors& inputs,
                    Tensors got) {
  Tensors want = inputs;
  for (const char* mask : {"drop_mask", "drop2mask", "drop3mask"})
    if (got.count(mask) != 0) want[mask] = got[mask];
  by_formula(kernel, run.sizes, want);
  std::string how;
  for (const auto& [name, layout] : choice.layouts) how += " " + name + "=" + layout;
  for (const auto& [name, letter] : choice.specials) how += " " + name + "=" + letter;
  const double tolerance = run.type == kernels::Type::kF32 ? 2e-5 : 2e-2;
  for (const FusedColumn& column : kernel.columns) {
    if (!column.written) continue;
    double worst = 0;
    for (std::size_t i = 0; i < want[column.name].size(); ++i) {
      const double off = std::fabs(got[column.name][i] - want[column.name][i]) / (1 + std::fabs(want[column.name][i]));
      worst = off <= worst ? worst : std::isnan(off) ? 1e9 : off;  // a NaN is worst
    }
    ASSERT_LT(worst, tolerance * (kernel.reduced.empty() ? 1 : 2)) << kernel.name << " " << column.name << how;
  }
}

TEST(FusedKernels, ComputeTheirFormulaInEveryLayoutAndSpecialDimension) {
  std::mt19937 random(1);
  for (const FusedKernel& kernel : fused_kernels())
    for (int draw = 0; draw < 60; ++draw) {
      kernels::Context context(1 + draw % 3);
      FusedRun run;
      run.sizes = small();
      run.drop = draw % 2 == 0 ? 0 : 0.25;
      run.type = draw % 5 == 4 ? kernels::Type::kBf16 : kernels::Type::kF32;
      const FusedChoice choice = drawn(kernel, random);
      const Tensors inputs = drawn_inputs(kernel, run.sizes, random);
      expect_formula(kernel, choice, run, inputs, computed(context, kernel, choice, run, inputs));
    }
}

TEST(FusedKernels, ComputeTheirFormulaAtEveryInstructionSetAndAcrossBlocks) {
  std::mt19937 random(2);
  for (const kernels::Level level : kernels::levels())
    for (const FusedKernel& kernel : fused_kernels())
      for (int draw = 0; draw < 4; ++draw) {
        kernels::Context context(2, level);
        FusedRun run;
        run.sizes = small();
        run.sizes['b'] = 2, run.sizes['j'] = 17, run.sizes['i'] = 300, run.sizes['u'] = 1100, run.sizes['k'] = 130,
        run.drop = 0.1;
        FusedChoice choice = drawn(kernel, random);
        if (draw < 2)  // all alike, as fast layouts are
          for (const FusedColumn& column : kernel.columns) choice.layouts[column.name] = column.dims;
        const Tensors inputs = drawn_inputs(kernel, run.sizes, random);
        expect_formula(kernel, choice, run, inputs, computed(context, kernel, choice, run, inputs));
      }
}

// On every instruction set, too: a level that compared hashes as signed numbers dropped 0.8 where 0.3 were asked for.
TEST(FusedKernels, DropTheShareAskedForTheSameInEveryLayoutAtEveryLevelAndOtherwiseForEachSeed) {
  std::mt19937 random(3);
  for (const FusedKernel& kernel : fused_kernels()) {
    if (!kernel.masked) continue;
    const char* mask = kernel.name == "softmax" ? "drop_mask" : kernel.name == "bad" ? "drop2mask" : "drop3mask";
    FusedRun run;
    run.sizes = small();
    run.sizes['i'] = run.sizes['u'] = 400, run.sizes['k'] = 150;
    run.drop = 0.3;
    const Tensors inputs = drawn_inputs(kernel, run.sizes, random);
    std::vector<double> first;
    for (const kernels::Level level : kernels::levels()) {
      kernels::Context context(2, level);
      const std::vector<double> here = computed(context, kernel, drawn(kernel, random), run, inputs)[mask];
      if (first.empty()) first = here;
      EXPECT_EQ(first, here) << kernel.name << " at " << kernels::name_of(level);
    }
    double dropped = 0, twice = 0;
    const auto n = static_cast<double>(first.size());
    run.seed = 1;
    kernels::Context context(2);
    EXPECT_EQ(computed(context, kernel, drawn(kernel, random), run, inputs)[mask],
              computed(context, kernel, drawn(kernel, random), run, inputs)[mask]);
    const std::vector<double> second = computed(context, kernel, drawn(kernel, random), run, inputs)[mask];
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(first[i] == 0 || std::fabs(first[i] - 1 / 0.7) < 1e-6);
      dropped += first[i] == 0 ? 1 : 0;
      twice += first[i] == 0 && second[i] == 0 ? 1 : 0;
    }
    EXPECT_NEAR(dropped / n, 0.3, 4 * std::sqrt(0.21 / n)) << kernel.name;
    EXPECT_NEAR(twice / n, 0.09, 4 * std::sqrt(0.09 / n)) << kernel.name;
  }
}

TEST(FusedKernels, EqualSignaturesAreOfChoicesThatDifferInNothingThatRuns) {
  const FusedKernel& bei = *fused_kernel("bei");
  FusedRun run;
  run.sizes = small();
  FusedChoice one, other;
  for (const FusedColumn& column : bei.columns) one.layouts[column.name] = other.layouts[column.name] = "bji";
  one.specials = {{"dv", 'i'}, {"dt", 'b'}};
  other.specials = {{"dv", 'j'}, {"dt", 'b'}};
  EXPECT_EQ(signature(bei, one, run), signature(bei, other, run));  // all dimensions are joined to one
  other.layouts["dx"] = "bij";
  EXPECT_NE(signature(bei, one, run), signature(bei, other, run));
}

}  // namespace
}  // namespace orrery::tuning
