#include "orrery/present/fused_attention_record.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kFusedAttentionMostLines = 8;

base::Count at_a_time(base::Count all, base::Count turns) {
  return turns > 0 ? all / turns : all;
}

}  // namespace

Record<AskedAttention> fused_attention_record() {
  using A = AskedAttention;
  return {
      {"queries", "Of a head of a sequence.", [](const A& a) { return a.shape.queries; }},
      {"keys", "That they meet.", [](const A& a) { return a.shape.keys; }},
      {"width", "Of a query and a key.", [](const A& a) { return a.shape.width; }},
      {"value_width", "Of a value.", [](const A& a) { return a.shape.value_width; }},
      {"keeps_weights", "Whether what the softmax makes is written to memory, too, for a backward pass.",
       [](const A& a) { return a.shape.keeps_weights; }},
      {"joined", "Whether scores, softmax and weighted values have room on the chip as one group.",
       [](const A& a) { return a.one.joined; }},
      {"taken", "Whether it runs so: it takes less than its operators one by one.", &A::taken},
      {"seconds", "Of a head as one group, the softmax included, in seconds; 0: not joined.",
       [](const A& a) { return a.one.seconds; }},
      {"unfused_s", "Of a head by operators one by one, in seconds; null: see the sums.", &A::apart_s},
      {"joules", "Energy of a head as one group, in J; 0: not joined.", [](const A& a) { return a.one.joules; }},
      {"storage", "In which the scores stay; empty: not joined.", [](const A& a) { return a.one.storage; }},
      {"queries_at_a_time", "Queries at work at a time.",
       [](const A& a) { return at_a_time(a.shape.queries, a.one.turns.columns); }},
      {"keys_at_a_time", "Keys at work at a time.",
       [](const A& a) { return at_a_time(a.shape.keys, a.one.turns.keys); }},
      {"online", "Whether the softmax is online.", [](const A& a) { return a.one.online; }},
      {"gap", "By how much less time a group might take, as a share, at most.", [](const A& a) { return a.one.gap; }}};
}

std::string fused_attention_text(const std::vector<AskedAttention>& asked, const std::string& apart) {
  std::string out;
  for (std::size_t i = 0; i < asked.size() && i < kFusedAttentionMostLines; ++i) {
    const AskedAttention& a = asked[i];
    out += fmt::format("  {} queries, {} keys, width {}: ", a.shape.queries, a.shape.keys, a.shape.width);
    if (!a.one.joined) {
      out += fmt::format("not fused, {}\n", a.one.searched ? "no group of its operators has room on the chip"
                                                           : "no group was found in the time");
      continue;
    }
    const std::string instead = a.apart_s ? fmt::format("{} {}", shown_seconds(*a.apart_s), apart) : apart;
    if (!a.taken) {
      out += fmt::format("not fused, a head would take {}, its softmax included, and no less than {}\n",
                         shown_seconds(a.one.seconds), instead);
      continue;
    }
    out += fmt::format("scores stay in {}, {} queries and {} keys at a time{}{}; a head {}{}\n", a.one.storage,
                       at_a_time(a.shape.queries, a.one.turns.columns), at_a_time(a.shape.keys, a.one.turns.keys),
                       a.one.online ? ", online" : "",
                       a.shape.keeps_weights ? ", weights are written as well for the backward pass" : "",
                       shown_seconds(a.one.seconds), a.apart_s ? ", " + instead : "");
  }
  if (asked.size() > kFusedAttentionMostLines)
    out += fmt::format("  ... and {} more (--json has all)\n", asked.size() - kFusedAttentionMostLines);
  return out;
}

}  // namespace orrery::verbs
