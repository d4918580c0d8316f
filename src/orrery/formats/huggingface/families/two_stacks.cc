// Models of an encoder and a decoder, and encoders of what is no text.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::Projection;
using workload::Stack;

// Bidirectional in the encoder; in the decoder causal, and followed by attention to the encoder's output.
Block encoder_block(Attention a, const FeedForward& f, workload::Norm norm, bool post) {
  Block block;
  a.causal = false;
  block.mixer = a;
  block.feed_forward = f;
  block.norm = norm;
  block.post = post;
  return block;
}

Block decoder_block(Attention a, const FeedForward& f, workload::Norm norm, bool post) {
  Block block = encoder_block(a, f, norm, post);
  block.cross = std::get<Attention>(block.mixer);
  std::get<Attention>(block.mixer).causal = true;
  block.norms = 3;
  return block;
}

}  // namespace

// Raffel et al., arXiv 1910.10683: nothing has a bias, and scores have one for the tokens' distance, from a table that
// all layers of a stack share.
void read_t5(Reading& r) {
  const Count hidden = sized(r, "d_model");
  const Count layers = layers_of(r, "num_layers");
  const Count decoder_layers = layers_of(r, "num_decoder_layers", layers);
  const Count heads = sized(r, "num_heads");
  const Attention a = attention_of(r, hidden, heads, 0, r.keys.size("d_kv", 64), {"num_heads", "", "d_kv"});
  const std::string kind = r.keys.text("feed_forward_proj", "relu");
  const FeedForward f = {sized(r, "d_ff"), kind.starts_with("gated"), false};
  const Count distances = r.keys.size("relative_attention_num_buckets", 32);
  r.keys.know({"is_encoder_decoder", "is_decoder", "is_gated_act", "dense_act_fn"});
  Stack source = encoder(hidden, rms_norm()), target = decoder(hidden, rms_norm());
  source.distance_rows = target.distance_rows = distances;
  add_layers(source, layers, encoder_block(a, f, rms_norm(), false));
  add_layers(target, decoder_layers, decoder_block(a, f, rms_norm(), false));
  r.model.max_positions = r.keys.optional_size("n_positions");
  vocabulary(r, hidden);
  r.model.head.tied = true;
  // A file that says otherwise has a matrix of its own for the logits.
  if (!r.keys.flag("tie_word_embeddings", true)) r.model.head.tied = false;
  r.model.head.outputs = r.model.vocab;
  r.model.stacks = {std::move(source), std::move(target)};
}

namespace {

// BART's kin differ in where norms stand, and in their positions.
struct BartKind {
  bool before = false;  // norms before the operators, and one at the end of a stack
  bool learned = true;  // positions
  bool entry = true;    // a norm behind the tables
  Count reserved = 2;   // rows of positions
};

BartKind bart_kind(std::string_view type) {
  if (type == "mbart") return {true};
  if (type == "blenderbot") return {true, true, false, 0};
  if (type == "blenderbot-small") return {false, true, true, 0};
  if (type == "m2m_100") return {true, false, false};
  if (type == "pegasus") return {true, true, false, 0};  // waves, which the class keeps as a table
  if (type == "marian") return {false, true, false, 0};
  return {};
}

}  // namespace

// Lewis et al., arXiv 1910.13461: BERT's block twice, the second with attention to the first's output.
void read_bart(Reading& r) {
  const BartKind of = bart_kind(r.model.family);
  const Count hidden = sized(r, "d_model");
  const Count layers = layers_of(r, "encoder_layers"), decoder_layers = layers_of(r, "decoder_layers");
  Stack source = encoder(hidden, {}), target = decoder(hidden, {});
  for (Stack* stack : {&source, &target}) {
    const bool decodes = stack == &target;
    const std::string_view heads = decodes ? "decoder_attention_heads" : "encoder_attention_heads";
    Attention a = attention(r, hidden, {heads, "", ""});
    bias_all(a, true);
    const FeedForward f = {sized(r, decodes ? "decoder_ffn_dim" : "encoder_ffn_dim"), false, true};
    if (of.entry) stack->entry = layer_norm();
    if (of.before) stack->exit = layer_norm();
    add_layers(*stack, decodes ? decoder_layers : layers,
               decodes ? decoder_block(a, f, layer_norm(), !of.before) : encoder_block(a, f, layer_norm(), !of.before));
    positions(r, *stack, "max_position_embeddings", of.learned, 1024, of.learned ? of.reserved : 0);
  }
  r.keys.know({"is_encoder_decoder", "is_decoder", "num_hidden_layers"});
  vocabulary(r, hidden);
  logits(r, true);
  // Untied, either stack keeps a table of its own beside the shared one.
  if (!r.model.head.tied) r.model.tables = 3;
  r.model.stacks = {std::move(source), std::move(target)};
}

// Radford et al., arXiv 2212.04356: 30 s of sound are 3,000 frames, which two convolutions make 1,500 tokens.
void read_whisper(Reading& r) {
  const Count hidden = sized(r, "d_model");
  const Count layers = layers_of(r, "encoder_layers"), decoder_layers = layers_of(r, "decoder_layers");
  const Count bins = r.keys.size("num_mel_bins", 80);
  Stack source = encoder(hidden, layer_norm()), target = decoder(hidden, layer_norm());
  for (Stack* stack : {&source, &target}) {
    const bool decodes = stack == &target;
    const std::string_view heads = decodes ? "decoder_attention_heads" : "encoder_attention_heads";
    Attention a = attention(r, hidden, {heads, "", ""});
    bias_all(a, true);
    a.key_bias = false;
    const FeedForward f = {sized(r, decodes ? "decoder_ffn_dim" : "encoder_ffn_dim"), false, true};
    add_layers(*stack, decodes ? decoder_layers : layers,
               decodes ? decoder_block(a, f, layer_norm(), false) : encoder_block(a, f, layer_norm(), false));
  }
  const Count frames = r.keys.size("max_source_positions", 1500);
  source.fixed_tokens = source.position_rows = frames;
  source.learned_positions = true;
  source.into = {Projection{"first convolution", 3 * bins, hidden, hidden, 1, 1, false, 2 * frames},
                 Projection{"second convolution", 3 * hidden, hidden, hidden}};
  positions(r, target, "max_target_positions", true, 448);
  target.fixed_tokens = 0;
  r.model.natural_tokens = r.model.max_positions.value_or(448);
  r.keys.know({"is_encoder_decoder", "num_hidden_layers", "max_length"});
  vocabulary(r, hidden);
  logits(r, true);
  r.model.stacks = {std::move(source), std::move(target)};
}

// Dosovitskiy et al., arXiv 2010.11929: an image's patches are tokens, with one more for its class.
void read_vit(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", ""});
  bias_queries_keys_values(a, r.keys.flag("qkv_bias", true));
  a.output_bias = true;
  const FeedForward f = {sized(r, "intermediate_size"), false, true};
  const Rectangle image = sides(r.keys, "image_size", 224), patch = sides(r.keys, "patch_size", 16);
  const Count patches = base::checked_multiply(image.height / patch.height, image.width / patch.width);
  if (patches < 1 || patches > kLargestSize)
    r.keys.found()
        .error("O0910", "an image must have at least one patch, and no more than any model's",
               r.keys.where("image_size"))
        .also(r.keys.where("patch_size"), fmt::format("{} pixels high", patch.height));
  const Count channels = r.keys.size("num_channels", 3);
  Stack stack = encoder(hidden, layer_norm());
  add_layers(stack, layers, encoder_block(a, f, layer_norm(), false));
  const Count pixels = base::checked_multiply(base::checked_multiply(patch.height, patch.width), channels);
  stack.into = {Projection{"patches", pixels, hidden, hidden, 1, 1, false, patches}};
  stack.fixed_tokens = patches + 1;
  stack.learned_positions = true;
  stack.position_rows = patches + 2;  // the class's token is a vector of parameters as well
  r.model.natural_tokens = patches + 1;
  r.model.embedding_width = hidden;
  const json::Node* labels = r.keys.value("id2label");
  r.model.head.tied = false;
  r.model.head.outputs = labels != nullptr && labels->is_object() ? static_cast<Count>(labels->members.size())
                                                                  : r.keys.count("num_labels", 2);
  r.model.head.bias = r.model.head.outputs > 0;
  r.model.head.at_one_token = true;
  r.model.stacks.push_back(std::move(stack));
}

}  // namespace orrery::formats::huggingface
