// A unit with `clk` and `rst`.
#pragma once

#include <initializer_list>
#include <set>

#include "tests/rtl/bench.h"

namespace orrery::rtl {

// What a bench adds: inputs, the model's reset and step, and what to compare.
class ClockedUnit : public DutUnit {
 public:
  using DutUnit::DutUnit;

  void reset() override {
    dut().rst = 1;
    tick();
    dut().rst = 0;
    reset_model();
    state_ = machine_state();
  }

  // Inputs, then what is combinational, then the edge, then what is registered.
  std::string step(const Cycle& cycle) override {
    const bool resets = apply(cycle);
    dut().rst = resets ? 1 : 0;
    dut().clk = 0;
    dut().eval();
    std::string what = resets ? std::string() : before_edge(cycle);
    dut().clk = 1;
    dut().eval();
    if (resets)
      reset_model();
    else
      step_model(cycle);
    const int now = machine_state();
    if (!resets) transitions_.insert({state_, now});
    state_ = now;
    return what.empty() ? after_edge(cycle) : what;
  }

  // Of the module's state machine, if it has one; resets apart.
  const std::set<std::pair<int, int>>& transitions() const { return transitions_; }

 protected:
  void tick() {
    dut().clk = 0;
    dut().eval();
    dut().clk = 1;
    dut().eval();
  }
  virtual bool apply(const Cycle& cycle) = 0;  // drives the inputs; whether this cycle resets
  virtual void reset_model() = 0;
  virtual void step_model(const Cycle& cycle) = 0;
  virtual std::string before_edge(const Cycle&) { return {}; }
  virtual std::string after_edge(const Cycle& cycle) = 0;
  virtual int machine_state() { return 0; }

 private:
  int state_ = 0;
  std::set<std::pair<int, int>> transitions_;
};

// Every change of state that the module must be able to make was made, and no other.
inline void expect_transitions(const ClockedUnit& unit, std::initializer_list<std::pair<int, int>> expected) {
  const std::set<std::pair<int, int>> all(expected);
  for (const auto& [from, to] : all)
    EXPECT_TRUE(unit.transitions().contains({from, to})) << "state " << from << " was never followed by " << to;
  for (const auto& [from, to] : unit.transitions())
    EXPECT_TRUE(from == to || all.contains({from, to})) << "state " << from << " was followed by " << to;
}

}  // namespace orrery::rtl
