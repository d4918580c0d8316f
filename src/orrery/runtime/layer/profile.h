// What a layer did: its operators in the order in which they ran, with times, operations and bytes.
#pragma once

#include <string_view>
#include <vector>

namespace orrery::layer {

struct Operator {
  std::string_view name;  // "qkv", "attention", "out", "d_out weights", ...; a literal
  bool backward = false;
  double start = 0, seconds = 0;  // since the profile was made or cleared; 0 in a plan
  double operations = 0;          // of products: two a multiplication with its addition
  double bytes = 0;               // each operand read once, each result written once
};

// Collects what runs while it is attached to a layer (Encoder::attach). One layer at a time adds to it.
class Profile {
 public:
  Profile();  // with room for several passes
  void clear();
  const std::vector<Operator>& operators() const { return operators_; }

  // For the layer: the time now, and an operator that ran since `start`.
  double now() const;
  void add(Operator op);

 private:
  std::vector<Operator> operators_;
  double begin_ = 0;
};

}  // namespace orrery::layer
