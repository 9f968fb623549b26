#include "console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "log.h"
#include "progress.h"

namespace graphopt::tool {
namespace {

bool want_color(When when) {
  if (when != When::Auto) return when == When::Always;
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: any value but an empty one
  const char* term = std::getenv("TERM");
  return !(no_color && *no_color) && ::isatty(STDERR_FILENO) == 1 &&
         !(term && std::string_view(term) == "dumb");
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string visible(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string for_terminal(std::string text) {
  winsize size = {};
  constexpr std::size_t kLeast = 40;
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < kLeast)
    return text;
  constexpr std::string_view kCut = "...";
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // Columns are counted in characters: bytes that continue one of UTF-8 take no room.
    std::size_t columns = 0, cut = begin, at = begin;
    for (; at < end && columns <= size.ws_col; ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
      if (++columns <= size.ws_col - kCut.size() + 1) cut = at;
    }
    if (columns > size.ws_col) out.append(text, begin, cut - begin).append(kCut);
    else out.append(text, begin, end - begin);
    out += '\n';
    begin = end + 1;
  }
  return out;
}

Console::Console(const ToolOptions& options) : options_(options), color_(want_color(options.color)) {
  const bool wanted = options.progress == When::Auto && !options.quiet;
  if (wanted && ::isatty(STDERR_FILENO) == 1) progress_ = std::make_unique<Progress>();
}

Console::~Console() = default;

bool Console::wants(LogLevel level) const {
  return level >= (options_.quiet ? LogLevel::Error : options_.level());
}

void Console::log(LogLevel level, std::string_view message) {
  if (!wants(level)) return;
  if (progress_) progress_->clear();
  if (!log_) log_ = std::make_unique<Log>(LogLevel::Trace, color_);
  log_->write(level, visible(message));
}

void Console::stage(Stage stage) { begin(stage_name(stage)); }

void Console::begin(std::string_view what) {
  if (progress_) progress_->begin(what);
}

void Console::step(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (progress_) progress_->step(what, done, total);
}

void Console::text(std::string_view pass, std::string_view model) {
  if (progress_) progress_->clear();
  write_stderr("# after " + visible(pass) + "\n");
  write_stderr(model);
  if (!model.ends_with('\n')) write_stderr("\n");
}

void Console::error(const Error& error) {
  if (progress_) progress_->clear();
  std::string text = to_string(error) + '\n';
  constexpr std::string_view kWord = "error:";
  const std::size_t at = text.find(kWord);
  if (color_ && at != std::string::npos) {
    text.insert(at + kWord.size(), "\x1b[0m");
    text.insert(at, "\x1b[1;31m");
  }
  write_stderr(text);
}

void Console::print(std::string_view text) {
  if (options_.quiet) return;
  if (progress_) progress_->clear();
  write_stderr(text);
}

void Console::finish() {
  if (progress_) progress_->stop();
  progress_.reset();
}

}  // namespace graphopt::tool
