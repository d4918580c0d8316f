// Small random problems of fused mapping.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/fused/search/optimize.h"

namespace orrery::fused {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_.next() % static_cast<std::uint64_t>(n)); }
  bool chance(int in) { return below(in) == 0; }
  template <typename T>
  T of(const std::vector<T>& all) {
    return all[below(static_cast<int>(all.size()))];
  }

 private:
  base::SplitMix random_;
};

class RandomProblem {
 public:
  explicit RandomProblem(std::uint64_t seed) : draw_(seed) {}

  Problem make() {
    do {
      p_ = {};
      machine();
      graph();
    } while (!small());
    for (Einsum& e : p_.einsums) demands(e);
    return std::move(p_);
  }

 private:
  void machine() {
    Machine& m = p_.machine;
    const auto storage = [&](const char* name, int position, double capacity) {
      Storage s;
      s.name = name;
      s.position = position;
      s.capacity = capacity;
      s.read_energy = draw_.below(8) + (position == 0 ? 8 : 0);
      s.write_energy = draw_.below(8);
      s.read_rate = draw_.of<double>({1, 4, kUnlimited});
      s.write_rate = draw_.of<double>({1, 4, kUnlimited});
      s.ports = draw_.chance(2) ? Ports::kShared : Ports::kSeparate;
      s.leakage = draw_.chance(4) ? 1 : 0;
      m.storages.push_back(s);
    };
    storage("outer", 0, kUnlimited);
    storage("level", 1, 2 + draw_.below(14));
    m.storages.back().exchange = true;
    const int kind = draw_.below(6);
    if (kind >= 3) m.fanouts.push_back({"lanes", 2, draw_.of<Count>({2, 3, 4})});
    if (kind == 2 || kind >= 4) storage("inner", 3, 1 + draw_.below(5));
    if (kind == 5) storage("register", 5, 1 + draw_.below(3));
    if (kind == 5 && draw_.chance(2)) m.fanouts.push_back({"columns", 4, 2});
    m.units.push_back({"unit", 6, draw_.below(3) * 1.0, draw_.of<double>({0.5, 1, 2}), 0});
    inner_ = static_cast<int>(m.storages.size()) - 2;
  }

  int variable(const std::string& name) {
    p_.variables.push_back(
        {name, draw_.of<Count>(inner_ > 0 ? std::vector<Count>{1, 2, 2, 3, 6} : std::vector<Count>{1, 2, 3, 4, 6})});
    return static_cast<int>(p_.variables.size()) - 1;
  }
  int tensor(const std::string& name, TensorKind kind, std::size_t ranks) {
    p_.tensors.push_back({name, kind, {}, 1});
    for (std::size_t r = 0; r < ranks; ++r) p_.tensors.back().ranks.push_back(fmt_rank(r));
    return static_cast<int>(p_.tensors.size()) - 1;
  }
  static std::string fmt_rank(std::size_t r) { return std::string("r") + static_cast<char>('0' + r); }

  void einsum(std::vector<Access> accesses, bool copy = false) {
    Einsum e;
    e.name = "e";
    e.name += static_cast<char>('0' + p_.einsums.size());
    for (const Access& access : accesses)
      for (const int v : access.variables)
        if (std::find(e.variables.begin(), e.variables.end(), v) == e.variables.end()) e.variables.push_back(v);
    e.accesses = std::move(accesses);
    e.copy = copy;
    e.times = draw_.chance(5) ? 2 : 1;
    p_.einsums.push_back(std::move(e));
  }

  // T' = T * W, with a name of its own for the rows now and then.
  int multiply(int from, int& rows, int& columns, TensorKind kind) {
    const int next = variable("n" + std::to_string(p_.variables.size()));
    const int w = tensor("W" + std::to_string(p_.tensors.size()), TensorKind::kWeight, 2);
    const int to = tensor("T" + std::to_string(p_.tensors.size()), kind, 2);
    int mine = rows;
    if (draw_.chance(5)) {
      p_.variables.push_back({"m" + std::to_string(p_.variables.size()), p_.variables[rows].bound});
      mine = static_cast<int>(p_.variables.size()) - 1;
    }
    einsum({{from, {mine, columns}}, {w, {columns, next}}, {to, {mine, next}}});
    rows = mine;
    columns = next;
    return to;
  }

  void graph() {
    int rows = variable("m");
    int columns = variable("k");
    int from = tensor("T0", TensorKind::kInput, 2);
    const int shape = draw_.below(5);
    if (shape == 3) {  // the input is copied, and read twice
      const int copied = tensor("C", TensorKind::kIntermediate, 2);
      einsum({{from, {rows, columns}}, {copied, {rows, columns}}}, true);
      from = copied;
    }
    const int first = multiply(from, rows, columns, shape == 3 ? TensorKind::kOutput : TensorKind::kIntermediate);
    const int first_rows = rows;
    const int first_columns = columns;
    if (shape <= 1) {
      const int second = multiply(first, rows, columns, shape == 0 ? TensorKind::kOutput : TensorKind::kIntermediate);
      if (shape == 1) multiply(second, rows, columns, TensorKind::kOutput);
      return;
    }
    if (shape == 2) {  // elementwise, then a residual
      const int second = tensor("S", TensorKind::kIntermediate, 2);
      einsum({{first, {rows, columns}}, {second, {rows, columns}}});
      const int sum = tensor("R", TensorKind::kOutput, 2);
      einsum({{first, {rows, columns}}, {second, {rows, columns}}, {sum, {rows, columns}}});
      return;
    }
    if (shape == 3) {
      int r = first_rows;
      int c = 1;
      multiply(from, r, c, TensorKind::kOutput);
      return;
    }
    const int a = multiply(first, rows, columns, TensorKind::kIntermediate);  // T1 is read twice, by the last one, too
    const int sum = tensor("R", TensorKind::kOutput, 3);
    einsum({{a, {rows, columns}}, {first, {rows, first_columns}}, {sum, {rows, columns, first_columns}}});
  }

  // Few enough lines to try them all.
  bool small() const {
    for (const Einsum& e : p_.einsums) {
      Count points = 1;
      for (const int v : e.variables) points *= p_.variables[v].bound;
      if (points > (inner_ == 0 ? 24 : inner_ == 1 ? 12 : 8)) return false;
    }
    return true;
  }

  void demands(Einsum& e) {
    const std::size_t accesses = e.accesses.size();
    e.keep.assign(p_.machine.storages.size(), std::vector<Keep>(accesses, Keep::kMay));
    e.fanouts.resize(p_.machine.fanouts.size());
    if (e.copy) return;
    for (std::size_t s = 1; s < e.keep.size(); ++s)
      for (std::size_t a = 0; a < accesses; ++a) {
        // Fewer free choices where there are more storages, so that all can be tried.
        const int kind = draw_.below(s == 1 ? 4 : 3);
        e.keep[s][a] = kind == 0 ? Keep::kMust : kind == 1 || (s > 1 && draw_.chance(2)) ? Keep::kNever : Keep::kMay;
        const bool handed = p_.tensors[e.accesses[a].tensor].kind == TensorKind::kIntermediate;
        if (s == 1 && handed && e.keep[s][a] == Keep::kNever) e.keep[s][a] = Keep::kMay;
      }
    for (FanoutRule& rule : e.fanouts) {
      for (std::size_t i = 0; i < e.variables.size(); ++i) rule.allowed.push_back(!draw_.chance(3));
      for (std::size_t a = 0; a < accesses; ++a) rule.shares.push_back(draw_.chance(2));
      rule.min_usage = draw_.of<double>({0, 0, 0.5, 1});
    }
  }

  Problem p_;
  Draw draw_;
  int inner_ = 0;
};

}  // namespace orrery::fused
