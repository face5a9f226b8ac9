#include "predict/declared_fit.hpp"

#include <gtest/gtest.h>

#include "predict/predict_support.hpp"

namespace septule::predict {
namespace {

using job::JobId;
using job::JobSpec;
using job::SignatureIndex;
using test::a100;
using test::amdahl;
using test::make_book;
using test::measured;
using test::profile;

/// 0: fits 1g, 1: fits 2g and up.
const SpeedBook& book() {
  static const SpeedBook made = make_book(a100(), {amdahl("a", 30, 70), measured()});
  return made;
}

JobSpec spec(int signature) {
  JobSpec job;
  job.id = JobId(0);
  job.signature = SignatureIndex(signature);
  return job;
}

TEST(DeclaredFit, EveryLevel_FitsAndCut_Agree) {
  // Aim: for all levels and signatures a profile fits exactly if cutting the book's row leaves it.
  const DeclaredFit fit(book());
  for (int signature = 0; signature < 2; ++signature) {
    for (int level = 0; level <= static_cast<int>(book().plain_profiles().size()); ++level) {
      SpeedRow row = book().row(SignatureIndex(signature));
      fit.cut(row, level);
      bool is_cut = false;
      for (const ProfileIndex index : book().plain_profiles()) {
        EXPECT_EQ(fit.fits(SignatureIndex(signature), level, index), row.on(index) > 0);
        is_cut = is_cut || row.on(index) != book().speed(SignatureIndex(signature), index);
      }
      EXPECT_EQ(fit.is_cut_by(SignatureIndex(signature), level), is_cut);
    }
  }
  // More profiles than there are exclude no more than all.
  EXPECT_FALSE(fit.fits(SignatureIndex(0), 99, book().whole_profile()));
}

TEST(DeclaredFit, StatedMemory_GangsAndPhases_Decide) {
  // Aim: the most of signature, statement and phases; gangs have the whole GPU only.
  const DeclaredFit fit(book());
  EXPECT_EQ(fit.of(spec(0)).smallest, profile(a100(), "1g.5gb"));
  EXPECT_EQ(fit.of(spec(1)).smallest, profile(a100(), "2g.10gb"));
  JobSpec stated = spec(0);
  stated.memory = Bytes::mebibytes(12000);
  EXPECT_EQ(fit.of(stated).smallest, profile(a100(), "3g.20gb"));
  EXPECT_EQ(fit.of(stated).need, Bytes::mebibytes(12000));
  stated.memory = Bytes::mebibytes(90000);
  EXPECT_EQ(fit.of(stated).smallest, std::nullopt);
  JobSpec gang = spec(0);
  gang.gpus = 2;
  EXPECT_EQ(fit.of(gang).smallest, book().whole_profile());
  JobSpec phased = spec(0);
  phased.phases.push_back({0.5, SignatureIndex(1)});
  EXPECT_EQ(fit.of(phased).smallest, profile(a100(), "2g.10gb"));
  EXPECT_EQ(fit.of(phased).need, book().need(SignatureIndex(1)));
}

}  // namespace
}  // namespace septule::predict
