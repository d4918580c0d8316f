// A whole model: forward, loss, gradients of every weight.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "orrery/runtime/network/embedding.h"
#include "orrery/runtime/network/head.h"
#include "orrery/runtime/network/layer_stack.h"

namespace orrery::network {

struct Batch {
  Tokens tokens;
  Tokens targets;  // what a decoder reads
};

inline constexpr std::int32_t kNoLabel = -100;

// What a batch should give; which of these, the head says.
struct Labels {
  std::vector<std::int32_t> words;    // [sequences][length] of the last stack: the word at (masked) or behind (next)
                                      // each token, kNoLabel: none
  std::vector<std::int32_t> classes;  // of each sequence
  std::vector<float> values;          // of each sequence, for regression
  std::vector<std::int32_t> begins, ends;  // of each sequence's span; beyond its tokens: none
};

// Everything that is wrong with a batch (O1641) and its labels (O1642) for such a model.
base::Diagnostics checked(const Batch& batch, const Description& description);
base::Diagnostics checked(const Labels& labels, const Batch& batch, const Description& description);

// What was said after a text, and how likely each word was (natural logarithms).
struct Continuation {
  std::vector<std::int32_t> words;
  std::vector<float> log_probabilities;
};

class Network {
 public:
  struct Size {
    Index sequences = 1, length = 1, target_length = 1;  // at most
  };

  // `parameters` must outlive the network. Throws base::InputError with what checked() finds; std::bad_alloc.
  Network(kernels::Context& context, const Description& description, const Parameters& parameters, const Size& size,
          bool training);

  // Takes the parameters again, after they were changed.
  void update();

  // The last stack's output, [sequences][length][width], until the next call. Rows of padding have no meaning.
  const float* hidden(const Batch& batch);

  // [rows][outputs]: a row for each sequence, or for each token, padding included, as the head picks.
  std::vector<float> logits(const Batch& batch);

  // The mean over labels. `logits`: of the rows that it is the mean of, [rows][outputs]; of spans of all tokens that
  // are no padding.
  double loss(const Batch& batch, const Labels& labels, std::vector<float>* logits = nullptr);

  // The same with dropout, and the gradients of `scale` times it (overwritten).
  double learn(const Batch& batch, const Labels& labels, std::uint64_t seed, double scale, Parameters& gradients);

  // Greedy: the most likely next words of each sequence until `end`, or `most`. A decoder begins with `begin`; a model
  // without one goes on behind the tokens, which must be of one length. Without padding behind `end`.
  std::vector<Continuation> generate(const Tokens& tokens, const std::vector<std::int32_t>& begin, std::int32_t end,
                                     Index most);

  const Description& description() const { return description_; }
  Stack& encoder() { return *encoder_; }
  Stack& decoder() { return *decoder_; }

 private:
  const float* run(const Batch& batch, bool learning, std::uint64_t seed);
  std::vector<Index> picked(const Batch& batch, const Labels* labels) const;
  void gather(const float* hidden, const std::vector<Index>& rows);
  Head::Loss loss_of(const Labels& labels, const Batch& batch, const std::vector<Index>& rows, double scale,
                     double& count);

  kernels::Context& context_;
  Description description_;
  const Parameters& parameters_;
  Size size_;
  std::optional<Embedding> embedding_, later_;
  std::optional<Stack> encoder_, decoder_;
  Head head_;
  std::vector<float> picked_, gradient_, spread_;
  std::vector<std::int32_t> words_;  // labels of the picked rows
};

}  // namespace orrery::network
