#include "learn/partition_space.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/geometry.hpp"

namespace septule::learn {
namespace {

constexpr int kGridCompute = 7;
constexpr int kGridMemory = 8;

// An A100's catalogue for up to four jobs, without MPS inside a GPU instance of the whole GPU,
// which is never better than without MIG. From kChosenForms on: cuts beside which another gives
// every job as much; they may be better only for jobs that get in each other's way.
constexpr std::array<std::string_view, 45> kFormNames = {"full",
                                                         "full{2}",
                                                         "4g+3g",
                                                         "7g[4c+3c]",
                                                         "full{3}",
                                                         "4g+2g+1g",
                                                         "3g+2g+2g",
                                                         "7g[4c+2c+1c]",
                                                         "7g[3c+2c+2c]",
                                                         "7g[3c+3c+1c]",
                                                         "4g{2}+3g",
                                                         "4g+3g{2}",
                                                         "7g[4c{2}+3c]",
                                                         "7g[4c+3c{2}]",
                                                         "full{4}",
                                                         "2g+2g+2g+1g",
                                                         "3g+2g+1g+1g",
                                                         "4g+1g+1g+1g",
                                                         "7g[2c+2c+2c+1c]",
                                                         "7g[3c+2c+1c+1c]",
                                                         "7g[4c+1c+1c+1c]",
                                                         "4g{3}+3g",
                                                         "4g{2}+3g{2}",
                                                         "4g+3g{3}",
                                                         "4g{2}+2g+1g",
                                                         "4g+2g{2}+1g",
                                                         "4g+2g+1g{2}",
                                                         "3g{2}+2g+2g",
                                                         "3g+2g{2}+2g",
                                                         "7g[4c{3}+3c]",
                                                         "7g[4c{2}+3c{2}]",
                                                         "7g[4c+3c{3}]",
                                                         "7g[4c{2}+2c+1c]",
                                                         "7g[4c+2c{2}+1c]",
                                                         "7g[4c+2c+1c{2}]",
                                                         "7g[3c{2}+2c+2c]",
                                                         "7g[3c+2c{2}+2c]",
                                                         "7g[3c{2}+3c+1c]",
                                                         "7g[3c+3c+1c{2}]",
                                                         "3g+1g+1g+1g",
                                                         "3g+3g",
                                                         "7g[3c+3c]",
                                                         "3g+2g+1g",
                                                         "7g[3c+2c+1c]",
                                                         "7g[3c+1c+1c+1c]"};

bool comes_before(const FormPart& a, const FormPart& b) {
  return a.place != b.place ? a.place < b.place : a.seats > b.seats;
}

/// Adds behind all that are not greater. (Sorting a short inline list makes g++ 12 warn.)
template <class List, class Item, class Less>
void insert_sorted(List& list, const Item& item, Less less) {
  list.push_back(item);
  for (std::size_t at = list.size() - 1; at > 0 && less(list[at], list[at - 1]); --at) {
    std::swap(list[at], list[at - 1]);
  }
}

/// The place of so many slices: 'g' or 'c'.
Place place_of(int slices, bool is_compute) {
  const Place first = is_compute ? Place::k4c : Place::k4g;
  return static_cast<Place>(static_cast<int>(first) + 4 - slices);
}

/// A name of the list above taken apart.
Form parsed_form(std::string_view name) {
  Form form;
  form.name = name;
  form.seats = 0;
  form.is_shared = name.find('[') != std::string_view::npos;
  std::string_view rest = name;
  if (form.is_shared) {
    rest = rest.substr(3, rest.size() - 4);  // within "7g[" and "]"
  }
  while (!rest.empty()) {
    const std::string_view text = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    FormPart part;
    part.place = text.starts_with("full") ? Place::kWhole : place_of(text[0] - '0', form.is_shared);
    const std::size_t brace = text.find('{');
    part.seats = brace == std::string_view::npos ? 1 : text[brace + 1] - '0';
    form.parts.push_back(part);
    form.seats += part.seats;
  }
  SEPTULE_CHECK(std::ranges::is_sorted(form.parts, comes_before), "forms have larger places first");
  return form;
}

std::vector<Form> make_forms() {
  std::vector<Form> forms;
  for (const std::string_view name : kFormNames) {
    forms.push_back(parsed_form(name));
  }
  return forms;
}

std::vector<LeadChoice> make_lead_choices() {
  std::vector<LeadChoice> choices;
  for (std::size_t form = 0; form < kChosenForms; ++form) {
    const FormParts& parts = partition_forms()[form].parts;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      // Equal parts stand next to one another; which of them the lead takes makes no difference.
      if (part == 0 || parts[part] != parts[part - 1]) {
        choices.push_back(
            {.form = static_cast<std::uint8_t>(form), .part = static_cast<std::uint8_t>(part)});
      }
    }
  }
  return choices;
}

/// A domain's parts with the indices of their compute instances, sorted as forms are; empty parts
/// where a network does not know such a domain.
struct SortedParts {
  FormParts parts;
  InlineVector<int, kFormSeats> compute;
  bool is_shared = false;
};

SortedParts sorted_parts(const gpu::Geometry& geometry, const gpu::MemoryDomain& domain) {
  SortedParts out;
  if (domain.seats.size() > kFormSeats) {
    return out;
  }
  struct One {
    FormPart part;
    int compute = 0;
  };
  InlineVector<One, kFormSeats> found;
  const auto seats_in = [&](int compute) {
    return static_cast<int>(std::ranges::count_if(
        domain.seats, [&](const gpu::Seat& seat) { return seat.compute == compute; }));
  };
  if (!domain.profile.has_value()) {
    found.push_back({.part = {.place = Place::kWhole, .seats = seats_in(0)}, .compute = 0});
  } else {
    const int slices = geometry.profile(*domain.profile).slices.value();
    out.is_shared = slices == kGridCompute;
    if (domain.compute.size() > kFormSeats || (out.is_shared && domain.compute.size() < 2) ||
        (!out.is_shared && domain.compute.size() != 1)) {
      return {};
    }
    for (std::size_t i = 0; i < domain.compute.size(); ++i) {
      const int size = domain.compute[i].size.value();
      if (size > 4 || (!out.is_shared && size != slices)) {
        return {};
      }
      const int compute = static_cast<int>(i);
      insert_sorted(
          found,
          One{.part = {.place = place_of(size, out.is_shared), .seats = seats_in(compute)},
              .compute = compute},
          [](const One& a, const One& b) { return comes_before(a.part, b.part); });
    }
  }
  for (const One& one : found) {
    out.parts.push_back(one.part);
    out.compute.push_back(one.compute);
  }
  return out;
}

/// Adds each order of jobs in the seats that differs: jobs of a part may change places where
/// percentages differ.
void add_orders(const gpu::MemoryDomain& domain, const SortedParts& sorted, DomainSeats& out) {
  std::array<std::uint8_t, kFormSeats> positions{};
  std::iota(positions.begin(), positions.end(), std::uint8_t{0});
  const std::size_t count = domain.seats.size();
  // Position p is a job of part part_of[p]; seats of that part take its jobs.
  std::array<int, kFormSeats> compute_of{};
  std::size_t at = 0;
  for (std::size_t part = 0; part < sorted.parts.size(); ++part) {
    for (int seat = 0; seat < sorted.parts[part].seats; ++seat) {
      compute_of[at++] = sorted.compute[part];
    }
  }
  do {
    bool is_new = true;
    for (std::size_t seat = 0; seat < count && is_new; ++seat) {
      is_new = compute_of[positions[seat]] == domain.seats[seat].compute;
      if (seat > 0 && domain.seats[seat] == domain.seats[seat - 1]) {
        is_new = is_new && positions[seat - 1] < positions[seat];
      }
    }
    if (is_new) {
      out.orders.push_back(positions);
    }
  } while (std::next_permutation(positions.begin(),
                                 positions.begin() + static_cast<std::ptrdiff_t>(count)));
}

}  // namespace

std::span<const Form> partition_forms() {
  static const std::vector<Form> forms = make_forms();
  return forms;
}

std::span<const LeadChoice> lead_choices() {
  static const std::vector<LeadChoice> choices = make_lead_choices();
  return choices;
}

Result<PartitionSpace> PartitionSpace::make(const gpu::SharingCatalogue& catalogue) {
  const gpu::Geometry& geometry = *catalogue.geometry;
  if (geometry.compute_slices().value() != kGridCompute ||
      geometry.memory_slices().value() != kGridMemory) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the network for windows was trained for GPUs of {} compute and {} "
                             "memory slices; {} has {} and {}. Use the methods exact or beam",
                             kGridCompute,
                             kGridMemory,
                             geometry.key(),
                             geometry.compute_slices().value(),
                             geometry.memory_slices().value())};
  }
  PartitionSpace space;
  space.catalogue_ = &catalogue;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    for (std::size_t quarter = 0; quarter < kKindsOfPlace; ++quarter) {
      SeatKind kind{.place = static_cast<Place>(place), .atp = std::nullopt};
      if (quarter > 0) {
        kind.atp = ActiveThreadPercentage(static_cast<int>(25 * quarter));
      }
      space.kinds_.push_back(kind);
    }
  }
  for (std::size_t domain = 0; domain < catalogue.domains.size(); ++domain) {
    space.add_domain(domain);
  }
  space.add_templates();
  space.index_shapes();
  return space;
}

std::uint8_t PartitionSpace::kind_index(const SeatKind& kind) {
  const auto found = std::ranges::find_if(
      kinds_, [&](const SeatKind& one) { return one.place == kind.place && one.atp == kind.atp; });
  if (found == kinds_.end()) {
    kinds_.push_back(kind);
    return static_cast<std::uint8_t>(kinds_.size() - 1);
  }
  return static_cast<std::uint8_t>(found - kinds_.begin());
}

std::size_t PartitionSpace::shape(std::span<const FormPart> parts, bool is_shared) const {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].is_shared == is_shared && std::ranges::equal(shapes_[i].parts, parts)) {
      return i;
    }
  }
  return kNoShape;
}

void PartitionSpace::add_domain(std::size_t domain) {
  const gpu::MemoryDomain& of = catalogue_->domains[domain];
  const SortedParts sorted = sorted_parts(*catalogue_->geometry, of);
  DomainSeats& seats = seats_.emplace_back();
  shape_of_domain_.push_back(kNoShape);
  if (sorted.parts.empty()) {
    return;
  }
  std::size_t index = shape({sorted.parts.begin(), sorted.parts.end()}, sorted.is_shared);
  if (index == kNoShape) {
    index = shapes_.size();
    shapes_.push_back({.parts = sorted.parts, .is_shared = sorted.is_shared, .domains = {}});
  }
  shapes_[index].domains.push_back(domain);
  shape_of_domain_.back() = index;
  for (std::size_t part = 0; part < sorted.parts.size(); ++part) {
    ModelPlace& place = model_places_[static_cast<std::size_t>(sorted.parts[part].place)];
    if (!place.is_there) {
      place.is_there = true;
      place.profile = of.profile;
      for (const gpu::ComputePlacement& compute : of.compute) {
        place.compute.push_back(compute);
      }
      place.compute_index = sorted.compute[part];
    }
  }
  for (const gpu::Seat& seat : of.seats) {
    const auto part = std::ranges::find(sorted.compute, seat.compute) - sorted.compute.begin();
    const Place place = sorted.parts[static_cast<std::size_t>(part)].place;
    seats.kinds.push_back(kind_index({.place = place, .atp = seat.atp}));
  }
  add_orders(of, sorted, seats);
}

void PartitionSpace::add_templates() {
  const std::span<const Form> forms = partition_forms();
  templates_.resize(forms.size());
  for (std::size_t t = 0; t < catalogue_->templates.size(); ++t) {
    const gpu::SharingTemplate& one = catalogue_->templates[t];
    InlineVector<FormPart, gpu::kSeatsMax> parts;
    bool is_known = one.concurrency <= static_cast<int>(kFormSeats);
    bool is_shared = false;
    for (const std::size_t domain : one.domains) {
      const std::size_t index = shape_of_domain_[domain];
      is_known = is_known && index != kNoShape;
      if (!is_known) {
        break;
      }
      is_shared = shapes_[index].is_shared;
      for (const FormPart& part : shapes_[index].parts) {
        insert_sorted(parts, part, comes_before);
      }
    }
    const auto form = std::ranges::find_if(forms, [&](const Form& known) {
      return known.is_shared == is_shared && std::ranges::equal(known.parts, parts);
    });
    if (is_known && form != forms.end()) {
      templates_[static_cast<std::size_t>(form - forms.begin())].push_back(t);
    }
  }
}

namespace {

/// Where a shared form's table has so many jobs in each part.
std::size_t place_in_table(std::span<const int> jobs) {
  std::size_t index = 0;
  for (std::size_t part = 0; part < jobs.size(); ++part) {
    index |= static_cast<std::size_t>(jobs[part]) << (2 * part);
  }
  return index;
}

}  // namespace

void PartitionSpace::index_shapes() {
  for (std::size_t place = 0; place < kPlaces; ++place) {
    private_shapes_[place].fill(kNoShape);
    for (int jobs = 1; jobs <= static_cast<int>(kFormSeats); ++jobs) {
      const FormPart part{.place = static_cast<Place>(place), .seats = jobs};
      private_shapes_[place][static_cast<std::size_t>(jobs)] = shape({&part, 1}, false);
    }
  }
  shared_shapes_.resize(partition_forms().size());
  for (std::size_t form = 0; form < partition_forms().size(); ++form) {
    shared_shapes_[form].fill(kNoShape);
    const Form& of = partition_forms()[form];
    if (!of.is_shared || templates_[form].empty()) {
      continue;
    }
    std::array<int, kFormSeats> jobs{};
    const auto fill = [&](const auto& self, std::size_t part) -> void {
      if (part < of.parts.size()) {
        for (jobs[part] = 0; jobs[part] <= of.parts[part].seats; ++jobs[part]) {
          self(self, part + 1);
        }
        return;
      }
      FormParts parts;
      for (std::size_t i = 0; i < of.parts.size(); ++i) {
        parts.push_back({.place = of.parts[i].place, .seats = std::max(jobs[i], 1)});
      }
      shared_shapes_[form][place_in_table(std::span(jobs).first(of.parts.size()))] =
          shape({parts.begin(), parts.size()}, true);
    };
    fill(fill, 0);
  }
}

std::size_t PartitionSpace::shared_shape(std::size_t form, std::span<const int> jobs) const {
  return shared_shapes_[form][place_in_table(jobs)];
}

}  // namespace septule::learn
