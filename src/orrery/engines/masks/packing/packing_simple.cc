// The ways to pack that Sanger's source and its load-balance log imply.
//
// `pack` follows the Pack unit: one overfull row closes the block for all 64 rows, which is why it uses the array worse
// than the logged number suggests. `compact` drops the empty columns of a tile of queries and cuts the rest every
// `ports` columns; a row needs ceil(n / pes) PE rows for its n entries of a piece. `row_chunks` gathers columns
// freely for each row, which no array with shared ports can. All cost a look at each word of the mask.
#include <algorithm>

#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::masks {
namespace {

// f(matrix, batch, head) for each matrix.
template <class Visit>
void for_each_matrix(const Mask& mask, const Visit& f) {
  for (Count b = 0; b < mask.batch(); ++b)
    for (Count h = 0; h < mask.heads(); ++h) f(b * mask.heads() + h, b, h);
}

// Columns with at least one entry in rows [first, last), ascending.
std::vector<std::int32_t> used_columns(const Mask& mask, Count batch, Count head, Count first, Count last) {
  std::vector<std::int32_t> columns;
  for (Count w = 0; w < mask.words(); ++w) {
    Word any = 0;
    for (Count r = first; r < last; ++r) any |= mask.row(batch, head, r)[w];
    for (; any != 0; any &= any - 1)
      columns.push_back(static_cast<std::int32_t>(w * kWordBits + std::countr_zero(any)));
  }
  return columns;
}

// f(batch, head, matrix, first row, last row, columns in use) for each tile of `tile` rows that has an entry.
template <class Visit>
void for_each_tile(const Mask& mask, Count tile, const Visit& f) {
  for_each_matrix(mask, [&](Count matrix, Count batch, Count head) {
    for (Count first = 0; first < mask.rows(); first += tile) {
      const Count last = std::min(first + tile, mask.rows());
      const std::vector<std::int32_t> columns = used_columns(mask, batch, head, first, last);
      if (!columns.empty()) f(batch, head, matrix, first, last, columns);
    }
  });
}

// A block of a tile, one PE row a query, as it fills.
struct Filling {
  PackedBlock block;
  std::vector<PackedRow> rows;

  Filling(Count matrix, Count first, Count last) : rows(static_cast<std::size_t>(last - first)) {
    block.matrix = matrix;
    for (std::size_t r = 0; r < rows.size(); ++r)
      rows[r].query = static_cast<std::int32_t>(first) + static_cast<std::int32_t>(r);
  }
  void close(std::vector<PackedBlock>& blocks) {
    PackedBlock closed{block.matrix, std::move(block.keys), {}};
    for (PackedRow& row : rows) {
      if (!row.ports.empty()) closed.rows.push_back(row);
      row.ports.clear();
    }
    block.keys.clear();
    blocks.push_back(std::move(closed));
  }
};

}  // namespace

Packing pack_as_sanger(const Mask& mask, const PackArray& array, bool window, const base::Budget& budget) {
  Packing packing{array, {}};
  WorkClock clock(budget);
  for_each_tile(
      mask, array.rows, [&](Count batch, Count head, Count matrix, Count first, Count last, const auto& columns) {
        Filling filling(matrix, first, last);
        for (const std::int32_t column : columns) {
          clock(last - first);
          bool full = window && static_cast<Count>(filling.block.keys.size()) == array.ports;
          for (Count r = first; r < last && !full; ++r)
            full = mask.kept(batch, head, r, column) &&
                   static_cast<Count>(filling.rows[static_cast<std::size_t>(r - first)].ports.size()) == array.pes;
          if (full) filling.close(packing.blocks);
          for (Count r = first; r < last; ++r)
            if (mask.kept(batch, head, r, column))
              filling.rows[static_cast<std::size_t>(r - first)].ports.push_back(
                  static_cast<std::int32_t>(filling.block.keys.size()));
          filling.block.keys.push_back(column);
        }
        filling.close(packing.blocks);
      });
  return packing;
}

Count compacted_sub_rows(const Mask& mask, const PackArray& array, Count tile, const base::Budget& budget) {
  Count sub_rows = 0;
  WorkClock clock(budget);
  std::vector<Word> piece(static_cast<std::size_t>(mask.words()));
  for_each_tile(mask, tile, [&](Count batch, Count head, Count, Count first, Count last, const auto& columns) {
    for (std::size_t from = 0; from < columns.size(); from += static_cast<std::size_t>(array.ports)) {
      const std::size_t to = std::min(from + static_cast<std::size_t>(array.ports), columns.size());
      clock((last - first + 1) * mask.words());
      std::fill(piece.begin(), piece.end(), 0);
      for (std::size_t c = from; c < to; ++c)
        piece[static_cast<std::size_t>(columns[c] / kWordBits)] |= Word{1} << (columns[c] % kWordBits);
      for (Count r = first; r < last; ++r) {
        Count entries = 0;
        for (Count w = 0; w < mask.words(); ++w)
          entries += std::popcount(mask.row(batch, head, r)[w] & piece[static_cast<std::size_t>(w)]);
        sub_rows += base::ceil_divide(entries, array.pes);
      }
    }
  });
  return sub_rows;
}

Packing pack_compacted(const Mask& mask, const PackArray& array, const base::Budget& budget) {
  Packing packing{array, {}};
  WorkClock clock(budget);
  for_each_tile(
      mask, array.rows, [&](Count batch, Count head, Count matrix, Count first, Count last, const auto& columns) {
        for (std::size_t from = 0; from < columns.size(); from += static_cast<std::size_t>(array.ports)) {
          const std::size_t to = std::min(from + static_cast<std::size_t>(array.ports), columns.size());
          PackedBlock block{
              matrix,
              {columns.begin() + static_cast<std::ptrdiff_t>(from), columns.begin() + static_cast<std::ptrdiff_t>(to)},
              {}};
          const auto put = [&](PackedRow& row) {
            if (static_cast<Count>(block.rows.size()) == array.rows) {
              packing.blocks.push_back(block);
              block.rows.clear();
            }
            block.rows.push_back(row);
            row.ports.clear();
          };
          for (Count r = first; r < last; ++r) {
            clock(array.ports);
            PackedRow row{static_cast<std::int32_t>(r), {}};
            for (std::size_t c = from; c < to; ++c)
              if (mask.kept(batch, head, r, columns[c])) {
                row.ports.push_back(static_cast<std::int32_t>(c - from));
                if (static_cast<Count>(row.ports.size()) == array.pes) put(row);
              }
            if (!row.ports.empty()) put(row);
          }
          if (!block.rows.empty()) packing.blocks.push_back(std::move(block));
        }
      });
  return packing;
}

Count row_chunks(const Mask& mask, const PackArray& array, const base::Budget& budget) {
  Count chunks = 0;
  WorkClock clock(budget);
  for_each_matrix(mask, [&](Count, Count batch, Count head) {
    for (Count r = 0; r < mask.rows(); ++r) {
      clock(mask.words());
      chunks += base::ceil_divide(mask.kept_in_row(batch, head, r), array.pes);
    }
  });
  return chunks;
}

std::optional<std::string> packing_fault(const Mask& mask, const Packing& packing) {
  Mask left = mask;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const PackedBlock& block = packing.blocks[b];
    const std::string name = "block " + std::to_string(b);
    if (block.matrix < 0 || block.matrix >= mask.shape().matrices()) return name + " is of no head of the mask";
    const Count batch = block.matrix / mask.heads(), head = block.matrix % mask.heads();
    if (static_cast<Count>(block.keys.size()) > packing.array.ports) return name + " has more keys than ports";
    if (static_cast<Count>(block.rows.size()) > packing.array.rows) return name + " has more sub-rows than PE rows";
    for (const PackedRow& row : block.rows) {
      if (static_cast<Count>(row.ports.size()) > packing.array.pes)
        return name + " has more entries in a PE row than PEs";
      for (std::size_t e = 0; e < row.ports.size(); ++e) {
        const std::int32_t port = row.ports[e];
        if (port < 0 || port >= static_cast<std::int32_t>(block.keys.size()))
          return name + " uses a port without a key";
        if (e > 0 && port <= row.ports[e - 1]) return name + " uses ports out of order";
        const std::int32_t key = block.keys[static_cast<std::size_t>(port)];
        if (!left.kept(batch, head, row.query, key)) return name + " computes what is not kept, or was computed before";
        left.drop(batch, head, row.query, key);
      }
    }
  }
  if (const Count rest = left.kept(); rest > 0) return std::to_string(rest) + " kept entries are in no block";
  return std::nullopt;
}

}  // namespace orrery::masks
