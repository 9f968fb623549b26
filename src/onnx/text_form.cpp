// See text_form.h.
#include "onnx/text_form.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <sstream>

#include "ir/tensor.h"
#include "onnx/problems.h"
#include "onnx/tensor_wire.h"

namespace graphopt {
namespace {

namespace pb = google::protobuf;

constexpr int kMaxNesting = wire::kMaxDepth;

struct Ending {
  std::string_view text;
  TextForm form;
};
constexpr Ending kEndings[] = {
    {".onnxtxt", TextForm::Onnx}, {".onnxtext", TextForm::Onnx}, {".textproto", TextForm::Proto},
    {".txtpb", TextForm::Proto},  {".pbtxt", TextForm::Proto},   {".prototxt", TextForm::Proto},
};

// The first thing that the parser has to say.
class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty())
      text_ = message + " (line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ")";
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Returns the bytes of a message, the same for equal messages.
std::string bytes_of(const pb::Message& message) {
  std::string out;
  pb::io::StringOutputStream stream(&out);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  (void)message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return out;
}

// Gives payloads of tensors their raw form. External ones and texts have none.
void make_raw(onnx::TensorProto& t) {
  if (t.has_raw_data() || t.data_location() == onnx::TensorProto::EXTERNAL ||
      t.data_type() == onnx::TensorProto::STRING)
    return;
  const std::string proto = t.SerializeAsString();
  ExternalFiles none(".", {});
  Tensor tensor;
  std::string_view name;
  if (read_tensor(proto, none, tensor, name)) return;
  std::string raw;
  if (tensor.ready) {
    raw = tensor.raw;
  } else {
    Unpacked payload;
    if (tensor.decode == nullptr || !tensor.decode(proto, payload)) return;
    raw = std::move(payload.raw);
  }
  t.clear_float_data();
  t.clear_int32_data();
  t.clear_int64_data();
  t.clear_double_data();
  t.clear_uint64_data();
  t.set_raw_data(std::move(raw));
}

bool has_default(const pb::Message& m, const pb::Reflection& r, const pb::FieldDescriptor& f) {
  using Type = pb::FieldDescriptor;
  switch (f.cpp_type()) {
    case Type::CPPTYPE_STRING: return r.GetString(m, &f).empty();
    case Type::CPPTYPE_INT32: return r.GetInt32(m, &f) == 0;
    case Type::CPPTYPE_INT64: return r.GetInt64(m, &f) == 0;
    case Type::CPPTYPE_ENUM: return r.GetEnumValue(m, &f) == 0;
    default: return false;  // a float that is -0 is not one that is absent
  }
}

// Brings a model into one form among those that mean the same. On a stack: graphs nest.
void normalize(pb::Message& root) {
  std::vector<pb::Message*> todo{&root};
  while (!todo.empty()) {
    pb::Message& m = *todo.back();
    todo.pop_back();
    if (m.GetDescriptor() == onnx::TensorProto::descriptor())
      make_raw(static_cast<onnx::TensorProto&>(m));  // NOLINT: the descriptor tells the class
    const pb::Reflection& r = *m.GetReflection();
    const bool is_dim = m.GetDescriptor() == onnx::TensorShapeProto::Dimension::descriptor();
    std::vector<const pb::FieldDescriptor*> fields;
    r.ListFields(m, &fields);
    for (const pb::FieldDescriptor* f : fields) {
      if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!f->is_repeated()) todo.push_back(r.MutableMessage(&m, f));
        else
          for (int i = 0; i < r.FieldSize(m, f); ++i) todo.push_back(r.MutableRepeatedMessage(&m, f, i));
      } else if (!f->is_repeated() && !is_dim && has_default(m, r, *f)) {
        r.ClearField(&m, f);
      }
    }
  }
}

// Returns the beginning of a text, in one line: it may hold much of the model, which need not be readable.
std::string beginning(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string out(text.substr(0, std::min(text.find('\n'), kLongest)));
  std::ranges::replace_if(out, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return out.size() < text.size() ? out + "..." : out;
}

// Returns the first difference; which of the two models has it does not matter.
std::string difference(const onnx::ModelProto& a, const onnx::ModelProto& b) {
  std::string text;
  pb::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&text);
  (void)differencer.Compare(a, b);
  text = text.substr(0, text.find('\n'));
  if (const std::size_t kind = text.find(": "); kind != std::string::npos) text = text.substr(kind + 2);
  return text.empty() ? "the payload of a NaN" : beginning(text);
}

std::optional<std::string> parse_message(std::string_view text, onnx::ModelProto& model) {
  pb::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  parser.AllowPartialMessage(true);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (parser.Parse(&stream, &model)) return std::nullopt;
  return error.text().empty() ? "it cannot be parsed" : error.text();
}

std::optional<std::string> parse_onnx(std::string_view text, onnx::ModelProto& model) {
  try {  // as in text.cpp
    onnx::OnnxParser parser(text);
    const onnx::Common::Status status = parser.Parse(model);
    if (!status.IsOK()) return status.ErrorMessage();
    if (!parser.EndOfInput()) return "there is more text after the model";
  } catch (const std::exception& e) {
    return e.what();
  }
  return std::nullopt;
}

std::optional<std::string> print_message(const onnx::ModelProto& model) {
  std::string text;
  pb::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  if (!printer.PrintToString(model, &text)) return std::nullopt;
  return text;
}

std::optional<std::string> print_onnx(const onnx::ModelProto& model) {
  try {
    std::ostringstream out;
    out << model << '\n';
    return std::move(out).str();
  } catch (const std::exception&) {  // of tensors whose payload it cannot read
    return std::nullopt;
  }
}

}  // namespace

TextForm text_form(std::string_view path) {
  const auto* at = std::ranges::find_if(kEndings, [&](const Ending& e) { return path.ends_with(e.text); });
  return at == std::end(kEndings) ? TextForm::None : at->form;
}

Result<std::string> text_of(const std::vector<wire::ByteRange>& ranges, TextForm form,
                            const std::string& path) {
  const bool syntax = form == TextForm::Onnx;
  const auto refused = [&](const std::string& what) {
    return Error{ErrorKind::Output,
                 {path, {}, {}, {}, {}},
                 (syntax ? "ONNX text cannot hold this model: " : "text cannot hold this model: ") + what,
                 syntax ? "write .textproto or .onnx; --strip doc,metadata leaves out what is only for people"
                        : "write .onnx"};
  };
  onnx::ModelProto model;
  {
    std::string binary;
    for (const wire::ByteRange& range : ranges) binary.append(range.data, range.size);
    if (!model.ParseFromString(binary)) return refused("protobuf does not read its binary form");
  }
  std::optional<std::string> text = syntax ? print_onnx(model) : print_message(model);
  if (!text) return refused("it cannot be printed");
  if (text->size() > static_cast<std::size_t>(INT32_MAX)) return refused("it would have more than 2 GiB");
  onnx::ModelProto again;
  if (const auto wrong = syntax ? parse_onnx(*text, again) : parse_message(*text, again))
    return refused("what is printed cannot be read again: " + beginning(*wrong));
  if (syntax) {
    normalize(model);
    normalize(again);
  }
  if (bytes_of(model) != bytes_of(again)) return refused(difference(model, again) + " is lost");
  return *std::move(text);
}

bool looks_like_message_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with('#')) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  const std::size_t length = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), text.size());
  if (onnx::ModelProto::descriptor()->FindFieldByName(std::string(text.substr(0, length))) == nullptr)
    return false;
  text.remove_prefix(length);
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return !text.empty() && std::string_view(":{<").find(text.front()) != std::string_view::npos;
}

std::optional<std::string> message_text_to_binary(std::string_view text, std::string& binary) {
  if (text.size() > static_cast<std::size_t>(INT32_MAX)) return "it has more than 2 GiB";
  onnx::ModelProto model;
  if (auto wrong = parse_message(text, model)) return wrong;
  if (!model.SerializeToString(&binary)) return "the model is too large for the binary form";
  return std::nullopt;
}

}  // namespace graphopt
