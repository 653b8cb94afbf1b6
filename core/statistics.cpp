#include "statistics.hpp"

#include <algorithm>
#include <vector>

namespace labelboost {

void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums) {
    constexpr std::size_t kGroup = 64;
    const double* rows[kGroup];
    double row_weights[kGroup];
    const auto add = form.joint ? active_kernels().add_joint : active_kernels().add_diagonal;
    for (std::size_t start = 0; start < examples.size(); start += kGroup) {
        const std::size_t count = std::min(kGroup, examples.size() - start);
        for (std::size_t m = 0; m < count; ++m) {
            const std::int32_t example = examples[start + m];
            rows[m] = gradients.row(example);
            row_weights[m] = weights[static_cast<std::size_t>(example)];
        }
        add(sums, rows, row_weights, count, form.labels);
    }
}

AlignedVector sum_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt) {
    // Parts of a fixed size are added up each on their own and then in order, whoever computed them.
    constexpr std::size_t kSmallestPart = 512;
    constexpr std::size_t kMostParts = 16;
    const std::size_t parts = std::clamp<std::size_t>(examples.size() / kSmallestPart, 1, kMostParts);
    const std::size_t size = form.size();
    AlignedVector total(size, 0.0);
    if (parts == 1) {
        add_examples(form, gradients, weights, examples, total.data());
        return total;
    }
    AlignedVector partial(parts * size, 0.0);
    pool.run(parts, interrupt, [&](std::size_t part, std::size_t) {
        const std::size_t begin = part * examples.size() / parts;
        const std::size_t end = (part + 1) * examples.size() / parts;
        add_examples(form, gradients, weights, examples.subspan(begin, end - begin), partial.data() + part * size);
    });
    for (std::size_t part = 0; part < parts; ++part) {
        for (std::size_t c = 0; c < size; ++c) total[c] += partial[part * size + c];
    }
    return total;
}

}  // namespace labelboost
