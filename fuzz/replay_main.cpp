// Replays a corpus through a fuzz target in a build without libFuzzer: each file whole, then cut
// short at sixteen places, since a truncated file is the commonest hostile input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 16;

void replay(const std::string& text) {
  // Exactly as large as the input, so that a sanitizer sees a read past the end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_corpus_NAME DIRECTORY\n", stderr);
    return 2;
  }
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(argv[1], error), end; !error && at != end;
       at.increment(error)) {
    files.push_back(at->path());
  }
  if (error || files.empty()) {
    std::fprintf(stderr, "%s: no corpus there (%s)\n", argv[1], error.message().c_str());
    return 1;
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& path : files) {
    std::fprintf(stderr, "%s\n", path.filename().c_str());
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (std::size_t cut = 0; cut < kCuts; ++cut) {
      replay(text.substr(0, text.size() * cut / kCuts));
    }
    replay(text);
  }
  std::printf("%zu inputs replayed, whole and cut short\n", files.size());
  return 0;
}
