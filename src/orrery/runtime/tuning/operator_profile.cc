#include "orrery/runtime/tuning/operator_profile.h"

#include <algorithm>

#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::tuning {
namespace {

using base::checked_add;
using base::checked_multiply;
using base::Count;

// Scores of a sequence that no mask hides: of each query those of itself and of keys before it, in a window of so many.
Count visible_scores(const layer::Shape& shape) {
  const Count length = shape.length;
  const Count reach = shape.window > 0 ? std::min<Count>(shape.window, length) : length;
  if (!shape.causal) return checked_multiply(length, length);
  // The first `reach` queries see 1, 2, ... keys, the others `reach`.
  const Count growing =
      reach % 2 == 0 ? checked_multiply(reach / 2, reach + 1) : checked_multiply((reach + 1) / 2, reach);
  return checked_add(growing, checked_multiply(length - reach, reach));
}

class Bookkeeper {
 public:
  explicit Bookkeeper(const LayerOptions& options)
      : options_(options), layer_(layer_operators(options)), visible_(visible_scores(options.shape)) {
    out_.sizes = layer_.sizes;
    out_.training = options.training;
  }

  OperatorProfile keep() {
    for (const Kernel& kernel : fused_kernels(layer_)) enter(kernel);
    for (const LayerOperator& op : layer_.operators) enter(op);
    for (const MinimalOperator& op : minimal_operators(options_)) enter(op);
    enter_compulsory();
    add_up();
    return std::move(out_);
  }

 private:
  ProfileTotals& pass(bool backward) { return backward ? out_.backward : out_.forward; }

  Count seen(const std::string& space, Count flop) const {
    const bool scores = space.find('j') != space.npos && space.find('k') != space.npos;
    if (!scores) return flop;
    const Count all = checked_multiply(options_.shape.length, options_.shape.length);
    return checked_multiply(flop / all, visible_);  // a multiple: the space holds j and k
  }

  void enter(const Kernel& kernel) {
    ProfileRow row{.name = kernel.name, .what = kernel.what, .backward = kernel.backward, .einsum = kernel.einsum};
    row.space = kernel.space;
    row.reduced = kernel.reduced;
    row.operators = kernel.operators;
    if (!row.einsum.empty()) {
      const ContractionGroups groups = groups_of(row.einsum);
      row.m = out_.sizes.words(groups.first);
      row.n = out_.sizes.words(groups.second);
      row.k = out_.sizes.words(groups.sum);
      row.batch = out_.sizes.words(groups.batch);
    }
    row.flop = kernel.flop;
    row.flop_seen = seen(row.space, row.flop);
    row.words_read = layer_.words(kernel.reads);
    row.words_written = layer_.words(kernel.writes);
    row.words_unread = layer_.words(kernel.unread);
    const Count moved = checked_add(row.words_read, row.words_written);
    ProfileTotals& of = pass(row.backward);
    of.flop = checked_add(of.flop, row.flop);
    of.flop_seen = checked_add(of.flop_seen, row.flop_seen);
    of.words_fused = checked_add(of.words_fused, moved);
    if (row.what == Class::kContraction) {
      of.flop_contractions = checked_add(of.flop_contractions, row.flop);
      of.words_contractions = checked_add(of.words_contractions, moved);
    }
    out_.operators.push_back(std::move(row));
  }

  void enter(const LayerOperator& op) {
    if (op.what == Class::kFree) return;
    const Count read = layer_.words(op.reads), written = layer_.words(op.writes);
    ProfileTotals& of = pass(op.backward);
    of.words_unfused = checked_add(of.words_unfused, checked_add(read, written));
    if (op.what == Class::kContraction) return;
    ProfileRow row{.name = op.name, .what = op.what, .backward = op.backward};
    row.space = op.space;
    row.operators = {op.name};
    row.flop = checked_multiply(op.flop, out_.sizes.words(op.space));
    row.flop_seen = seen(row.space, row.flop);
    row.words_read = read;
    row.words_written = written;
    out_.elementary.push_back(std::move(row));
  }

  void enter(const MinimalOperator& op) {
    const MovedRow row{op.name, op.backward, words(op.reads, out_.sizes), words(op.writes, out_.sizes)};
    ProfileTotals& of = pass(op.backward);
    of.words_minimal = checked_add(of.words_minimal, checked_add(row.words_read, row.words_written));
    out_.minimal.push_back(row);
  }

  bool made_backward(const std::string& tensor) const {
    for (const LayerOperator& op : layer_.operators)
      if (std::find(op.writes.begin(), op.writes.end(), tensor) != op.writes.end()) return op.backward;
    return false;
  }
  bool read_forward(const std::string& tensor) const {
    for (const LayerOperator& op : layer_.operators)
      if (!op.backward && std::find(op.reads.begin(), op.reads.end(), tensor) != op.reads.end()) return true;
    return false;
  }

  void enter_compulsory() {
    for (const Variable& one : layer_.tensors) {
      const Count moved = out_.sizes.words(one.dims);
      const auto count = [&](bool backward) {
        Count& words = pass(backward).words_compulsory;
        words = checked_add(words, moved);
      };
      if (one.role == Role::kWeight) out_.weights = checked_add(out_.weights, moved);
      const bool given = one.role == Role::kWeight || one.role == Role::kInput;
      if (given && read_forward(one.name)) count(false);
      if (given && out_.training) count(true);
      if (one.role == Role::kGradient) count(true);
      if (one.role == Role::kOutput) count(made_backward(one.name));
    }
  }

  void add_up() {
    constexpr Count ProfileTotals::*kAll[] = {&ProfileTotals::flop,          &ProfileTotals::flop_contractions,
                                              &ProfileTotals::flop_seen,     &ProfileTotals::words_contractions,
                                              &ProfileTotals::words_unfused, &ProfileTotals::words_fused,
                                              &ProfileTotals::words_minimal, &ProfileTotals::words_compulsory};
    for (const auto part : kAll) out_.total.*part = checked_add(out_.forward.*part, out_.backward.*part);
  }

  const LayerOptions& options_;
  LayerOperators layer_;
  Count visible_;
  OperatorProfile out_;
};

}  // namespace

OperatorProfile operator_profile(const LayerOptions& options) {
  return Bookkeeper(options).keep();
}

Efficiency efficiency(const ProfileRow& row, double seconds, const Rates& peaks) {
  if (!(seconds > 0)) return {};
  const auto moved = static_cast<double>(row.words()), wanted = static_cast<double>(row.words() - row.words_unread);
  Efficiency out;
  if (moved > 0 && peaks.bytes_per_s > 0)
    out.mue = 100 * (wanted / moved) * (moved * peaks.bytes_per_word / seconds / peaks.bytes_per_s);
  if (peaks.flop_per_s > 0) out.peak_share = 100 * static_cast<double>(row.flop) / seconds / peaks.flop_per_s;
  return out;
}

}  // namespace orrery::tuning
