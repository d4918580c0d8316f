// Which strided operator each kernel is, and which of its columns takes which place there. aib adds three biases and
// baib sums three gradients, each a run of its own. A kernel's vectors run along `dv`; `dt` and `dw`, on a GPU the
// dimension of threads and the one that warps sum over, are here what is dealt out first.
#include "orrery/runtime/tuning/fused_kernels.h"

#include <algorithm>
#include <sstream>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

using kernels::StridedKernel;

struct Row {
  const char* name;
  StridedKernel kernel;
  const char* dims;
  const char* reduced;
  // "column" or "column:dims"; "|" before another run, "=" before what is written, "+" before sums.
  const char* columns;
  const char* specials;
};
constexpr Row kRows[] = {
    {"softmax", StridedKernel::kSoftmax, "hbjk", "k", "in = out drop_mask drop", "dv:hbjk"},
    {"bad", StridedKernel::kBiasReluDrop, "bju", "", "sb1_linw1 linb1:u = drop2 drop2mask lin1", "dv:bju dt:bju"},
    {"bdrln", StridedKernel::kNorm, "bji", "i",
     "drop2_linw2 sb1 s2:i b2:i linb2:i = sb2 ln2 lin2 ln2diff ln2std:bj drop3mask", "dv:bji"},
    {"blnrd", StridedKernel::kNormBack, "bji", "i", "dln2 ln2std:bj ln2diff drop3mask = dresid2 dlin2", "dv:bji"},
    {"bsb", StridedKernel::kScaleSums, "bji", "bj", "ln2 s2:i dsb2 = dln2 + ds2:i db2:i", "dv:bji dw:bj"},
    {"bdrlb", StridedKernel::kReluSums, "bju", "bj", "ddrop2 drop2mask lin1 = dlin1 + dlinb1:u", "dv:bju dw:bj"},
    {"bs", StridedKernel::kSoftmaxBack, "hbjk", "k", "alpha drop_mask drop = dbeta", "dv:hbjk"},
    {"ebsb", StridedKernel::kJoinSums, "bji", "bj", "ln1 s1:i dresid2 dlin1_linw1 dlin2 = dln1 + ds1:i db1:i dlinb2:i",
     "dv:bji dw:bj"},
    {"bei", StridedKernel::kAdd, "bji", "", "dxatt dresid1 = dx", "dt:bji dv:bji"},
    {"aib", StridedKernel::kAddBias, "phbj", "", "wkk bk:ph = kk | wvv bv:ph = vv | wqq bq:ph = qq", "dv:bj dt:bj"},
    {"baib", StridedKernel::kSums, "phbj", "bj", "dkk + dbk:ph | dvv + dbv:ph | dqq + dbq:ph", "dv:phbj dw:bj"},
    {"baob", StridedKernel::kSums, "bji", "bj", "datt + dbo:i", "dv:bji dw:bj"},
};

// One run: columns by place.
struct Places {
  std::vector<std::string> tensors, sums;
};

struct Known {
  FusedKernel kernel;
  StridedKernel strided;
  std::vector<Places> runs;
  std::map<std::string, std::string, std::less<>> choices;
};

Known known(const Row& row) {
  Known out;
  out.strided = row.kernel;
  out.kernel.name = row.name, out.kernel.dims = row.dims, out.kernel.reduced = row.reduced;
  out.kernel.masked = row.kernel == StridedKernel::kSoftmax || row.kernel == StridedKernel::kNorm ||
                      row.kernel == StridedKernel::kBiasReluDrop;
  out.runs.emplace_back();
  bool written = false, sums = false;
  std::istringstream columns(row.columns);
  for (std::string word; columns >> word;) {
    if (word == "|") {
      out.runs.emplace_back();
      written = sums = false;
    } else if (word == "=") {
      written = true;
    } else if (word == "+") {
      written = sums = true;
    } else {
      const std::size_t colon = word.find(':');
      const std::string name = word.substr(0, colon);
      const bool parameter = colon != std::string::npos;
      out.kernel.columns.push_back({name, parameter ? word.substr(colon + 1) : row.dims, written, parameter});
      (sums ? out.runs.back().sums : out.runs.back().tensors).push_back(name);
    }
  }
  std::istringstream specials(row.specials);
  for (std::string word; specials >> word;) {
    out.kernel.specials.push_back(word.substr(0, 2));
    out.choices[word.substr(0, 2)] = word.substr(3);
  }
  return out;
}

const std::vector<Known>& all() {
  static const std::vector<Known> kernels = [] {
    std::vector<Known> out;
    for (const Row& row : kRows) out.push_back(known(row));
    return out;
  }();
  return kernels;
}

const Known& of(std::string_view name) {
  const auto found =
      std::find_if(all().begin(), all().end(), [&](const Known& one) { return one.kernel.name == name; });
  ORRERY_CHECK(found != all().end(), "a kernel of this name");
  return *found;
}

}  // namespace

std::string_view FusedKernel::choices(std::string_view special) const {
  return of(name).choices.find(special)->second;
}

const std::vector<FusedKernel>& fused_kernels() {
  static const std::vector<FusedKernel> kernels = [] {
    std::vector<FusedKernel> out;
    for (const Known& one : all()) out.push_back(one.kernel);
    return out;
  }();
  return kernels;
}

const FusedKernel* fused_kernel(std::string_view name) {
  for (const FusedKernel& one : fused_kernels())
    if (one.name == name) return &one;
  return nullptr;
}

std::vector<kernels::Strided> runs_of(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run) {
  const Known& known = of(kernel.name);
  const auto place = [&](char letter) { return static_cast<int>(kernel.dims.find(letter)); };
  const auto tensor = [&](const std::string& name) {
    const auto column = std::find_if(kernel.columns.begin(), kernel.columns.end(),
                                     [&](const FusedColumn& one) { return one.name == name; });
    const auto layout = choice.layouts.find(name);
    ORRERY_CHECK(column != kernel.columns.end() && layout != choice.layouts.end(), "every column has a layout");
    kernels::StridedTensor out;
    static char nothing;
    out.data = run.data ? run.data(name) : &nothing;
    out.type = column->parameter ? kernels::Type::kF32 : run.type;
    kernels::Index stride = 1;
    for (std::size_t i = layout->second.size(); i-- > 0;) {
      const char letter = layout->second[i];
      ORRERY_CHECK(column->dims.find(letter) != std::string::npos, "a layout has its column's letters");
      out.strides[static_cast<std::size_t>(place(letter))] = stride;
      stride *= run.sizes[letter];
    }
    return out;
  };
  std::vector<kernels::Strided> out;
  std::uint32_t part = 0;
  for (const Places& places : known.runs) {
    kernels::Strided x;
    x.kernel = known.strided;
    x.dims = static_cast<int>(kernel.dims.size());
    for (int d = 0; d < x.dims; ++d) {
      const char letter = kernel.dims[static_cast<std::size_t>(d)];
      x.extents[static_cast<std::size_t>(d)] = run.sizes[letter];
      if (kernel.reduced.find(letter) != std::string::npos) x.reduced |= 1U << d;
    }
    for (std::size_t i = 0; i < places.tensors.size(); ++i) x.tensors[i] = tensor(places.tensors[i]);
    for (std::size_t i = 0; i < places.sums.size(); ++i) x.sums[i] = tensor(places.sums[i]);
    for (const auto& [special, letter] : choice.specials) {
      ORRERY_CHECK(place(letter) >= 0, "a special dimension is one of the kernel's");
      (special == "dv" ? x.vectors : x.first) = place(letter);
    }
    x.drop = run.drop, x.seed = run.seed, x.stream = run.stream + part++;
    out.push_back(x);
  }
  return out;
}

std::string signature(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run) {
  FusedRun nothing = run;
  nothing.data = nullptr;
  std::string out = kernel.name;
  for (const kernels::Strided& x : runs_of(kernel, choice, nothing)) out += " / " + kernels::signature(x);
  return out;
}

}  // namespace orrery::tuning
