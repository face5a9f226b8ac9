#pragma once

// Replaces the global operator new of a test program and counts every heap allocation. Included by
// one source of the program only.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// The one mutable global: a replaced operator new has no other place to count.
std::atomic<long> allocation_count{0};  // NOLINT(*-naming)

void* counted(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  std::abort();
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
// The standard library's temporary buffers come from this form and go through the ones below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
