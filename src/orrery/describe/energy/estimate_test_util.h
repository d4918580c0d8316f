// Shorthands of the tests of estimators.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/describe/energy/estimate.h"

namespace orrery::energy {

inline Value word(std::string text) {
  return Value(std::move(text));
}
inline Value whole(base::Count value) {
  return Value(value);
}

// Stands for any knowledge: answers one class with one figure.
class Oracle : public Estimator {
 public:
  Oracle(std::string name, std::string class_name, double accuracy, Answer answer)
      : name_(std::move(name)), class_(std::move(class_name)), accuracy_(accuracy), answer_(std::move(answer)) {}

  std::string_view name() const override { return name_; }
  std::vector<std::string> classes() const override { return {class_}; }
  std::optional<double> accuracy(const Query& query) const override {
    return query.class_name == class_ ? std::optional(accuracy_) : std::nullopt;
  }
  Answer estimate(const Query&) const override {
    ++asked;
    return answer_;
  }

  mutable int asked = 0;

 private:
  std::string name_;
  std::string class_;
  double accuracy_;
  Answer answer_;
};

inline Answer figure(double value, double accuracy = 100, std::string source = "a book") {
  Figure figure;
  figure.value = value;
  figure.accuracy_percent = accuracy;
  figure.estimator = "oracle";
  figure.source = std::move(source);
  return figure;
}

inline Answer refusal(std::string reason) {
  return Refusal{std::move(reason)};
}

// A component that is one primitive of `class_name`.
inline Component primitive(std::string name, std::string class_name, Attributes attributes,
                           std::vector<std::string> actions) {
  Component component;
  component.name = name;
  component.table_name = "System." + name + "[1..1]";
  component.class_name = class_name;
  component.attributes = attributes;
  component.primitives.push_back({std::move(name), std::move(class_name), std::move(attributes), 1, {}});
  for (std::string& action : actions) component.actions.push_back({action, {}, {{0, action, {}, 1}}});
  return component;
}

// The figure of one query; fails the test where it is refused.
inline Figure answer(const Estimator& estimator, const std::string& class_name, const Attributes& attributes,
                     const std::string& action, const Attributes& arguments = {}) {
  const Answer given = estimator.estimate({class_name, attributes, action, arguments});
  if (const auto* refused = std::get_if<Refusal>(&given)) {
    ADD_FAILURE() << class_name << "." << action << ": " << refused->reason;
    return {};
  }
  return std::get<Figure>(given);
}

inline std::string refused(const Estimator& estimator, const std::string& class_name, const Attributes& attributes,
                           const std::string& action, const Attributes& arguments = {}) {
  const Answer given = estimator.estimate({class_name, attributes, action, arguments});
  const auto* refusal = std::get_if<Refusal>(&given);
  return refusal ? refusal->reason : "answered";
}

}  // namespace orrery::energy
