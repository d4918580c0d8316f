#include "orrery/formats/dfmodel/descriptors.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/formats/dfmodel/setup_schema.h"

namespace orrery::formats::dfmodel {

namespace pb = google::protobuf;

namespace {

pb::FieldDescriptorProto::Type type_of(const FieldType& field) {
  switch (field.kind) {
    case FieldKind::kInteger:
      return pb::FieldDescriptorProto::TYPE_INT64;
    case FieldKind::kReal:
      return field.wide ? pb::FieldDescriptorProto::TYPE_DOUBLE : pb::FieldDescriptorProto::TYPE_FLOAT;
    case FieldKind::kFlag:
      return pb::FieldDescriptorProto::TYPE_BOOL;
    case FieldKind::kText:
      return pb::FieldDescriptorProto::TYPE_STRING;
    case FieldKind::kChoice:
      return pb::FieldDescriptorProto::TYPE_ENUM;
    case FieldKind::kBlock:
      break;
  }
  return pb::FieldDescriptorProto::TYPE_MESSAGE;
}

pb::FileDescriptorProto file_of(const Schema& tables) {
  pb::FileDescriptorProto file;
  file.set_name("dfmodel");
  file.set_syntax("proto2");
  for (const ChoiceType& choices : tables.choices) {
    pb::EnumDescriptorProto* made = file.add_enum_type();
    made->set_name(choices.name);
    // Names of enumerations share one scope; only the one for "unset" would clash.
    const auto add = [&](const std::string& name, int number) {
      pb::EnumValueDescriptorProto* value = made->add_value();
      value->set_name(name);
      value->set_number(number);
    };
    add("UNSET_" + choices.name, 0);
    for (std::size_t i = 0; i < choices.values.size(); ++i) add(choices.values[i], static_cast<int>(i) + 1);
  }
  for (const BlockType& block : tables.blocks) {
    pb::DescriptorProto* made = file.add_message_type();
    made->set_name(block.name);
    for (const FieldType& field : block.fields) {
      pb::FieldDescriptorProto* member = made->add_field();
      member->set_name(field.name);
      member->set_number(field.tag);
      member->set_label(pb::FieldDescriptorProto::LABEL_REPEATED);
      member->set_type(type_of(field));
      if (field.block) member->set_type_name("." + field.block->name);
      if (field.choices) member->set_type_name("." + field.choices->name);
    }
  }
  return file;
}

struct Descriptors {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory{&pool};
  const pb::Message* prototype = nullptr;
  int messages = 0;

  Descriptors() {
    const pb::FileDescriptor* file = pool.BuildFile(file_of(schema()));
    ORRERY_CHECK(file != nullptr, "protobuf refuses the tables of fields");
    messages = file->message_type_count();
    prototype = factory.GetPrototype(file->FindMessageTypeByName(schema().blocks.front().name));
  }
};

}  // namespace

std::unique_ptr<pb::Message> new_message() {
  static const Descriptors built;
  return std::unique_ptr<pb::Message>(built.prototype->New());
}

int build_descriptors() {
  return Descriptors().messages;
}

}  // namespace orrery::formats::dfmodel
