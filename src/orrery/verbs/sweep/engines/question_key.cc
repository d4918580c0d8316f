#include "orrery/verbs/sweep/engines/question_key.h"

#include <cstring>
#include <optional>
#include <type_traits>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/nest/sparse/sparse_design.h"

namespace orrery::sweep {
namespace {

// Bytes of values, each with its length where that varies.
class Bytes {
 public:
  template <typename V>
  void add(const V& value) {
    if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) {
      text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_convertible_v<V, std::string_view>) {
      add(value.size());
      text_ += value;
    } else if constexpr (requires { value.has_value(); }) {
      add(value.has_value());
      if (value) add(*value);
    } else if constexpr (requires { value.first; }) {
      add(value.first), add(value.second);
    } else {
      add(value.size());
      for (const auto& each : value) add(each);
    }
  }
  template <typename... Values>
  void all(const Values&... values) {
    (add(values), ...);
  }
  std::string key() const { return key_of_text(text_); }

 private:
  std::string text_;
};

// The structured bindings name every member: one more, and this file does not compile until it says whether answers
// depend on it.
void add(const machine::Storage& storage, Bytes& out) {
  const auto& [name, class_name, is_dram, pass_through, word_bits, block_size, cluster_size, capacity_words,
               multiple_buffering, min_utilization, read_words_per_cycle, write_words_per_cycle, shared_words_per_cycle,
               instances, mesh_x, mesh_y, network_fill_latency_cycles, network_drain_latency_cycles, network_read,
               network_update, network_fill, network_drain, energy, energy_from_user, area_um2, where, capacity_where,
               read_bandwidth_where, write_bandwidth_where, shared_bandwidth_where] = storage;
  out.all(name, class_name, is_dram, pass_through, word_bits, block_size, cluster_size, capacity_words,
          multiple_buffering, min_utilization, read_words_per_cycle, write_words_per_cycle, shared_words_per_cycle,
          instances, mesh_x, mesh_y, network_fill_latency_cycles, network_drain_latency_cycles, network_read,
          network_update, network_fill, network_drain, energy_from_user, area_um2);
  const auto& [read_pj, write_pj, update_pj, leak_pj_per_cycle] = energy;
  out.all(read_pj, write_pj, update_pj, leak_pj_per_cycle);
  static_cast<void>(where), static_cast<void>(capacity_where), static_cast<void>(read_bandwidth_where);
  static_cast<void>(write_bandwidth_where), static_cast<void>(shared_bandwidth_where);
}

void add(const machine::Compute& compute, Bytes& out) {
  const auto& [name, class_name, word_bits, instances, mesh_x, mesh_y, compute_pj, leak_pj_per_cycle, area_um2, where] =
      compute;
  out.all(name, class_name, word_bits, instances, mesh_x, mesh_y, compute_pj, leak_pj_per_cycle, area_um2);
  static_cast<void>(where);
}

void add(const machine::Network& network, Bytes& out) {
  const auto& [name, class_name, word_bits, action_name, per_dataspace, fill_latency_cycles, drain_latency_cycles,
               energy_pj, area_um2, where] = network;
  out.all(name, class_name, word_bits, action_name, per_dataspace, fill_latency_cycles, drain_latency_cycles, energy_pj,
          area_um2);
  static_cast<void>(where);
}

void add(const nest::Constraint& constraint, Bytes& out) {
  const auto& [kind, level, spatial, dimension, comparison, value, inner, outer, dataspace, keep, fraction, text,
               where] = constraint;
  out.all(kind, level, spatial, dimension, comparison, value, inner, outer, dataspace, keep, fraction);
  static_cast<void>(text), static_cast<void>(where);
}

void add(const nest::TensorFormat& format, Bytes& out) {
  const auto& [ranks, inner_to_outer, where] = format;
  out.all(inner_to_outer, ranks.size());
  for (const nest::RankFormat& rank : ranks) {
    const auto& [kind, metadata_bits, payload_bits, flattened] = rank;
    out.all(kind, metadata_bits, payload_bits, flattened);
  }
  static_cast<void>(where);
}

void add(const nest::SparseStorage& storage, Bytes& out) {
  const auto& [formats, savings, metadata_width_bits, metadata_word_bits, metadata_capacity_bits, decompresses,
               compresses, prices] = storage;
  out.add(formats.size());
  for (const std::optional<nest::TensorFormat>& format : formats) {
    out.add(format.has_value());
    if (format) add(*format, out);
  }
  out.add(savings.size());
  for (const nest::AccessSaving& saving : savings) {
    const auto& [skips, options, where] = saving;
    out.all(skips, options.size());
    for (const nest::Follower& follower : options) {
      const auto& [target, leaders] = follower;
      out.all(target, leaders);
    }
    static_cast<void>(where);
  }
  out.all(metadata_width_bits, metadata_word_bits, metadata_capacity_bits, decompresses, compresses);
  const auto& [gated_read, gated_fill, gated_update, skipped_read, skipped_fill, skipped_update, metadata_read,
               metadata_fill, metadata_update, gated_metadata_read, gated_metadata_fill, gated_metadata_update,
               skipped_metadata_read, skipped_metadata_fill, skipped_metadata_update, compression, decompression] =
      prices;
  out.all(gated_read, gated_fill, gated_update, skipped_read, skipped_fill, skipped_update, metadata_read,
          metadata_fill, metadata_update, gated_metadata_read, gated_metadata_fill, gated_metadata_update,
          skipped_metadata_read, skipped_metadata_fill, skipped_metadata_update, compression, decompression);
}

void add(const nest::SparseDesign& design, Bytes& out) {
  const auto& [densities, storages, gates_compute, aligns_compute, gated_compute_pj, skipped_compute_pj] = design;
  out.all(gates_compute, aligns_compute, gated_compute_pj, skipped_compute_pj, densities.size(), storages.size());
  for (const nest::Density& density : densities) {
    out.all(density.kind(), density.share(), density.words(), density.listed() != nullptr);
    if (density.listed() != nullptr) out.all(density.listed()->bounds, density.listed()->coordinates);
  }
  for (const nest::SparseStorage& storage : storages) add(storage, out);
}

}  // namespace

std::string key_of_text(const std::string& text) {
  const std::string digits = base::content_hash(text);
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out += static_cast<char>(digit(digits[i]) * 16 + digit(digits[i + 1]));
  return out;
}

std::string joined(const std::string& chip, const std::string& question) {
  return key_of_text(chip + question);
}

std::string key_of(const machine::Storage& storage) {
  Bytes out;
  add(storage, out);
  return out.key();
}

std::string key_of(const machine::Chip& chip) {
  const auto& [name, storages, compute, networks, cycle_seconds] = chip;
  Bytes out;
  out.all(cycle_seconds, storages.size(), networks.size());
  for (const machine::Storage& storage : storages) add(storage, out);
  add(compute, out);
  for (const machine::Network& network : networks) add(network, out);
  static_cast<void>(name);
  return out.key();
}

std::string key_of(const verbs::LayerQuestion& question, const std::string& how) {
  Bytes out;
  out.all(how, question.objective, question.einsum.dimensions.size(), question.einsum.dataspaces.size());
  for (const workload::Dimension& dimension : question.einsum.dimensions) out.all(dimension.name, dimension.bound);
  for (const workload::Dataspace& dataspace : question.einsum.dataspaces) {
    out.all(dataspace.name, dataspace.read_write, dataspace.ranks.size());
    if (dataspace.bits > 0) out.all(std::string("bits"), dataspace.bits);
    for (const workload::Rank& rank : dataspace.ranks) {
      out.add(rank.terms.size());
      for (const workload::Term& term : rank.terms) out.all(term.dimension, term.coefficient);
    }
  }
  const auto& [constraints, reuse, parts] = question.space;
  static_cast<void>(parts);  // of searches only: no question has any
  out.all(constraints.size(), reuse.size());
  for (const nest::Constraint& constraint : constraints) add(constraint, out);
  for (const nest::ReuseRules& rules : reuse) {
    const auto& [no_temporal_reuse, no_spatial_sharing, read_first_update, no_links] = rules;
    out.all(no_temporal_reuse, no_spatial_sharing, read_first_update, no_links);
  }
  out.add(question.sparse != nullptr);
  if (question.sparse) add(*question.sparse, out);
  return out.key();
}

}  // namespace orrery::sweep
