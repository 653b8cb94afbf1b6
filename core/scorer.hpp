// Scores candidates in batches: the search fills in the sums of a region, the quality appears later.
#pragma once

#include <cstddef>
#include <vector>

#include "aligned.hpp"
#include "heads.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// One per thread. Batches may span features, so that even features with a single split fill the vector
// lanes. A candidate's quality does not depend on what else is in its batch.
class CandidateScorer {
public:
    CandidateScorer(const Form& form, const Settings& settings);

    // Starts a refinement; forgets what an interrupted one may have left behind.
    void begin(double noise, Interrupt& interrupt) {
        noise_ = noise;
        interrupt_ = &interrupt;
        count_ = 0;
        gathered_.clear();
    }
    // Takes a candidate with the sums `whole`, or `whole - part` if there is a part. Its quality is stored in
    // *quality by the next flush() at the latest.
    void add(const double* whole, const double* part, double* quality);
    // The same for a candidate with label bins whose system has been formed already, in system().
    void add_system(double* quality);
    BinnedSystem& system() { return binned_; }
    void flush();

private:
    void score_binned();

    Form form_;
    const Settings& settings_;
    double noise_ = 0.0;
    Interrupt* interrupt_ = nullptr;
    std::size_t count_ = 0;
    AlignedVector sums_;                // kLanes candidates; none with label bins
    double* targets_[kLanes] = {};      // where their qualities belong
    std::size_t unknowns_[kLanes] = {};  // with label bins
    std::vector<double> gathered_;       // their systems, one after the other
    AlignedVector scratch_;
    BinnedSystem binned_;
};

}  // namespace labelboost
