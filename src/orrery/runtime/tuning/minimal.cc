#include "orrery/runtime/tuning/minimal.h"

#include <utility>

namespace orrery::tuning {
namespace {

using base::Count;

enum class Part { kSelf, kCross, kNetwork };

// Letters of one attention, as in attention_operators.cc.
struct Letters {
  std::string heads = "h", key_heads = "h", rows = "qph", keys = "k";
};

class MinimalWriter {
 public:
  explicit MinimalWriter(const LayerOptions& options)
      : shape_(options.shape),
        training_(options.training),
        dropout_(options.training && options.dropout),
        post_(options.shape.norms == layer::Place::kPost) {
    if (shape_.kv_heads() != shape_.heads) letters_ = {"gt", "g", "r", "k"};
    parts_ = {Part::kSelf};
    if (shape_.cross) parts_.push_back(Part::kCross);
    parts_.push_back(Part::kNetwork);
  }

  std::vector<MinimalOperator> write() {
    forward();
    if (training_) backward();
    return std::move(out_);
  }

 private:
  static std::string tag(Part part) { return part == Part::kSelf ? "1" : part == Part::kCross ? "C" : "2"; }
  static std::string word(Part part) { return part == Part::kCross ? "cross " : ""; }
  Moved normed(Part part) const { return {"SB" + tag(part), "bji"}; }
  Moved deviation(Part part) const { return {"RSTD" + tag(part), "bj"}; }
  std::string turn() const { return shape_.rotary != layer::Rotary::kNone ? "+rotary" : ""; }

  MinimalOperator& op(std::string name, std::vector<Moved> reads, std::vector<Moved> writes) {
    out_.push_back({std::move(name), backward_, std::move(reads), std::move(writes)});
    return out_.back();
  }
  static void add(std::vector<Moved>& to, const std::vector<Moved>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  // A norm of the stream at the end of an operator.
  void normalise(Part part, MinimalOperator& at) const {
    at.reads.push_back({"S" + tag(part), "i"});
    if (shape_.shift) at.reads.push_back({"B" + tag(part), "i"});
    at.writes.push_back(normed(part));
    if (training_) at.writes.push_back(deviation(part));
  }

  Letters letters(Part part) const {
    Letters out = letters_;
    if (part == Part::kCross) out.keys = "l";
    return out;
  }
  Moved queries(Part part) const { return {word(part) + "queries", "p" + letters(part).heads + "bj"}; }
  Moved keys(Part part) const {
    return {word(part) + "keys", "p" + letters(part).key_heads + "b" + letters(part).keys};
  }
  Moved values(Part part) const {
    return {word(part) + "values", "p" + letters(part).key_heads + "b" + letters(part).keys};
  }
  Moved attended(Part part) const { return {word(part) + "GAMMA", "p" + letters(part).heads + "bj"}; }
  Moved sums(Part part) const { return {word(part) + "log-sum-exp", letters(part).heads + "bj"}; }
  Moved out_weight(Part part) const { return {word(part) + "WO", "p" + letters(part).heads + "i"}; }
  Moved query_weight() const { return {"cross WQ", "p" + letters_.heads + "i"}; }
  Moved memory_weight() const { return {"cross WKV", "vp" + letters_.key_heads + "e"}; }
  Moved memory_keys() const { return {"cross keys and values", "vp" + letters_.key_heads + "bl"}; }
  Moved stack() const { return {"keys, queries, values", letters_.rows + "bj"}; }
  Moved stack_weight() const { return {"WKQV", letters_.rows + "i"}; }
  std::string network_rows() const { return shape_.gated ? "wu" : "u"; }
  Moved hidden() const { return {"hidden", "bju"}; }
  Moved before_activation() const { return shape_.gated ? Moved{"gate and network", "wbju"} : hidden(); }

  void forward() {
    Moved stream{"X", "ibj"};
    if (!post_) normalise(Part::kSelf, op("LN1", {stream}, {}));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part part = parts_[i];
      inputs_.push_back(post_ ? stream : normed(part));
      MinimalOperator& last = part == Part::kNetwork ? network(inputs_.back()) : attention(part, inputs_.back());
      last.reads.push_back(stream);
      last.name += dropout_ ? "+dropout+residual" : "+residual";
      const bool another = i + 1 < parts_.size();
      if (post_) {
        normalise(part, last);
        stream = normed(part);
      } else {
        stream = {"RESID" + tag(part), "bji"};
        last.writes.push_back(stream);
        if (another) normalise(parts_[i + 1], last);
      }
      if (post_ || another) last.name += "+LN";
    }
  }

  // Both give the operator whose result is added to the stream, without its result.
  MinimalOperator& attention(Part part, const Moved& input) {
    const std::string bias = shape_.qkv_bias ? " +bias" : "";
    if (part == Part::kSelf) {
      MinimalOperator& made = op("QKV gemm" + bias + turn(), {stack_weight(), input}, {stack()});
      if (shape_.qkv_bias) made.reads.push_back({"BK, BQ, BV", letters_.rows});
    } else {
      MinimalOperator& made = op("cross Q gemm" + bias, {query_weight(), input}, {queries(part)});
      if (shape_.qkv_bias) made.reads.push_back({"BQ", "p" + letters_.heads});
      MinimalOperator& of_memory = op("cross KV gemm" + bias, {memory_weight(), {"MEMORY", "ebl"}}, {memory_keys()});
      if (shape_.qkv_bias) of_memory.reads.push_back({"BK, BV", "vp" + letters_.key_heads});
    }
    MinimalOperator& flash = op(word(part) + "flash attention" + (dropout_ ? " (+dropout)" : ""),
                                {queries(part), keys(part), values(part)}, {attended(part)});
    if (training_) flash.writes.push_back(sums(part));
    MinimalOperator& out =
        op(word(part) + "out gemm " + (shape_.out_bias ? "+bias" : ""), {out_weight(part), attended(part)}, {});
    if (shape_.out_bias) out.reads.push_back({"BO", "i"});
    return out;
  }

  MinimalOperator& network(const Moved& input) {
    const bool bias = shape_.network_bias;
    std::string name = bias ? "lin1 gemm +bias" : "lin1 gemm ";
    name += shape_.gated ? "+activation+gate" : "+activation";
    MinimalOperator& first =
        op(name + (dropout_ ? "+dropout" : ""), {input, {"LINW1", network_rows() + "i"}}, {hidden()});
    if (bias) first.reads.push_back({"LINB1", network_rows()});
    if (shape_.gated && training_) first.writes.push_back(before_activation());
    MinimalOperator& second = op(bias ? "lin2 gemm +bias" : "lin2 gemm ", {hidden(), {"LINW2", "iu"}}, {});
    if (bias) second.reads.push_back({"LINB2", "i"});
    return second;
  }

  void backward() {
    backward_ = true;
    gradient_ = {"DSB2", "bji"};
    if (post_) {
      op("LN2 bwd", {gradient_, normed(Part::kNetwork), deviation(Part::kNetwork)}, {{"DRESID2", "bji"}});
      gradient_ = {"DRESID2", "bji"};
    }
    for (std::size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i] == Part::kNetwork)
        network_back(i);
      else
        attention_back(i);
    }
  }

  // The gradient of the stream behind the contraction that makes the gradient of a part's input: the addition, and the
  // norm that stands there.
  void pass_on(std::size_t i, MinimalOperator& at) {
    at.reads.push_back(gradient_);
    at.name += " +residual";
    if (!post_ || i > 0) {
      const Part norm = post_ ? parts_[i - 1] : parts_[i];
      add(at.reads, {normed(norm), deviation(norm)});
      at.name += "+LN" + tag(norm) + " bwd";
    }
    gradient_ = {i == 0 ? "DX" : "DRESID" + tag(parts_[i - 1]), "bji"};
    at.writes.push_back(gradient_);
  }

  void network_back(std::size_t i) {
    const Moved made{"DLIN1", "bj" + network_rows()}, weight{"LINW1", network_rows() + "i"};
    op("dXlin2 gemm +activation", {gradient_, {"LINW2", "iu"}, before_activation()}, {made});
    op("dWlin2 gemm", {gradient_, hidden()}, {{"DLINW2", "iu"}});
    const Moved of_weight{"DLINW1", weight.dims};
    pass_on(i, op("dXlin1 gemm", {made, weight}, {}));
    op("dWlin1 gemm", {made, inputs_[i]}, {of_weight});
  }

  void attention_back(std::size_t i) {
    const Part part = parts_[i];
    const std::string w = word(part);
    const Moved of_attended{w + "DGAMMA", attended(part).dims};
    op(w + "dXout gemm", {out_weight(part), gradient_}, {of_attended});
    op(w + "dWout gemm", {attended(part), gradient_}, {{w + "DWO", out_weight(part).dims}});
    MinimalOperator& flash = op(w + "flash attention bwd",
                                {queries(part), keys(part), values(part), attended(part), of_attended, sums(part)}, {});
    if (part == Part::kSelf) {
      const Moved made{"gradients of keys, queries, values", stack().dims};
      flash.writes.push_back(made);
      pass_on(i, op("dXQKV gemm", {stack_weight(), made}, {}));
      op("dWQKV gemm", {inputs_[i], made}, {{"DWKQV", stack_weight().dims}});
      return;
    }
    const Moved of_queries{"cross gradients of queries", queries(part).dims};
    const Moved of_keys{"cross gradients of keys and values", memory_keys().dims};
    add(flash.writes, {of_queries, of_keys});
    pass_on(i, op("cross dXQ gemm", {query_weight(), of_queries}, {}));
    op("cross dWQ gemm", {inputs_[i], of_queries}, {{"C_DWQ", query_weight().dims}});
    op("cross dXKV gemm", {memory_weight(), of_keys}, {{"DMEMORY", "ebl"}});
    op("cross dWKV gemm", {{"MEMORY", "ebl"}, of_keys}, {{"C_DWKV", memory_weight().dims}});
  }

  const layer::Shape& shape_;
  bool training_, dropout_, post_;
  bool backward_ = false;
  Letters letters_;
  std::vector<Part> parts_;
  std::vector<Moved> inputs_;  // of each part's first map
  Moved gradient_;             // of the stream
  std::vector<MinimalOperator> out_;
};

}  // namespace

Count words(const std::vector<Moved>& moved, const Sizes& sizes) {
  Count sum = 0;
  for (const Moved& one : moved) sum = base::checked_add(sum, sizes.words(one.dims));
  return sum;
}

std::vector<MinimalOperator> minimal_operators(const LayerOptions& options) {
  return MinimalWriter(options).write();
}

}  // namespace orrery::tuning
