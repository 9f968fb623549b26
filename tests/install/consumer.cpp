// What a program that uses the library needs: one include path, one target.
#include <graphopt/version.h>

#include <cstdio>
#include <string>

int main() {
  std::printf("%s\n", std::string(graphopt::version()).c_str());
  return 0;
}
