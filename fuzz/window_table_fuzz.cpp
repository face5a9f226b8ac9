#include "interop/window_table.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static bool is_share(const std::optional<double>& value) {
  return !value.has_value() || (*value >= 0 && *value <= 1);
}

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const char* key : {"A100-80GB", "A30-24GB"}) {
    const gpu::Geometry& geometry = fuzz::geometry(key);
    const auto table = interop::parse_window_table({text, "jobs.csv"}, geometry);
    if (!table) {
      fuzz::require_good(table.error());
      continue;
    }
    fuzz::require(!table->rows.empty(), "a window has jobs");
    for (const interop::WindowRow& row : table->rows) {
      fuzz::require_good(row.job.name);
      fuzz::require(row.job.solo > Duration(), "a job takes time");
      fuzz::require(row.speed.size() == geometry.profiles().size(), "a speed per profile");
      fuzz::require(is_share(row.usable) && is_share(row.serial_share), "shares are in range");
      fuzz::require(is_share(row.memory_share), "the memory share is in range");
      fuzz::require(!row.kernel.has_value() || *row.kernel > Duration(), "kernels take time");
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
