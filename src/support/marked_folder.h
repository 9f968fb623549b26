// Folders that are made for the files of a set and removed with them (support/output_set.h).
//
// Such a folder has a file in it, the mark, whose name says to whom it belongs: one that a user made has none
// and is never removed. It is made under another name and moved, so it never has its name without the mark.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace graphopt {

inline constexpr const char* kFolderMark = ".graphopt-set";

// Returns true for what a list of files cannot say in the name of a folder: a backslash, a control character.
bool is_unfit_for_lists(char c);

// Returns the absolute path of a folder without links as far as it is there, and as it is given behind that;
// "" where no folder can have the path, and then `error` is set. Other runs may make and remove it meanwhile.
std::string real_folder(const std::string& path, std::error_code& error);

// Opens a folder below another one by a name with a slash at its end ("a/b/"), of plain parts and without any
// link; -1 if there is none.
int open_below(int folder, std::string_view prefix);

// Moves a file or a folder to a name that nothing has, where the file system can say so: as renameat().
int move_anew(int from_folder, const std::string& from, int to_folder, const std::string& to);

// Returns true if the mark is in the folder and nothing else.
bool has_mark_alone(int folder);

}  // namespace graphopt
