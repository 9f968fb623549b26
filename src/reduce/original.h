// The user's model, as a command may have it.
//
// Problem: a command of the user's may remove its model or write to it, as one that converts a model in place
// does, and what it left would be what the next test sees. Method: it never gets a file of the user's. Each
// test gets a new copy in a folder of its own, byte for byte and under the file's own name, with the data
// files at the places where the model looks for them; all of it goes with the next copy. Weights that the
// model finds by an absolute path, or outside its folder, cannot be copied in this way: then the copy is the
// model as the writer makes it, with its weights beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "support/file.h"
#include "support/temporary_folder.h"

namespace graphopt {

class Original {
 public:
  // `path`: a regular file. `name`: of the copies. Data files may also be below `external_root`.
  static Result<Original> open(const std::string& path, const std::string& name,
                               const std::string& external_root);

  // Makes a new copy and removes the last one with its folder. Returns the path of the model.
  Result<std::string> copy();
  void remove() { folder_.reset(); }

 private:
  struct DataFile {
    std::string location;  // below the model's folder
    std::shared_ptr<const FileImage> image;
  };
  Original() = default;

  std::string name_;
  std::shared_ptr<const FileImage> image_;
  std::vector<DataFile> data_;
  std::shared_ptr<const Model> written_;  // where data files cannot be copied
  std::optional<TemporaryFolder> folder_;
};

// Makes a file with the bytes of an image, in place of what is there. Errors name $TMPDIR.
Status copy_image(const FileImage& from, const std::string& path);

// Of a file that cannot be written in a temporary folder, by the number that the system gave (errno).
Error no_room(const std::string& path, int error);

}  // namespace graphopt
