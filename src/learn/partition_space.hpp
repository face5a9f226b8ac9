#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/sharing_template.hpp"

namespace septule::learn {

/// Rows of a state: jobs of a window at most, and jobs in a group at most, as trained.
inline constexpr std::size_t kWindowRows = 12;
inline constexpr std::size_t kFormSeats = 4;

/// What a job sits in, on a GPU of seven compute slices: the whole GPU with MIG off, a GPU instance
/// of its own memory, or a compute instance of a GPU instance that is the whole GPU.
enum class Place : std::uint8_t { kWhole, k4g, k3g, k2g, k1g, k4c, k3c, k2c, k1c };
inline constexpr std::size_t kPlaces = 9;
inline bool is_compute_place(Place place) {
  return place >= Place::k4c;
}

/// Seats in one place: one job alone, or several by MPS.
struct FormPart {
  Place place = Place::kWhole;
  int seats = 1;
  friend auto operator<=>(const FormPart&, const FormPart&) = default;
};
using FormParts = InlineVector<FormPart, kFormSeats>;

/// Templates that differ in percentages only: what the agent chooses; the model then finds the
/// percentages. Larger places first, of equal ones that with more seats. A value.
struct Form {
  std::string name;  ///< "4g{2}+3g", "7g[4c{2}+3c]", "full{2}"
  FormParts parts;
  int seats = 1;
  bool is_shared = false;  ///< compute instances of one GPU instance
};
/// The forms that networks know, by index: the first is time sharing. Their order is part of the
/// weights' format.
std::span<const Form> partition_forms();

/// Forms that groups are begun in; the others are only looked at when a group is closed.
inline constexpr std::size_t kChosenForms = 39;

/// First choice of a group: its form, and in which part of it the lead sits.
struct LeadChoice {
  std::uint8_t form = 0;
  std::uint8_t part = 0;
};
/// Of each form each part that differs, by index: the actions of a network's first step.
std::span<const LeadChoice> lead_choices();

/// A memory domain without its percentages: what a set of jobs is timed in.
struct DomainShape {
  FormParts parts;
  bool is_shared = false;
  std::vector<std::size_t> domains;  ///< of the catalogue, ascending
};

/// Seats a job may be alone in: a place with a percentage, or none.
struct SeatKind {
  Place place = Place::kWhole;
  std::optional<ActiveThreadPercentage> atp;
};

/// A domain of the catalogue as the environment asks for it.
struct DomainSeats {
  InlineVector<std::uint8_t, kFormSeats> kinds;  ///< by seat: index into PartitionSpace::kinds()
  /// Who sits where: position in the parts' jobs, by seat; each that differs once.
  std::vector<std::array<std::uint8_t, kFormSeats>> orders;
};

/// What a catalogue of templates offers to a network: forms with their templates and shapes of
/// domains. Immutable; any thread. The catalogue outlives it. Some tens of microseconds to make.
class PartitionSpace {
 public:
  static constexpr std::size_t kNoShape = SIZE_MAX;

  /// Fails with kInvalidInput, naming the GPU, where it has not seven compute slices and eight
  /// memory slices: networks know no other grid.
  static Result<PartitionSpace> make(const gpu::SharingCatalogue& catalogue);

  const gpu::SharingCatalogue& catalogue() const { return *catalogue_; }
  std::span<const DomainShape> shapes() const { return shapes_; }
  const DomainSeats& seats_of(std::size_t domain) const { return seats_[domain]; }
  std::span<const SeatKind> kinds() const { return kinds_; }
  /// Templates of a form, ascending; none = the catalogue does not have it.
  std::span<const std::size_t> templates(std::size_t form) const { return templates_[form]; }
  /// The shape of these parts; kNoShape where the catalogue has none. A private part is a shape of
  /// its own; a shared form is one.
  std::size_t shape(std::span<const FormPart> parts, bool is_shared) const;
  /// The shape of a private place with so many jobs.
  std::size_t private_shape(Place place, int jobs) const {
    return private_shapes_[static_cast<std::size_t>(place)][static_cast<std::size_t>(jobs)];
  }
  /// The shape of a shared form with so many jobs in each part, no more than its seats; an empty
  /// part counts as one seat.
  std::size_t shared_shape(std::size_t form, std::span<const int> jobs) const;
  /// A place of one part as a co-run model asks for it: profile and compute instances; index of its
  /// compute instance.
  struct ModelPlace {
    bool is_there = false;
    std::optional<ProfileIndex> profile;
    InlineVector<gpu::ComputePlacement, gpu::kSeatsMax> compute;
    int compute_index = 0;
  };
  const ModelPlace& model_place(Place place) const {
    return model_places_[static_cast<std::size_t>(place)];
  }

 private:
  PartitionSpace() = default;
  void add_domain(std::size_t domain);
  void add_templates();
  void index_shapes();
  std::uint8_t kind_index(const SeatKind& kind);

  const gpu::SharingCatalogue* catalogue_ = nullptr;
  std::vector<DomainShape> shapes_;
  std::vector<std::size_t> shape_of_domain_;
  std::vector<DomainSeats> seats_;
  std::vector<SeatKind> kinds_;
  std::vector<std::vector<std::size_t>> templates_;
  std::array<std::array<std::size_t, kFormSeats + 1>, kPlaces> private_shapes_{};
  std::vector<std::array<std::size_t, 256>> shared_shapes_;  ///< by form; two bits for each part
  std::array<ModelPlace, kPlaces> model_places_;
};

/// Seat kinds that every space has first: each place with no percentage, 25, 50 and 75.
inline constexpr std::size_t kKindsOfPlace = 4;
constexpr std::size_t kind_of(Place place, std::size_t quarters) {
  return static_cast<std::size_t>(place) * kKindsOfPlace + quarters % kKindsOfPlace;
}

}  // namespace septule::learn
