// What the catalogue of templates leaves out is dominated: judged by trying everything.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/catalogue_support.hpp"
#include "gpu/sharing_template.hpp"

namespace septule::gpu {
namespace {

SharingCatalogue made(const Geometry& geometry, const SharingOptions& options = {}) {
  Result<SharingCatalogue> catalogue = make_sharing_catalogue(geometry, options);
  SEPTULE_CHECK(catalogue.has_value(), "tests ask for catalogues that exist");
  return *catalogue;
}

/// Jobs in each part (GPU instance, or compute instance of a shared one), with its size: larger
/// parts first, then more jobs first.
using Parts = std::vector<std::pair<int, int>>;

Parts parts_of(const SharingCatalogue& catalogue, const SharingTemplate& one) {
  Parts parts;
  for (const std::size_t index : one.domains) {
    const MemoryDomain& domain = catalogue.domains[index];
    for (std::size_t c = 0; c < domain.compute.size(); ++c) {
      const auto seats = std::ranges::count(domain.seats, static_cast<int>(c), &Seat::compute);
      parts.emplace_back(domain.compute[c].size.value(), static_cast<int>(seats));
    }
  }
  std::ranges::sort(parts, std::greater<>());
  return parts;
}

/// Whether the parts of `a` can be paired with those of `b` so that none has fewer slices, and each
/// as many jobs. Trying all orders is enough for so few.
bool gives_no_less(Parts a, const Parts& b) {
  std::ranges::sort(a);
  do {
    if (std::ranges::equal(a, b, [](const auto& left, const auto& right) {
          return left.first >= right.first && left.second == right.second;
        })) {
      return true;
    }
  } while (std::ranges::next_permutation(a).found);
  return false;
}

/// All ways to seat `left` jobs in parts of these sizes, at least one in each.
void for_each_seating(const std::vector<int>& sizes,
                      int left,
                      Parts& parts,
                      const std::function<void(const Parts&)>& visit) {
  if (parts.size() == sizes.size()) {
    if (left == 0) {
      visit(parts);
    }
    return;
  }
  for (int jobs = 1; jobs <= left; ++jobs) {
    parts.emplace_back(sizes[parts.size()], jobs);
    for_each_seating(sizes, left - jobs, parts, visit);
    parts.pop_back();
  }
}

TEST(SharingTemplate_Dominance, EveryLegalWayToSeatJobs_IsMatchedByATemplate) {
  // Aim: nothing of worth is left out. For every legal layout and every number of jobs in each
  // instance there is a template that gives each job at least as many slices in as much company.
  for (const std::string_view key : {"A100-80GB", "A30-24GB", "RTX-PRO-6000-Blackwell"}) {
    const Geometry& geometry = test::model(key);
    const SharingCatalogue catalogue = made(geometry, {.concurrency_max = 7});
    std::vector<Parts> offered;
    for (const SharingTemplate& one : catalogue.templates) {
      if (one.family == SharingFamily::kMigPrivate || one.family == SharingFamily::kMigMpsPrivate) {
        offered.push_back(parts_of(catalogue, one));
      }
    }
    std::set<std::vector<int>> multisets;
    for_each_layout(
        geometry, geometry.profiles_in(ProfileSet::kPlain), {}, [&](const Layout& layout, bool) {
          std::vector<int> sizes;
          for (const PlacedProfile& placed : layout) {
            sizes.push_back(geometry.profile(placed.profile).slices.value());
          }
          std::ranges::sort(sizes);
          multisets.insert(sizes);
        });
    for (const std::vector<int>& sizes : multisets) {
      const int alone = static_cast<int>(sizes.size());
      for (int jobs = std::max(alone, 1); jobs <= std::max(alone, kMpsConcurrencyMax); ++jobs) {
        Parts parts;
        for_each_seating(sizes, jobs, parts, [&](const Parts& wanted) {
          EXPECT_TRUE(std::ranges::any_of(offered,
                                          [&](const Parts& parts_offered) {
                                            return parts_offered.size() == wanted.size() &&
                                                   gives_no_less(parts_offered, wanted);
                                          }))
              << key << " " << testing::PrintToString(wanted);
        });
      }
    }
  }
}

TEST(SharingTemplate_Dominance, EveryLegalSetOfComputeInstances_IsMatchedByATemplate) {
  // Aim: the same for compute instances of the instance that is the whole GPU.
  for (const std::string_view key : {"A100-80GB", "A30-24GB"}) {
    const Geometry& geometry = test::model(key);
    const SharingCatalogue catalogue = made(geometry, {.concurrency_max = 7});
    std::vector<Parts> offered;
    for (const SharingTemplate& one : catalogue.templates) {
      if (one.family == SharingFamily::kMigShared || one.family == SharingFamily::kMigMpsShared) {
        offered.push_back(parts_of(catalogue, one));
      }
    }
    const ProfileIndex whole = geometry.plain_profile(geometry.compute_slices()).value();
    std::set<std::vector<int>> multisets;
    for_each_compute_layout(geometry, whole, [&](std::span<const ComputeInstance> inside, bool) {
      std::vector<int> sizes;
      for (const ComputeInstance& instance : inside) {
        sizes.push_back(instance.placement.size.value());
      }
      std::ranges::sort(sizes);
      multisets.insert(sizes);
    });
    for (const std::vector<int>& sizes : multisets) {
      const int alone = static_cast<int>(sizes.size());
      for (int jobs = alone; alone >= 2 && jobs <= std::max(alone, kMpsConcurrencyMax); ++jobs) {
        Parts parts;
        for_each_seating(sizes, jobs, parts, [&](const Parts& wanted) {
          EXPECT_TRUE(std::ranges::any_of(offered,
                                          [&](const Parts& parts_offered) {
                                            return parts_offered.size() == wanted.size() &&
                                                   gives_no_less(parts_offered, wanted);
                                          }))
              << key << " " << testing::PrintToString(wanted);
        });
      }
    }
  }
}

}  // namespace
}  // namespace septule::gpu
