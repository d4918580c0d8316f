#include "orrery/runtime/layer/run_requirements.h"

#include <fmt/format.h>

#include "orrery/runtime/layer/state.h"

namespace orrery::layer {
namespace {

// Of one packed form of all matrices: at most a float an element.
std::size_t matrix_elements(const Shape& s) {
  const Index queries = s.query_width();
  Index elements = s.width * s.qkv_width() + queries * s.width + (s.gated ? 3 : 2) * s.width * s.hidden;
  if (s.cross) elements += 2 * queries * s.width + 2 * s.key_width() * s.memory();
  return static_cast<std::size_t>(elements);
}

std::string megabytes(std::size_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
}

}  // namespace

Plan plan(const Shape& shape, bool training, std::size_t memory) {
  checked(shape).throw_if_errors();
  Plan p;
  const LayerState state(shape, training, &p.operators);
  p.weights = matrix_elements(shape) * 4 * (training ? 2 : 1);
  p.saved = state.arena.kept_bytes();
  p.passing = state.arena.passing_bytes();
  if (memory == 0 || p.bytes() <= memory) return p;
  base::Diagnostics found;
  found.error("O1507", fmt::format("the layer takes {}, and there are {}", megabytes(p.bytes()), megabytes(memory)))
      .note(fmt::format("{} of packed weights + {} kept for the backward pass + {} within a pass = {}",
                        megabytes(p.weights), megabytes(p.saved), megabytes(p.passing), megabytes(p.bytes())))
      .note(fmt::format("for {} tokens ({} sequences of {}) of width {}, hidden {}", shape.batch * shape.length,
                        shape.batch, shape.length, shape.width, shape.hidden))
      .hint(training ? "fewer sequences at once, or bf16, take less" : "fewer sequences at once take less");
  found.throw_if_errors();
  return p;
}

}  // namespace orrery::layer
