// A unit with `clk` and `rst`.
#pragma once

#include "tests/rtl/dut.h"

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
    return what.empty() ? after_edge(cycle) : what;
  }

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
};

}  // namespace orrery::rtl
