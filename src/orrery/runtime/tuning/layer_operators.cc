// A layer is a stream that sub-layers add to: each maps it, drops some of the result and adds it; a norm follows the
// addition (post) or precedes the maps (pre). Backward, the gradient of the stream takes the same way back.
#include "orrery/runtime/tuning/layer_operators.h"

#include "orrery/runtime/tuning/operator_writer.h"

namespace orrery::tuning {
namespace {

using base::Count;

std::vector<SubLayer> sub_layers(const layer::Shape& shape) {
  std::vector<SubLayer> subs = {{"", "", "1", "layernorm1", "dropout1", "residual1", "output bias", "ATT", "ATT_biased",
                                 "DROP1MASK", "BO", "DATT"}};
  if (shape.cross)
    subs.push_back({"C_", "cross ", "C", "cross layernorm", "cross dropout", "cross residual", "cross output bias",
                    "C_ATT", "C_ATT_biased", "DROPCMASK", "C_BO", "C_DATT"});
  subs.push_back({"", "", "2", "layernorm2", "dropout3", "residual2", "bias2", "DROP2_LINW2", "LIN2", "DROP3MASK",
                  "LINB2", "DLIN2"});
  return subs;
}

bool is_network(const SubLayer& sub) {
  return sub.tag == "2";
}

// What a sub-layer leaves to its backward pass.
struct Trail {
  SubLayer sub;
  std::string input;   // of its first map
  std::string normed;  // the input of its norm
};

class LayerWriter {
 public:
  explicit LayerWriter(const LayerOptions& options) : to_(options), post_(options.shape.norms == layer::Place::kPost) {}

  LayerOperators write() {
    forward();
    if (to_.training()) backward();
    return to_.finish();
  }

 private:
  void forward() {
    std::string stream = to_.tensor("X", "ibj", Role::kInput);
    const std::vector<SubLayer> subs = sub_layers(to_.shape());
    for (const SubLayer& sub : subs) {
      Trail trail{sub, stream, stream};
      if (!post_) trail.input = normalise(sub, stream);
      if (is_network(sub))
        network_forward(to_, sub, trail.input);
      else
        attention_forward(to_, sub, trail.input);
      stream = add(sub, stream, &sub == &subs.back());
      if (post_) {
        trail.normed = stream;
        stream = normalise(sub, stream);
      }
      trails_.push_back(std::move(trail));
    }
  }

  // Bias, dropout and the addition to the stream.
  std::string add(const SubLayer& sub, const std::string& stream, bool last) {
    const bool bias = is_network(sub) ? to_.shape().network_bias : to_.shape().out_bias;
    std::string now = sub.mapped;
    if (bias) {
      to_.plain(sub.bias, "bji", 1, {now, to_.weight(sub.bias_weight, "i")}, {to_.tensor(sub.biased, "bji")});
      now = sub.biased;
      if (post_ && to_.training()) to_.keep(now);
    }
    if (to_.drops()) {
      const std::string dropped = to_.tensor("DROPPED" + sub.tag, "bji");
      to_.plain(sub.drop, "bji", 1, {now}, {dropped, to_.tensor(sub.mask, "bji")});
      now = dropped;
    }
    const std::string sum = to_.tensor("RESID" + sub.tag, "bji", last && !post_ ? Role::kOutput : Role::kBetween);
    to_.plain(sub.residual, "bji", 1, {now, stream}, {sum});
    return sum;
  }

  // Substation's kernels, of norms behind the addition, keep normalised values, differences and deviation; those of
  // other layers what a framework keeps: the norm's input, which is the stream, with mean and deviation.
  std::string normalise(const SubLayer& sub, const std::string& input) {
    const layer::Shape& shape = to_.shape();
    const std::string& t = sub.tag;
    const bool last = post_ && is_network(sub);
    LayerOperator one{.name = sub.norm, .what = Class::kNormalisation, .space = "bij"};
    const std::string scale = to_.weight("S" + t, "i");
    const std::string out = to_.tensor("SB" + t, "bji", last ? Role::kOutput : Role::kBetween);
    const std::string normal = to_.tensor("LN" + t, "bji");
    one.reads = {input, scale};
    one.writes = {out};
    Names parts{normal}, scaled{normal, scale};
    if (post_) {
      parts.push_back(to_.tensor(normal + "STD", "bj"));
      if (shape.centred) parts.push_back(to_.tensor(normal + "DIFF", "bji"));
    } else if (to_.training()) {
      if (shape.centred) parts.push_back(to_.tensor("MEAN" + t, "bj"));
      parts.push_back(to_.tensor("RSTD" + t, "bj"));
    }
    if (shape.shift) {
      one.reads.push_back(to_.weight("B" + t, "i"));
      scaled.push_back("B" + t);
    }
    if (to_.training()) {
      if (shape.centred) one.writes.push_back(to_.tensor("MEAN" + t, "bj"));
      one.writes.push_back(to_.tensor("RSTD" + t, "bj"));
    }
    const Count statistics = shape.centred ? 5 : 3, affine = shape.shift ? 2 : 1;
    one.flop = statistics + affine;
    one.steps = {to_.step("bji", statistics, {input}, parts, "i"), to_.step("bji", affine, scaled, {out})};
    to_.add(std::move(one));
    return out;
  }

  void backward() {
    to_.begin_backward();
    std::string gradient = to_.tensor("DSB2", "bji", Role::kInput);  // of the stream
    for (auto trail = trails_.rbegin(); trail != trails_.rend(); ++trail) {
      const SubLayer& sub = trail->sub;
      if (post_) gradient = normalise_back(*trail, gradient);
      const std::string inner = map_back(*trail, gradient);
      const std::string added = post_ ? inner : normalise_back(*trail, inner);
      const bool first = trail + 1 == trails_.rend();
      const std::string before = first ? "residual0" : (trail + 1)->sub.residual;
      const std::string sum = first ? to_.tensor("DX", "ibj", Role::kOutput) : to_.tensor("DSTREAM" + sub.tag, "bji");
      to_.plain(before + " dX(add)", "bji", 1, {gradient, added}, {sum});
      gradient = sum;
    }
  }

  // Dropout, bias and maps of a sub-layer.
  std::string map_back(const Trail& trail, const std::string& gradient) {
    const SubLayer& sub = trail.sub;
    std::string now = gradient;
    if (to_.drops()) {
      to_.plain(sub.drop + " dX", "bji", 1, {now, sub.mask}, {to_.tensor(sub.gradient, "bji")});
      now = sub.gradient;
    }
    const bool bias = is_network(sub) ? to_.shape().network_bias : to_.shape().out_bias;
    if (bias) to_.plain(sub.bias + " dW", "bji", 1, {now}, {to_.gradient(sub.bias_weight)}, "bj");
    return is_network(sub) ? network_backward(to_, sub, trail.input, now)
                           : attention_backward(to_, sub, trail.input, now);
  }

  std::string normalise_back(const Trail& trail, const std::string& gradient) {
    const layer::Shape& shape = to_.shape();
    const std::string& t = trail.sub.tag;
    const std::string scale = "S" + t, normal = "LN" + t;
    Names statistics{"RSTD" + t};
    if (shape.centred) statistics.insert(statistics.begin(), "MEAN" + t);
    Names sums{to_.gradient(scale)};
    if (shape.shift) sums.push_back(to_.gradient("B" + t));
    const std::string scaled = to_.tensor("DLN" + t, "bji"), made = to_.tensor("DRESID" + t, "bji");
    // What a kernel reads beside the gradient: normalised values, or the norm's input and the rows' statistics.
    Names for_sums{gradient}, for_rest{scaled};
    if (post_) {
      for_sums.push_back(normal);
      for_rest.insert(for_rest.end(), {normal + "STD", shape.centred ? normal + "DIFF" : normal});
    } else {
      for (Names* names : {&for_sums, &for_rest}) {
        names->push_back(trail.normed);
        names->insert(names->end(), statistics.begin(), statistics.end());
      }
    }

    LayerOperator weights{.name = trail.sub.norm + " dW", .what = Class::kNormalisation, .space = "bij"};
    const Count products_and_sums = shape.shift ? 3 : 2;
    weights.flop = products_and_sums + 1;
    weights.reads = {gradient, trail.normed};
    weights.reads.insert(weights.reads.end(), statistics.begin(), statistics.end());
    weights.writes = sums;
    weights.steps = {to_.step("bji", 1, {gradient, scale}, {scaled}),
                     to_.step("bji", products_and_sums, for_sums, sums, "bj")};
    LayerOperator input{.name = trail.sub.norm + " dX", .what = Class::kNormalisation, .space = "bij"};
    const Count rest = shape.centred ? 8 : 6;
    input.flop = rest + 1;
    input.reads = weights.reads;
    input.reads.push_back(scale);
    input.writes = {made};
    input.steps = {to_.step("bji", rest, for_rest, {made}, "i")};
    to_.add(std::move(weights));
    to_.add(std::move(input));
    return made;
  }

  OperatorWriter to_;
  bool post_;
  std::vector<Trail> trails_;
};

}  // namespace

LayerOperators layer_operators(const LayerOptions& options) {
  return LayerWriter(options).write();
}

}  // namespace orrery::tuning
