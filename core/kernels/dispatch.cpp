// Chooses the kernels for this machine, once.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace labelboost {

extern const Kernels kernels_portable;
#ifdef LABELBOOST_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

bool runs_here(const std::string& name) {
#ifdef LABELBOOST_X86
    if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (name == "avx512") {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
    }
#endif
    return name == "portable";
}

const Kernels& choose() {
    const char* forced = std::getenv("LABELBOOST_ISA");
    const Kernels* candidates[] = {
#ifdef LABELBOOST_X86
        &kernels_avx512,
        &kernels_avx2,
#endif
        &kernels_portable,
    };
    for (const Kernels* candidate : candidates) {
        const std::string name = candidate->name;
        if (forced != nullptr && *forced != '\0' && name != forced) continue;
        if (runs_here(name)) return *candidate;
    }
    throw std::invalid_argument("LABELBOOST_ISA=" + std::string(forced == nullptr ? "" : forced) +
                                " is not available here; use portable, avx2 or avx512, or unset it");
}

}  // namespace

const Kernels& active_kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace labelboost
