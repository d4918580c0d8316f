// Which rows of a padded tensor are tokens: layers compute on these alone, behind one another.
#pragma once

#include <vector>

#include "orrery/runtime/kernels/context.h"

namespace orrery::layer {

using kernels::Index;

class Tokens {
 public:
  // Takes the memory that `set` needs for such sizes.
  void reserve(Index batch, Index length);
  // `lengths` of the sequences, null: all `length`; positions begin at `offset`.
  void set(Index batch, Index length, const Index* lengths, Index offset = 0);

  // Only the numbers, without padding: for planning.
  void pretend(Index batch, Index length) { batch_ = batch, length_ = length, rows_ = batch * length; }

  Index batch() const { return batch_; }
  Index length() const { return length_; }
  Index rows() const { return rows_; }  // tokens of all sequences
  bool padded() const { return rows_ != batch_ * length_; }
  const Index* lengths() const { return lengths_.data(); }      // of each sequence
  const Index* starts() const { return starts_.data(); }        // the row of its first token
  const Index* positions() const { return positions_.data(); }  // of each row, in its sequence

  // Rows of `bytes` from a padded tensor into one without padding, and back, with zeros in the padding.
  void gather(kernels::Context& context, const void* padded, void* rows, std::size_t bytes) const;
  void scatter(kernels::Context& context, const void* rows, void* padded, std::size_t bytes) const;

 private:
  Index batch_ = 0, length_ = 0, rows_ = 0;
  std::vector<Index> lengths_, starts_, positions_;
};

}  // namespace orrery::layer
