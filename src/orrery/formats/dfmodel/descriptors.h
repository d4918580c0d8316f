// The schema as protobuf's own descriptors, made at run time.
#pragma once

#include <memory>

namespace google::protobuf {
class Message;
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace orrery::formats::dfmodel {

// An empty message for the whole file. Every field is repeated, so that fields given twice are told apart by us, all
// at once; a block's i-th field has the index i. Descriptors are built at the first call.
std::unique_ptr<google::protobuf::Message> new_message();

// What the first call of new_message does; the number of messages, for measurements.
int build_descriptors();

}  // namespace orrery::formats::dfmodel
