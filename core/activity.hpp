// What the training thread is doing at the moment, for a profiler to see.
#pragma once

#include <cstdint>

namespace labelboost {

enum class Activity : std::uint8_t { other, summing, evaluating };

// One byte that one thread writes and another one reads now and then. Writing costs a store, so that it can be done for
// every candidate. (Builtins, always inlined: a header of the standard library would have to be compiled for one
// instruction set only.)
class ActivityMark {
public:
    [[gnu::always_inline]] void set(Activity activity) {
        __atomic_store_n(&activity_, static_cast<std::uint8_t>(activity), __ATOMIC_RELAXED);
    }
    [[gnu::always_inline]] Activity get() const {
        return static_cast<Activity>(__atomic_load_n(&activity_, __ATOMIC_RELAXED));
    }

private:
    std::uint8_t activity_ = 0;
};

// Marks an activity until the end of a block.
class ActivityScope {
public:
    ActivityScope(ActivityMark& mark, Activity activity) : mark_(mark), before_(mark.get()) { mark.set(activity); }
    ~ActivityScope() { mark_.set(before_); }
    ActivityScope(const ActivityScope&) = delete;
    ActivityScope& operator=(const ActivityScope&) = delete;

private:
    ActivityMark& mark_;
    Activity before_;
};

}  // namespace labelboost
