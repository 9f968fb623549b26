#include "support/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "support/file.h"

namespace graphopt {

void release_mapped(std::string_view bytes) {
  const FileImage* image = bytes.empty() ? nullptr : FileImage::holding(bytes);
  if (image == nullptr || !image->mapped()) return;
  // A map begins with a page.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(bytes.data() - image->bytes().data());
  const std::size_t first = (begin + page - 1) / page * page, end = (begin + bytes.size()) / page * page;
  if (first >= end) return;
  // Maps are read-only, so that no change is lost. It is a hint, so its result is ignored.
  char* const at = const_cast<char*>(image->bytes().data()) + first;
  static_cast<void>(::madvise(at, end - first, MADV_DONTNEED));
}

}  // namespace graphopt
