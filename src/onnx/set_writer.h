// Saves several models as one set of files: the models, one data file for all of them, and a list.
//
// Problem: the parts of a model, or its forms for several input sizes, are of use together only. Written one
// by one they repeat the weights that they share, and a run that ends in the middle leaves a mixture. Method:
// payloads of all models go into one data file, each once by its content, at the place that it gets when the
// models are gone through in their order. The data file is named by its content; the models, which name it,
// by theirs. support/output_set.h makes the files appear together, with the list as the one step that
// replaces the old set. There are two phases: write_set() writes all files but the list, commit() gives them
// their names with the list that the caller made of what was written. A model of the user's name (OUT) can be
// written with the set and share its data file.
// Equal models, options and names give equal bytes.
// docs/output-sets.md: the format, the order of all steps, what holds after a crash.
//
//   const SetModel parts[] = {{&m, options_of_part_0, "net.s0"}, {&m, options_of_part_1, "net.s1"}};
//   Result<WrittenSet> set = write_set(parts, {.list = "out/net.json", .data_name = "net"});
//   set->commit(list_of(set->saved()))
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "onnx/writer.h"
#include "support/output_set.h"

namespace graphopt {

struct SetModel {
  const Model* model = nullptr;
  // `part` and `types` as for one model: entries of `types` for values that are not in the part are ignored,
  // so the types of all parts may be given with each. PartTypes (driver/shapes.h) makes them. `external`:
  // Never keeps everything in the model's own file; otherwise each initializer of `external_threshold` bytes
  // or more goes into the data file. `path` and `force` are for SetOptions::out only.
  SaveOptions options;
  std::string name;  // what its file's name begins with
};

struct SavedSet {
  std::vector<SetFile> models;  // in the order given
  std::optional<SetFile> data;  // none when no model needs it
  std::optional<SavedFiles> out;
  // SetOptions::out as the list can name it; its name is empty where it stands outside the list's folder.
  std::optional<SetFile> out_file;
  std::uint64_t list_bytes = 0;  // known after WrittenSet::commit()

  // The data file, if there is one, then the models.
  std::vector<SetFile> files() const;
};

struct SetOptions {
  std::string list;  // the path of the list; the other files stand in its folder, in OUT's, or in `folder`
  // What the data file's name begins with. A model of this name beside it keeps an old data file that it
  // refers to: such files are removed after it was replaced.
  std::string data_name = "data";
  bool force = false;  // replace a list that is write-protected, or a file that is no list
  // Reads the text of a list that an earlier run wrote, or of any other file that the user named, and throws
  // nothing. Names in it are relative to the list's folder. It returns all files with their names and
  // SHA-256, the data file too: those that it leaves out are never removed. Nothing: the text is no such
  // list.
  ListReader read_list = read_plain_list;
  // OUT: a model that is also written to a name of the user's choice, `options.path`, just before the list.
  // It is no file of the set. Use it when a run writes both: an OUT that was saved before stays when the set
  // then fails. It is what save_model writes and needs none of the set's files (its data file is no link to
  // the set's: onnx refuses data files of several links), unless:
  const SetModel* out = nullptr;
  // The weights of OUT go into the set's data file, before those of the models, and `options.external` counts
  // as in a model of the set. All files but the list then stand in OUT's folder, which is the list's or one
  // below it, and the data file is named after OUT: data_name is not used.
  bool out_shares_data = false;
  // The folder of all files but the list and OUT: the list's or one below it, and, where OUT shares the data
  // file, OUT's or one below it, since no model may refer to a file above its own folder. It is made if it is
  // not there. Empty: OUT's where OUT shares the data file, else the list's.
  std::string folder;
};

// What write_set() has written: nothing has its name yet, and no other run can write the set while this
// lives. Destroyed without commit(), it leaves everything as it was.
class WrittenSet {
 public:
  WrittenSet(WrittenSet&&) noexcept;
  ~WrittenSet();

  const SavedSet& saved() const;
  // Gives all files their names and replaces the list by this text, once. After an error of kind Output
  // everything is as it was.
  Status commit(std::string_view list_text);

 private:
  friend Result<WrittenSet> write_set(std::span<const SetModel> models, const SetOptions& options);
  struct State;
  explicit WrittenSet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes the models, their data file and OUT. Models and options must outlive the result.
Result<WrittenSet> write_set(std::span<const SetModel> models, const SetOptions& options);
// Does both, with a plain list.
Result<SavedSet> save_set(std::span<const SetModel> models, const SetOptions& options);

}  // namespace graphopt
