// A small BERT in a folder of its own, with random weights and a vocabulary of plain words.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/checkpoint/safetensors.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

struct TinyModel {
  std::filesystem::path root;  // of the test
  std::string folder;          // of the model

  explicit TinyModel(const std::string& name, const std::string& head = "BertModel", int labels = 2) {
    root = std::filesystem::temp_directory_path() / fmt::format("orrery_{}_{}", name, ::getpid());
    std::filesystem::remove_all(root);
    folder = (root / "model").string();
    std::filesystem::create_directories(folder);
    std::string names;
    for (int i = 0; i < labels; ++i) names += fmt::format("{}\"{}\": \"LABEL_{}\"", i > 0 ? ", " : "", i, i);
    write(folder + "/config.json",
          fmt::format(R"({{"model_type": "bert", "architectures": ["{}"], "vocab_size": 210, "hidden_size": 32,
"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64,
"type_vocab_size": 2, "id2label": {{{}}}}})",
                      head, names));
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 0; i < 200; ++i) vocabulary += fmt::format("word{}\n", i);
    write(folder + "/vocab.txt", vocabulary + "_\n");
    auto model = formats::huggingface::read_runnable(base::read_file(folder + "/config.json"));
    network::Parameters parameters(model.description);
    network::initialise(parameters, model.description, 1);
    std::vector<formats::checkpoint::Tensor> tensors = formats::huggingface::stored({}, model, parameters);
    // What other programs keep beside the weights.
    static const float kThreshold[] = {0.25F}, kOther[] = {1.0F};
    tensors.push_back({"bert.counter",
                       formats::checkpoint::Element::kF32,
                       {1},
                       {reinterpret_cast<const char*>(kOther), sizeof kOther},
                       nullptr});
    tensors.push_back({"bert.encoder.layer.0.attention.self.input_x_thresh",
                       formats::checkpoint::Element::kF32,
                       {1},
                       {reinterpret_cast<const char*>(kThreshold), sizeof kThreshold},
                       nullptr});
    formats::checkpoint::write_safetensors(folder + "/model.safetensors", tensors, {{"format", "pt"}});
  }
  ~TinyModel() { std::filesystem::remove_all(root); }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  std::string file(const std::string& name, const std::string& text) const {
    write((root / name).string(), text);
    return (root / name).string();
  }

  // Sentences of words of one half of the vocabulary or the other, two in ten of the wrong one.
  std::string sentences(const std::string& name, int count, unsigned seed) const {
    std::mt19937 random(seed);
    std::string text = "text,label\n";
    for (int i = 0; i < count; ++i) {
      const unsigned label = random() % 2;
      const unsigned length = 6 + random() % 10;
      for (unsigned w = 0; w < length; ++w)
        text += fmt::format("word{} ", 100 * (random() % 10 < 2 ? 1 - label : label) + random() % 100);
      text += fmt::format(",{}\n", label == 1 ? "up" : "down");
    }
    return file(name, text);
  }

  TextRequest request(const std::string& data) const {
    TextRequest made;
    made.checkpoint = folder, made.data = data;
    made.limits.threads = 2;
    return made;
  }
};

// The last thing that was refused, its code first; "" where nothing was.
inline std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::InputError& error) {
    return error.diagnostics.back().code + " " + error.diagnostics.back().message;
  }
  return "";
}

}  // namespace orrery::verbs
