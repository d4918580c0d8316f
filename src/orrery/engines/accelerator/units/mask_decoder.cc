#include "orrery/engines/accelerator/units/mask_decoder.h"

namespace orrery::accelerator {

MaskDecoder::MaskDecoder(const masks::PackArray& array) : array_(array), port_(array.ports) {}

void MaskDecoder::begin(const std::vector<std::uint32_t>& counts) {
  port_ = 0;
  const auto rows = static_cast<std::size_t>(array_.rows), pes = static_cast<std::size_t>(array_.slots());
  next_.assign(rows, 0);
  idle_.resize(rows);
  for (std::size_t r = 0; r < rows; ++r) idle_[r] = static_cast<std::uint32_t>(array_.pes) - counts[r];
  const std::vector<std::uint16_t> zeros(pes);
  scores_ = values_ = {zeros, zeros, zeros};
}

void MaskDecoder::step(const std::uint8_t* bits) {
  const auto ports = static_cast<std::uint16_t>(array_.ports), port = static_cast<std::uint16_t>(port_);
  for (std::size_t r = 0; r < next_.size(); ++r) {
    const bool there = bits != nullptr && bits[r] != 0;
    if (!there && idle_[r] == 0) continue;
    if (!there) --idle_[r];
    const std::size_t pe = r * static_cast<std::size_t>(array_.pes) + next_[r];
    if (next_[r] > 0) values_.delay[pe - 1] = static_cast<std::uint16_t>(port - values_.b[pe - 1] - 1);
    scores_.b[pe] = values_.b[pe] = port;
    scores_.a[pe] = there ? port : static_cast<std::uint16_t>(ports + 1);
    values_.a[pe] = there ? ports : static_cast<std::uint16_t>(ports + 1);
    values_.delay[pe] = static_cast<std::uint16_t>(ports - port - 1);
    ++next_[r];
  }
  ++port_;
}

}  // namespace orrery::accelerator
