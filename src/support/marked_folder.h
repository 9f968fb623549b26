// Folders that are made for the files of a set and removed with them (support/output_set.h).
//
// Such a folder has a file in it, the mark, whose name says to whom it belongs: one that a user made has none
// and is never removed. It is made under another name and moved, so it never has its name without the mark.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

inline constexpr const char* kFolderMark = ".graphopt-set";

// Returns true for what a list of files cannot say in the name of a folder: a backslash, a control character.
bool is_unfit_for_lists(char c);

// Opens a folder below another one by a name with a slash at its end ("a/b/"), of plain parts and without any
// link; -1 if there is none.
int open_below(int folder, std::string_view prefix);

// Moves a file or a folder to a name that nothing has, where the file system can say so: as renameat().
int move_anew(int from_folder, const std::string& from, int to_folder, const std::string& to);

// Returns true if the mark is in the folder and nothing else.
bool has_mark_alone(int folder);

}  // namespace graphopt
