// Bounds on the qualities of candidates in joint form, so that few of them need a K x K system of their own.
//
// Most candidates cut a small part off what a rule covers. The part is seldom worth anything, and its bound says so. The
// rest has a system so close to that of the whole, solved once per refinement, that a few steps of iterative
// refinement give its quality to all digits, at K^2 operations a step and without its Hessian ever being summed up.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "listing.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "trial_head.hpp"

namespace labelboost {

// How far, relatively, a bound may be off by rounding.
constexpr double kBoundMargin = 1e-6;
// How close bounds are brought first, which mostly leaves one candidate, and where a gain is as good as that of a
// factorisation.
constexpr double kNarrow = 1e-3, kSettled = 1e-12;

// Whether bounds can be had, and pay: for many labels, or for features whose values were put into bins or are few.
bool bounds_possible(const Settings& settings, std::size_t labels, const Columns& columns);
// Whether they pay for a feature: if it cannot be screened, for fewer labels than if it can. With label bins they leave most
// candidates of long lists.
bool bounds_pay(const Settings& settings, std::size_t labels, bool can_be_screened);

// The best quality that is possible; sums that grew too large on the way tell nothing.
inline double optimistic_quality(const GainBounds& gain) {
    return std::isnan(gain.upper) ? -std::numeric_limits<double>::infinity() : -gain.upper;
}

// What a rule covers at present: its profile and, without label bins, its solved system. Shared by all threads.
class Anchor {
public:
    Anchor(const Form& form, const Settings& settings)
        : form_(form), settings_(settings), trial_(form.of_systems(), settings) {}

    // False if the system is singular to the last digit.
    bool prepare(const AlignedVector& total, double noise, Interrupt& interrupt);

    const double* profile() const { return profile_.data(); }
    // The best head, padded with zeros; null with label bins, where every candidate has bins of its own.
    const double* head() const { return head_.empty() ? nullptr : head_.data(); }
    double quality() const { return quality_; }  // with that head
    // With label bins: the products of a head that is nearly the best (see TrialHead).
    const double* products() const { return trial_.products(); }
    double noise() const { return noise_; }
    // step = A^-1 residual
    void solve(const double* residual, double* scratch, double* step) const;

private:
    bool solve_total(const AlignedVector& total, Interrupt& interrupt);

    Form form_;
    const Settings& settings_;
    double noise_ = 0.0, quality_ = 0.0;
    TrialHead trial_;
    AlignedVector profile_, head_, system_, inverse_diagonal_;
};

// One per thread: the profiles of the candidates of one feature, pair by pair.
class ProfileWalk {
public:
    ProfileWalk(const Form& form, const Settings& settings);

    // Starts a feature. The references must stay valid until the next start.
    void start(const Gradients& gradients, const std::vector<double>& weights, const Listing& listing,
               const Anchor& anchor);
    // Goes on behind a part with this profile; empty: of nothing.
    void resume(const AlignedVector& profile);
    AlignedVector part_profile_copy() const { return part_; }
    // Takes the pairs of the listing one after the other.
    void advance(const CandidatePair& pair);
    // Takes a pair whose part has the profile that is there already.
    void set_pair(const CandidatePair& pair) { pair_ = &pair; }

    // Bounds on the gains of the pair that was taken last.
    GainBounds part_bounds() const;
    GainBounds rest_bounds();
    // The same, as close to each other as `tolerance` tells (relatively), unless the gain is found not to come near `least`
    // or this does not succeed soon. Nothing is known from below if the system is nearly singular.
    GainBounds settle_part(double least, double tolerance);
    GainBounds settle_rest(double least, double tolerance);
    // The profile of the part or the rest, without a head.
    const double* part_profile() const { return part_.data(); }
    const double* rest_profile();
    std::span<const std::int32_t> part() const { return listing_->part(*pair_); }
    std::span<const std::int32_t> missing() const { return listing_->missing(); }

private:
    void add(std::span<const std::int32_t> examples, AlignedVector& profile) const;
    void add_product(std::span<const std::int32_t> examples, const AlignedVector& head, AlignedVector& product) const;
    bool regular(const double* whole, const double* part) const;
    const double* removed();  // the profile of all that is not in the rest

    Form form_;
    const Settings& settings_;
    const Gradients* gradients_ = nullptr;
    const std::vector<double>* weights_ = nullptr;
    const Listing* listing_ = nullptr;
    const Anchor* anchor_ = nullptr;
    const CandidatePair* pair_ = nullptr;
    AlignedVector part_, missing_, removed_, residual_, step_, product_, scratch_;
};

}  // namespace labelboost
