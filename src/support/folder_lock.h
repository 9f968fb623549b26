// A folder that one process at a time works in.
//
// Problem: two runs may write to the same place, and the one that ends first removes the folder that the
// other one waits for. Method: the folder is made where it is not there, opened and locked (flock); a lock
// counts only if the name still leads to what was locked, else everything is done again.
#pragma once

#include <string>

namespace graphopt {

struct FolderLock {
  int fd = -1;              // holds the lock until it is closed; -1: none
  int error = 0;            // without a lock: why, an errno
  bool in_the_way = false;  // the path is no folder, or a link
};

// Waits for others that hold the lock. Where the file system has no such locks, runs are not kept apart.
FolderLock lock_folder(const std::string& path);

}  // namespace graphopt
