#include "interop/nvidia_smi_listing.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/layout.hpp"
#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::builtin_catalogue;
using test::model;
using test::profile_of;
using test::refusal;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kGiHead =
    "+---------------------------------------------------------+\n"
    "| GPU instances:                                          |\n"
    "| GPU   Name               Profile  Instance   Placement  |\n"
    "|                            ID       ID       Start:Size |\n"
    "|=========================================================|\n";
constexpr std::string_view kCiHead =
    "+--------------------------------------------------------------------+\n"
    "| Compute instances:                                                 |\n"
    "| GPU     GPU       Name             Profile   Instance   Placement  |\n"
    "|       Instance                       ID        ID       Start:Size |\n"
    "|         ID                                                         |\n"
    "|====================================================================|\n";
constexpr std::string_view kEnd = "+---------------------------------------------------------+\n";

std::string table(std::string_view head, std::initializer_list<std::string_view> rows) {
  std::string text(head);
  for (const std::string_view row : rows) {
    text += row;
    text += "\n";
    text += kEnd;
  }
  return text;
}

const std::string kGi = table(kGiHead,
                              {"|   0  MIG 1g.5gb            19        9          6:1     |",
                               "|   0  MIG 2g.10gb           14        3          4:2     |",
                               "|   0  MIG 4g.20gb            5        2          0:4     |"});
const std::string kCi =
    table(kCiHead,
          {"|   0      9       MIG 1g.5gb           0         0          0:1     |",
           "|   0      3       MIG 1c.2g.10gb       0         1          1:1     |",
           "|   0      3       MIG 1c.2g.10gb       0         0          0:1     |",
           "|   0      2       MIG 4g.20gb          3         0          0:4     |"});

Result<SmiListing> read(const std::string& text, std::string_view key = "A100-40GB") {
  return parse_smi_listing({text, "paste"}, model(key));
}

TEST(SmiListing, BothTables_GiveInstancesWithIds) {
  // The published transcript of an A100 with prompts around comes out whole.
  const auto listing =
      read("root@n1:~# nvidia-smi mig -lgi\n" + kGi + "root@n1:~# nvidia-smi mig -lci\n" + kCi);
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->inventory.gpus.size(), 1U);
  const gpu::ObservedGpu& gpu = listing->inventory.gpus[0];
  EXPECT_EQ(gpu::partition_text(*gpu.geometry, gpu.partition()),
            "4g.20gb@0,2g.10gb@4[1c@0,1c@1],1g.5gb@6");
  EXPECT_EQ(gpu.instances[0].id, GpuInstanceId(2));
  EXPECT_EQ(gpu.instances[1].id, GpuInstanceId(3));
  ASSERT_TRUE(gpu.instances[1].compute_instances.has_value());
  EXPECT_EQ(gpu.instances[1].compute_instances->at(1).id, ComputeInstanceId(1));
  ASSERT_EQ(listing->notes.size(), 1U);
  EXPECT_THAT(listing->notes[0], HasSubstr("taken as idle"));
}

TEST(SmiListing, OrderAndCrlf_DoNotMatter) {
  // -lci first, Windows line ends, a byte order mark.
  std::string text = "\xEF\xBB\xBF" + kCi + "\n" + kGi;
  std::string crlf;
  for (const char c : text) {
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  }
  const auto listing = read(crlf);
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->inventory.gpus[0].instances.size(), 3U);
}

TEST(SmiListing, GpuInstancesAlone_LeaveComputeInstancesUnlisted) {
  // Not listed is not the same as none.
  const auto alone = read(kGi);
  ASSERT_TRUE(alone) << alone.error().message;
  for (const gpu::ObservedInstance& instance : alone->inventory.gpus[0].instances) {
    EXPECT_EQ(instance.compute_instances, std::nullopt);
  }
  const auto none = read(kGi + "No compute instances found: Not Found\n");
  ASSERT_TRUE(none) << none.error().message;
  for (const gpu::ObservedInstance& instance : none->inventory.gpus[0].instances) {
    ASSERT_TRUE(instance.compute_instances.has_value());
    EXPECT_THAT(*instance.compute_instances, IsEmpty());
  }
}

TEST(SmiListing, ComputeTableOfOneGpu_LeavesTheOtherUnlisted) {
  // "-i 0 -lci" beside "-lgi" of the node must not make GPU 1's compute instances vanish.
  const auto listing = read(
      table(kGiHead, {"|   0  MIG 7g.40gb 0 0 0:8 |", "|   1  MIG 7g.40gb 0 0 0:8 |"}) +
      table(kCiHead, {"|   0      0       MIG 7g.40gb          4         0          0:8     |"}));
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_TRUE(listing->inventory.gpus[0].instances[0].compute_instances.has_value());
  EXPECT_FALSE(listing->inventory.gpus[1].instances[0].compute_instances.has_value());
  EXPECT_THAT(listing->notes[0], HasSubstr("no row of GPU 1"));
}

TEST(SmiListing, EmptyAnswers_AreGpuZero) {
  // The answers without a table name no GPU, which is said.
  const auto none = read("$ nvidia-smi mig -lgi\nNo GPU instances found: Not Found\n");
  ASSERT_TRUE(none) << none.error().message;
  ASSERT_EQ(none->inventory.gpus.size(), 1U);
  EXPECT_TRUE(none->inventory.gpus[0].is_mig_enabled);
  EXPECT_THAT(none->inventory.gpus[0].instances, IsEmpty());
  EXPECT_THAT(none->notes[0], HasSubstr("names no GPU"));
  const auto off = read("No MIG-enabled devices found.\n");
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_FALSE(off->inventory.gpus[0].is_mig_enabled);
}

TEST(SmiListing, WarningsAndOtherTables_ArePassedOver) {
  // Newer drivers warn between rows; people paste more than was asked for.
  std::string text = kGi;
  const std::size_t second = text.find("|   0  MIG 2g");
  text.insert(second, "WARNING: infoROM is corrupted at gpu 0000:00:00.0\n");
  const auto listing = read(
      "+----+\n| NVIDIA-SMI 535.104 |\n| 0  A100  On |\n+----+\n\n" + text +
      "\n+---+\n| GPU instance profiles: |\n|===|\n|   0  MIG 1g.5gb 19 7/7 4.75 No 14 |\n+---+\n");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->inventory.gpus[0].instances.size(), 3U);
}

TEST(SmiListing, OtherSpellings_AreNotedAndIdsDecide) {
  // The same profile has other names under other drivers; the double-memory 1g prints CI id 7, 0:2.
  const auto h100 = read(
      table(kGiHead, {"|   0  MIG 1g.24gb 15 6 0:2 |"}) +
          table(kCiHead, {"|   0      6       MIG 1g.24gb          7         0          0:2 |"}),
      "H100-94GB");
  ASSERT_TRUE(h100) << h100.error().message;
  EXPECT_EQ(h100->inventory.gpus[0].instances[0].placed.profile,
            profile_of(model("H100-94GB"), "1g.24gb"));
  const auto odd = read(table(kGiHead, {"|   0  MIG 3g.19gb 9 2 4:4 |"}));
  ASSERT_TRUE(odd) << odd.error().message;
  EXPECT_THAT(odd->notes[0], HasSubstr("3g.19gb is taken as 3g.20gb of A100-40GB"));
}

TEST(SmiListing, OldDriverWithoutPlacement_IsReadWhereItIsClear) {
  // A full compute instance has one place; a part of one may stand anywhere.
  const std::string gi = table(kGiHead, {"|   0  MIG 3g.20gb 9 1 4:4 |"});
  const auto full = read(gi + table(kCiHead, {"|   0      1       MIG 3g.20gb 2 0 |"}));
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->inventory.gpus[0].instances[0].compute_instances->size(), 1U);
  EXPECT_THAT(refusal(read(gi + table(kCiHead, {"|   0      1       MIG 1c.3g.20gb 0 0 |"}))),
              HasSubstr("placement: is missing"));
}

TEST(SmiListing, TwoTablesOfOneKind_MayNotShareAGpu) {
  // A paste of before and after would make one state of two; a table for each GPU is fine.
  const auto gi = [](std::string_view row) { return table(kGiHead, {row}); };
  const auto ci = [](std::string_view row) { return table(kCiHead, {row}); };
  const std::string before = gi("|   0  MIG 1g.5gb 19 8 1:1 |");
  EXPECT_THAT(refusal(read(before + gi("|   0  MIG 1g.5gb 19 9 2:1 |"))),
              HasSubstr("GPU 0 is in two -lgi tables of the paste; paste one listing"));
  EXPECT_THAT(refusal(read(before + ci("|   0      8       MIG 1g.5gb 0 0 0:1 |") +
                           ci("|   0      8       MIG 1g.5gb 0 1 0:1 |"))),
              HasSubstr("GPU 0 is in two -lci tables of the paste; paste one listing"));
  const auto both = read(before + gi("|   1  MIG 1g.5gb 19 9 2:1 |"));
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->inventory.gpus.size(), 2U);
}

TEST(SmiListing, Contradictions_AreRefused) {
  // Name, id and placement must agree with the model and with each other.
  const auto gi = [](std::string_view row) { return table(kGiHead, {row}); };
  EXPECT_THAT(
      refusal(read(gi("|   0  MIG 3g.20gb 19 2 4:4 |"))),
      HasSubstr("paste:6: name: \"3g.20gb\" does not go with profile id 19, which is 1g.5gb"));
  EXPECT_THAT(refusal(read(gi("|   0  MIG 2g.19gb 9 2 4:4 |"))), HasSubstr("does not go with"));
  EXPECT_THAT(
      refusal(read(gi("|   0  MIG 3g.20gb 99 2 4:4 |"))),
      HasSubstr("paste:6: profile id: 99 is no profile of A100-40GB; its ids are 19 (1g.5gb)"));
  EXPECT_THAT(refusal(read(gi("|   0  MIG 3g.20gb 9 2 3:4 |"))),
              HasSubstr("paste:6: placement: 3:4 is no placement of 3g.20gb on A100-40GB; possible "
                        "are 0:4 and 4:4"));
  EXPECT_THAT(refusal(read(kGi + "\n" + kGi)), HasSubstr("GPU 0 is in two -lgi tables"));
  EXPECT_THAT(refusal(read(table(
                  kGiHead, {"|   0  MIG 1g.5gb 19 9 0:1 |", "|   0  MIG 1g.5gb 19 9 1:1 |"}))),
              HasSubstr("is listed twice"));
  EXPECT_THAT(refusal(read(table(
                  kGiHead, {"|   0  MIG 3g.20gb 9 2 4:4 |", "|   0  MIG 1g.5gb 19 9 6:1 |"}))),
              HasSubstr("not a state GPU 0 (A100-40GB) can be in"));
  EXPECT_THAT(refusal(read(kCi)), HasSubstr("paste:7: GPU instance id: no -lgi table lists"));
  const auto ci = [](std::string_view row) { return kGi + table(kCiHead, {row}); };
  EXPECT_THAT(refusal(read(ci("|   0      9       MIG 4g.20gb 3 0 0:4 |"))),
              HasSubstr("cannot stand in GPU instance 9, which is 1g.5gb"));
  EXPECT_THAT(refusal(read(ci("|   0      2       MIG 1c.4g.20gb 1 0 0:1 |"))),
              HasSubstr("profile id: 1 is the compute instance of 2 slices"));
  EXPECT_THAT(refusal(read(ci("|   0      2       MIG 1c.4g.20gb 0 0 4:1 |"))),
              HasSubstr("4:1 is no place of"));
  EXPECT_THAT(refusal(read(kGi, "RTX-6000D")), HasSubstr("no profile table"));
}

TEST(SmiListing, CutOffPastes_AreRefused) {
  // What is not listed would pass for free, so a table must be whole: every cut is noticed.
  EXPECT_THAT(refusal(read(std::string(kGiHead))), HasSubstr("not closed"));
  EXPECT_THAT(refusal(read("|   0  MIG 1g.5gb 19 9 6:1 |\n")), HasSubstr("without its heading"));
  EXPECT_THAT(refusal(read("| GPU instances: |\n|   0  MIG 1g.5gb 19 9 6:1 |\n")),
              HasSubstr("paste:2: a row before the line"));
  EXPECT_THAT(
      refusal(read(std::string(kGiHead) + "|   0  MIG 1g.5gb 19 9 6:1\n" + std::string(kEnd))),
      HasSubstr("paste:6: \"|   0  MIG 1g.5gb 19 9 6:1\" is not a whole row"));
  EXPECT_THAT(refusal(read("hello\n")), HasSubstr("no listing found"));
  const std::size_t rows_from = kGi.find("|   0");
  for (std::size_t length = 1; length + 1 < kGi.size(); ++length) {
    const auto listing = read(kGi.substr(0, length));
    if (listing) {
      // Only right after a whole closing line can a cut not be told from an end.
      EXPECT_GT(length, rows_from);
      const std::string before = kGi.substr(0, length);
      const std::string end(kEnd.substr(0, kEnd.size() - 1));
      EXPECT_TRUE(before.ends_with(end) || before.ends_with(kEnd)) << before;
    }
  }
}

TEST(SmiListing, LostRow_IsNoticedByItsTwoLines) {
  // A row that somebody deleted leaves the lines around it behind.
  for (const std::string_view lost : {"MIG 1g.5gb", "MIG 2g.10gb"}) {
    std::string text = kGi;
    const std::size_t at = text.find(lost);
    const std::size_t from = text.rfind('\n', at) + 1;
    text.erase(from, text.find('\n', at) + 1 - from);
    if (lost == "MIG 1g.5gb") {
      // The first row: the heading's line is followed by a closing line, as in an empty table.
      EXPECT_THAT(refusal(read(text)), HasSubstr("closes the heading"));
    } else {
      EXPECT_THAT(refusal(read(text)), HasSubstr("follow each other"));
    }
  }
}

TEST(SmiListing, EveryMaximalLayoutOfEveryModel_RoundTripsThroughText) {
  // A listing written in nvidia-smi's form is read back to the same partition for every model.
  for (const gpu::Geometry& geometry : builtin_catalogue().geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kAll)) {
      std::string text(kGiHead);
      int id = 0;
      for (const gpu::PlacedProfile& placed : layout) {
        const gpu::GpuInstanceProfile& profile = geometry.profile(placed.profile);
        text += "|   0  MIG " + profile.name + "  " + std::to_string(profile.smi_id.value()) +
                "  " + std::to_string(id++) + "  " + std::to_string(placed.start.value()) + ":" +
                std::to_string(profile.size().value()) + "  |\n" + std::string(kEnd);
      }
      const auto listing = parse_smi_listing({text, "paste"}, geometry);
      ASSERT_TRUE(listing) << geometry.key() << ": " << listing.error().message;
      EXPECT_EQ(listing->inventory.gpus.front().layout(), layout);
    }
  }
}

TEST(SmiListing, LooksLike_TellsPasteFromJson) {
  // The command line takes either for FROM.
  EXPECT_TRUE(looks_like_smi_listing(kGi));
  EXPECT_FALSE(looks_like_smi_listing(" \n{\"schema\""));
  EXPECT_FALSE(looks_like_smi_listing("\xEF\xBB\xBF["));
  EXPECT_FALSE(looks_like_smi_listing(" "));
}

}  // namespace
}  // namespace septule::interop
