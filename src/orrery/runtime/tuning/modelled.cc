#include "orrery/runtime/tuning/modelled.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/fused_kernels.h"
#include "orrery/runtime/tuning/kernel_space.h"
#include "orrery/runtime/tuning/operator_profile.h"
#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {
namespace {

using base::Count;

Count femtoseconds(double seconds) {
  const auto out = base::whole_number(std::round(seconds * kPerSecond));
  return out ? std::clamp<Count>(*out, 1, kMostCost) : kMostCost;
}

struct Machine {
  machine::Roofline roofline;
  machine::Precision precision;
  double bytes_per_word, flop_per_s, bytes_per_s;

  Machine(const machine::Accelerator& accelerator, machine::Precision of)
      : roofline(accelerator),
        precision(of),
        bytes_per_word(machine::bytes_per_element(of)),
        flop_per_s(accelerator.peak(of)),
        bytes_per_s(accelerator.memory_bytes_per_s * accelerator.memory_efficiency) {}
};

// --- contractions ----------------------------------------------------------------------------------------------------

// Whether the unit stride of a call's operand runs along the dimension that is summed over.
bool along_sum(const BlasCall& call, bool first) {
  return first ? call.transposed_a : !call.transposed_b;  // by columns: A is M x K, B is K x N
}

double penalty(const BlasCall& call, double bytes_per_word) {
  double out = 1;
  for (const bool first : {true, false}) out *= along_sum(call, first) ? 1 : kNotAlongSum;
  const auto aligned = [&](Count leading) {
    return std::fmod(static_cast<double>(leading) * bytes_per_word, kVectorBytes) == 0;
  };
  return aligned(call.lda) && aligned(call.ldb) && aligned(call.ldc) ? out : out * kUnaligned;
}

// q elsewhere than outermost is no candidate: no split or merge takes it.
bool takes_part(const std::string& layout) {
  return layout.find('q') == std::string::npos || layout[0] == 'q';
}

Measured contraction(const Operator& op, const Sizes& sizes, const Machine& machine) {
  Measured out;
  out.benchmark = op.benchmark();
  out.contraction = true;
  out.columns = {{"a", {}}, {"b", {}}, {"c", {}}};
  out.specials = {{base::lower(op.specials.front().name), {}}};
  const std::uint16_t implementation = out.specials[0].number("default");
  for (const ContractionLayout& one : contraction_space(op.einsum, sizes).layouts) {
    if (!takes_part(one.a) || !takes_part(one.b) || !takes_part(one.c)) {
      ++out.dropped;
      continue;
    }
    const double seconds = machine.roofline.matrix_product_seconds(
        {one.call.batch, one.call.m, one.call.n, one.call.k, machine.precision});
    for (const auto& [column, layout] : {std::pair(0, &one.a), {1, &one.b}, {2, &one.c}})
      out.layouts.push_back(out.columns[static_cast<std::size_t>(column)].number(*layout));
    out.chosen.push_back(implementation);
    out.times.push_back(femtoseconds(seconds * penalty(one.call, machine.bytes_per_word)));
  }
  return out;
}

// --- fused kernels ---------------------------------------------------------------------------------------------------

// A kernel at its sizes: what moving each column costs by its innermost letter and the letter of vectors.
class ModelledKernel {
 public:
  ModelledKernel(const KernelSpace& space, const Sizes& sizes, const Machine& machine, double flop)
      : space_(space), sizes_(sizes), machine_(machine), flop_seconds_(flop / machine.flop_per_s) {
    const FusedKernel* const known = fused_kernel(space.kernel);
    ORRERY_CHECK(known != nullptr, "every kernel of the space is one that runs");
    reduced_ = known->reduced;
    dims_ = known->dims;
    for (const KernelSpecial& one : space.specials) {
      const std::string name = base::lower(one.name);
      if (name == "vec_dim" || name == "dv") vectors_ = one.letters;
      if (name == "warp_dim" || name == "dw") warps_ = true;
    }
  }

  const std::string& vectors() const { return vectors_; }

  // Seconds of a column in this layout while vectors run along `v`, all memory busy.
  double column(std::size_t c, const std::string& layout, char v) const {
    double gathered = 1;
    std::string dims;  // that it really has
    for (const char letter : layout)
      if (sizes_[letter] > 1) dims += letter;
    if (dims.find(v) != std::string::npos) {
      const double run = static_cast<double>(sizes_[v]) * machine_.bytes_per_word;
      gathered = dims.back() == v ? std::max(1.0, kSectorBytes / run) : kSectorBytes / machine_.bytes_per_word;
    }
    // What lacks v is read once for all of a vector, and stays in caches.
    return static_cast<double>(sizes_.words(space_.columns[c].dims)) * machine_.bytes_per_word * gathered /
           machine_.bytes_per_s;
  }

  // The share of the time that the memory is busy.
  double busy(char v) const {
    double rows = 1, row = 1;
    for (const char letter : dims_)
      (reduced_.find(letter) == std::string::npos ? rows : row) *= static_cast<double>(sizes_[letter]);
    const bool within = reduced_.empty() || reduced_.find(v) != std::string::npos;
    if (reduced_.empty()) return 1;
    const double lanes = within ? 1 : std::min(kVectorBytes / machine_.bytes_per_word, static_cast<double>(sizes_[v]));
    const double threads = within || warps_ ? kWarp : 1;
    const double wanted = std::min(rows * row * machine_.bytes_per_word, machine_.bytes_per_s * kLatencySeconds);
    return std::min(1.0, rows / lanes * threads * kVectorBytes / wanted);
  }

  double seconds(double moved, char v) const { return std::max(flop_seconds_, moved / busy(v)); }

 private:
  const KernelSpace& space_;
  const Sizes& sizes_;
  const Machine& machine_;
  double flop_seconds_;
  std::string reduced_, dims_, vectors_;
  bool warps_ = false;
};

Measured kernel(const Operator& op, const KernelSpace& space, const Sizes& sizes, const Machine& machine, double flop) {
  Measured out;
  out.benchmark = space.kernel;
  const ModelledKernel model(space, sizes, machine, flop);
  const std::string& vectors = model.vectors();
  // Dimensions of threads and warps change no modelled time: the vector's where it may be that, else the first.
  std::vector<std::vector<std::uint16_t>> chosen(vectors.size());
  for (const Special& special : op.specials) {
    const auto known = std::find_if(space.specials.begin(), space.specials.end(), [&](const KernelSpecial& one) {
      return base::lower(one.name) == base::lower(special.column);
    });
    ORRERY_CHECK(known != space.specials.end(), "a kernel's dimensions are those of its space");
    Named& named = out.specials.emplace_back(Named{base::lower(special.name), {}});
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      const bool may = known->letters.find(vectors[v]) != std::string::npos;
      chosen[v].push_back(named.number(std::string(1, may ? vectors[v] : known->letters[0])));
    }
  }
  // Layouts of each free column, and what they cost for each v with the columns that are tied to it.
  struct Wheel {
    std::vector<std::vector<double>> costs;  // of each layout and v
  };
  std::vector<std::size_t> wheel_of(space.columns.size());
  std::vector<Wheel> wheels;
  for (std::size_t c = 0; c < space.columns.size(); ++c) {
    const KernelColumn& column = space.columns[c];
    Named& named = out.columns.emplace_back(Named{base::lower(column.name), {}});
    const std::vector<std::string> layouts = layouts_of(column.dims);
    for (const std::string& layout : layouts) named.number(layout);
    if (column.same_as >= 0) {
      wheel_of[c] = wheel_of[static_cast<std::size_t>(column.same_as)];
    } else {
      wheel_of[c] = wheels.size();
      wheels.push_back({std::vector(layouts.size(), std::vector<double>(vectors.size()))});
    }
    for (std::size_t l = 0; l < layouts.size(); ++l)
      for (std::size_t v = 0; v < vectors.size(); ++v)
        wheels[wheel_of[c]].costs[l][v] += model.column(c, layouts[l], vectors[v]);
  }
  // All of them, the last column's layout changing fastest; sums of the wheels before are kept.
  std::vector<std::size_t> at(wheels.size());
  std::vector<std::vector<double>> sums(wheels.size() + 1, std::vector<double>(vectors.size()));
  const auto add_from = [&](std::size_t first) {
    for (std::size_t w = first; w < wheels.size(); ++w)
      for (std::size_t v = 0; v < vectors.size(); ++v) sums[w + 1][v] = sums[w][v] + wheels[w].costs[at[w]][v];
  };
  add_from(0);
  for (;;) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < vectors.size(); ++v)
      if (const double seconds = model.seconds(sums.back()[v], vectors[v]); seconds < least) least = seconds, best = v;
    for (const std::size_t w : wheel_of) out.layouts.push_back(static_cast<std::uint16_t>(at[w]));
    out.chosen.insert(out.chosen.end(), chosen[best].begin(), chosen[best].end());
    out.times.push_back(femtoseconds(least));
    std::size_t turn = wheels.size();
    while (turn > 0 && ++at[turn - 1] == wheels[turn - 1].costs.size()) at[--turn] = 0;
    if (turn == 0) return out;
    add_from(turn - 1);
  }
}

// Operations of each operator, as the operator profile counts them.
double flop_of(const OperatorProfile& counted, const std::string& name) {
  for (const ProfileRow& row : counted.operators)
    if (row.name == name) return static_cast<double>(row.flop);
  return 0;
}

}  // namespace

Measurements modelled(const Graph& graph, const machine::Accelerator& accelerator, machine::Precision precision) {
  Measurements out;
  out.sizes = graph.sizes;
  const Machine machine(accelerator, precision);
  LayerOptions options;
  layer::Shape& shape = options.shape;
  shape.batch = graph.sizes['b'], shape.length = graph.sizes['j'], shape.heads = graph.sizes['h'];
  shape.width = graph.sizes['i'], shape.hidden = graph.sizes['u'];
  shape.activation = kernels::Activation::kRelu;
  const OperatorProfile counted = operator_profile(options);
  for (const Operator& op : graph.operators) {
    if (op.kind != Kind::kContraction && op.kind != Kind::kKernel) continue;
    if (out.tables.contains(op.benchmark())) continue;
    if (op.kind == Kind::kContraction) {
      out.tables.emplace(op.benchmark(), contraction(op, graph.sizes, machine));
    } else {
      const KernelSpace* const space = kernel_space(op.benchmark());
      ORRERY_CHECK(space != nullptr, "every kernel of the graph has a space");
      out.tables.emplace(op.benchmark(), kernel(op, *space, graph.sizes, machine, flop_of(counted, op.name)));
    }
  }
  return out;
}

}  // namespace orrery::tuning
