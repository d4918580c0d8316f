#include "orrery/describe/energy/register_file.h"

#include <gtest/gtest.h>

namespace orrery::energy {
namespace {

// Figures of one bit, and of a comparator of 32 bits, that scale with their width.
std::shared_ptr<const Library> figures() {
  const auto row = [](const char* name, std::vector<std::string> actions, double width, double energy, double area) {
    LibraryRow one;
    one.classes = {name};
    one.actions = std::move(actions);
    one.attributes = {{{"width"}, {std::to_string(static_cast<int>(width))}, true}};
    one.energy_pj = energy;
    one.area_um2 = area;
    return one;
  };
  return std::make_shared<const Library>(
      std::vector<LibraryRow>{row("register", {"read", "write", "update"}, 1, 0.009, 6),
                              row("register", {"leak"}, 1, 7e-5, 6), row("comparator", {"compare"}, 32, 0.032, 64),
                              row("comparator", {"leak"}, 32, 3.2e-5, 64)},
      NodeScaling(), LibraryOptions{});
}

double value(std::string_view action, base::Count depth, base::Count width) {
  const RegisterFile files(figures(), figures());
  const Attributes attributes{{"depth", depth}, {"width", width}}, none;
  const Answer answer = files.estimate({"regfile", attributes, action, none});
  EXPECT_TRUE(std::holds_alternative<Figure>(answer)) << std::get<Refusal>(answer).reason;
  return std::get<Figure>(answer).value;
}

TEST(RegisterFile, AnAccessPaysOneWordAndEveryComparator) {
  EXPECT_DOUBLE_EQ(value("read", 64, 8), 8 * 0.009 + 64 * 6 * 0.001);
  EXPECT_DOUBLE_EQ(value("write", 64, 8), value("update", 64, 8));
  EXPECT_DOUBLE_EQ(value("read", 1, 8), 8 * 0.009 + 0.001);
}

TEST(RegisterFile, LeakageAndAreaAreThoseOfAllWords) {
  EXPECT_NEAR(value("leak", 64, 8), 64 * 8 * 7e-5 + 64 * 6 * 1e-6, 1e-12);
  EXPECT_NEAR(value("", 64, 8), 64 * 8 * 6 + 64 * 6 * 2, 1e-9);
  EXPECT_GT(value("leak", 128, 8), 2 * value("leak", 64, 8));
}

Attributes deltas(base::Count data, base::Count address) {
  return {{"data_delta", data}, {"address_delta", address}};
}

TEST(RegisterFile, WhatStaysCostsNothing) {
  const RegisterFile files(figures(), figures());
  const Attributes attributes{{"depth", base::Count{64}}, {"width", base::Count{8}}};
  const auto read = [&](const Attributes& arguments) {
    return std::get<Figure>(files.estimate({"regfile", attributes, "read", arguments})).value;
  };
  EXPECT_DOUBLE_EQ(read(deltas(1, 1)), value("read", 64, 8));
  EXPECT_DOUBLE_EQ(read(deltas(1, 0)) + read(deltas(0, 1)), read(deltas(1, 1)));
  EXPECT_EQ(read(deltas(0, 0)), 0);
}

TEST(RegisterFile, AFifoComparesItsPointersOnce) {
  const RegisterFile files(figures(), figures());
  const Attributes attributes{{"depth", base::Count{64}}, {"width", base::Count{8}}}, none;
  const auto of = [&](std::string_view action) {
    return std::get<Figure>(files.estimate({"FIFO", attributes, action, none})).value;
  };
  EXPECT_DOUBLE_EQ(of("push"), 8 * 0.009 + 6 * 0.001);
  EXPECT_DOUBLE_EQ(of("pop"), of("push"));
  EXPECT_NEAR(of(""), 64 * 8 * 6 + 6 * 2, 1e-9);
  EXPECT_TRUE(std::holds_alternative<Refusal>(files.estimate({"regfile", attributes, "push", none})));
}

TEST(RegisterFile, ASmallStorageIsOneAndALargeOneIsNot) {
  const RegisterFile files(figures(), figures());
  const Attributes small{{"depth", base::Count{128}}, {"width", base::Count{32}}}, none;
  const Attributes large{{"depth", base::Count{129}}, {"width", base::Count{32}}};
  EXPECT_TRUE(files.accuracy({"storage", small, "read", none}).has_value());
  EXPECT_FALSE(files.accuracy({"storage", large, "read", none}).has_value());
  EXPECT_FALSE(files.accuracy({"storage", none, "read", none}).has_value());
}

TEST(RegisterFile, WithoutSizesThereIsNoFigure) {
  const RegisterFile files(figures(), figures());
  const Attributes empty, none, odd{{"depth", 0.5}, {"width", base::Count{8}}};
  EXPECT_TRUE(std::holds_alternative<Refusal>(files.estimate({"regfile", empty, "read", none})));
  EXPECT_TRUE(std::holds_alternative<Refusal>(files.estimate({"regfile", odd, "read", none})));
  EXPECT_FALSE(files.accuracy({"SRAM", empty, "read", none}).has_value());
}

}  // namespace
}  // namespace orrery::energy
