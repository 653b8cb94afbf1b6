#include "statistics.hpp"

#include <algorithm>
#include <vector>

namespace labelboost {
namespace {

// What the loss over label sets has in addition to the joint form.
void add_label_sets(const Form& form, const Gradients& gradients, std::span<const double> weights,
                    std::span<const std::int32_t> examples, double* sums) {
    const LabelSetLayout layout(form.labels, form.sets->size());
    for (const std::int32_t example : examples) {
        const double weight = weights[static_cast<std::size_t>(example)];
        active_kernels().add_row(sums + layout.probabilities(), gradients.probabilities(example), weight,
                                 padded_size(layout.sets));
        double* const relevant = sums + layout.relevant();
        for (const std::uint32_t k : form.sets->members(form.sets->set_of(example))) relevant[k] += weight;
    }
}

// As for_each_batch, but the kernel asks for the rows of the batch behind: there is enough to do for a row that it can
// arrive meanwhile, unless all are asked for at once.
void add_joint(const Form& form, const Gradients& gradients, std::span<const double> weights,
               std::span<const std::int32_t> examples, double sign, double* sums) {
    constexpr std::size_t kBatch = kMostTogether;
    const LabelRows<double>& all_rows = gradients.rows<double>();
    const double* rows[2][kBatch];
    double row_weights[kBatch], slacks[kBatch];
    const auto find_rows = [&](std::size_t start, const double** out) {
        for (std::size_t m = 0; m < kBatch; ++m) {
            out[m] = all_rows.row(examples[std::min(start + m, examples.size() - 1)]);
        }
    };
    if (examples.empty()) return;
    find_rows(0, rows[0]);
    for (std::size_t start = 0, batch = 0; start < examples.size(); start += kBatch, ++batch) {
        const std::size_t count = std::min(kBatch, examples.size() - start);
        const double* const* own = rows[batch % 2];
        const double** next = rows[1 - batch % 2];
        if (start + count < examples.size()) find_rows(start + kBatch, next);
        for (std::size_t m = 0; m < count; ++m) {
            const std::int32_t example = examples[start + m];
            row_weights[m] = sign * weights[static_cast<std::size_t>(example)];
            slacks[m] = gradients.slack(example);
        }
        const bool ahead = all_rows.far() && start + count < examples.size();
        active_kernels().add_joint(sums, own, row_weights, form.with_slack ? slacks : nullptr, count, form.labels,
                                   ahead ? next : nullptr);
    }
}

void add_flat(const Form& form, const Gradients& gradients, std::span<const double> weights,
              std::span<const std::int32_t> examples, double* sums) {
    const FlatLayout layout(form.labels);
    const Kernels& kernels = active_kernels();
    for (const std::int32_t example : examples) {
        const double weight = weights[static_cast<std::size_t>(example)];
        kernels.add_row(sums + layout.gradient(), gradients.gradient(example), weight, layout.padded);
        sums[layout.weight()] += weight;
    }
}

}  // namespace

void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums) {
    if (form.flat) {
        add_flat(form, gradients, weights, examples, sums);
        return;
    }
    const Kernels& kernels = active_kernels();
    if (!gradients.exact()) {
        for_each_batch<float>(gradients, weights, examples,
                              [&](const float* const* rows, const double* row_weights, const double*,
                                  std::size_t count) {
                                  kernels.add_rounded_diagonal(sums, rows, row_weights, count, form.labels);
                              });
        return;
    }
    if (form.joint) {
        add_joint(form, gradients, weights, examples, 1.0, sums);
    } else {
        for_each_batch(gradients, weights, examples,
                       [&](const double* const* rows, const double* row_weights, const double*, std::size_t count) {
                           kernels.add_diagonal(sums, rows, row_weights, count, form.labels);
                       });
    }
    if (form.sets != nullptr) add_label_sets(form, gradients, weights, examples, sums);
}

void add_many_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                       std::span<const std::int32_t> examples, double* sums, Interrupt& interrupt) {
    constexpr std::size_t kWorkBetweenChecks = 1U << 25;
    const std::size_t together = std::max<std::size_t>(kWorkBetweenChecks / form.size() / 64 * 64, 64);
    for (std::size_t start = 0; start < examples.size(); start += together) {
        if (start > 0) interrupt.check();
        add_examples(form, gradients, weights, examples.subspan(start, std::min(together, examples.size() - start)), sums);
    }
}

namespace {

// Parts of a fixed size are added up each on their own and then in order, whoever computed them.
struct Parts {
    explicit Parts(std::span<const std::int32_t> all)
        : examples(all), count(std::clamp<std::size_t>(all.size() / kLength, 1, kMost)) {}
    std::span<const std::int32_t> operator[](std::size_t part) const {
        const std::size_t begin = part * examples.size() / count, end = (part + 1) * examples.size() / count;
        return examples.subspan(begin, end - begin);
    }

    static constexpr std::size_t kLength = 512, kMost = 16;
    std::span<const std::int32_t> examples;
    std::size_t count;
};

}  // namespace

AlignedVector sum_in_parts(std::span<const std::int32_t> examples, std::size_t size, ThreadPool& pool,
                           Interrupt& interrupt, const AddPart& add) {
    const Parts parts(examples);
    AlignedVector total(size, 0.0);
    if (parts.count == 1) {
        add(examples, total.data());
        return total;
    }
    std::vector<AlignedVector> partial(parts.count);
    pool.run(parts.count, interrupt, [&](std::size_t part, std::size_t) {
        partial[part].assign(size, 0.0);
        add(parts[part], partial[part].data());
    });
    constexpr std::size_t kTogether = 2048;
    pool.run((size + kTogether - 1) / kTogether, interrupt, [&](std::size_t block, std::size_t) {
        const std::size_t end = std::min(size, (block + 1) * kTogether);
        for (const AlignedVector& part : partial) {
            for (std::size_t c = block * kTogether; c < end; ++c) total[c] += part[c];
        }
    });
    return total;
}

AlignedVector sum_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt) {
    return sum_in_parts(examples, form.size(), pool, interrupt,
                        [&](std::span<const std::int32_t> part, double* sums) {
                            add_many_examples(form, gradients, weights, part, sums, interrupt);
                        });
}

void subtract_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                       std::span<const std::int32_t> examples, double* sums, ThreadPool& pool, Interrupt& interrupt) {
    if (form.joint && !form.flat && form.sets == nullptr && Parts(examples).count == 1) {
        // One by one: with many labels sums of their own would take as long as some twenty examples.
        add_joint(form, gradients, weights, examples, -1.0, sums);
        return;
    }
    const AlignedVector part = sum_examples(form, gradients, weights, examples, pool, interrupt);
    active_kernels().subtract(sums, sums, part.data(), form.size());
}

AlignedVector sum_profile(const Gradients& gradients, std::span<const double> weights,
                          std::span<const std::int32_t> examples, std::size_t labels, ThreadPool& pool,
                          Interrupt& interrupt) {
    return sum_in_parts(examples, ProfileLayout(labels).size(), pool, interrupt,
                        [&](std::span<const std::int32_t> part, double* sums) {
                            for_each_batch(gradients, weights, part,
                                           [&](const double* const* rows, const double* row_weights,
                                               const double* slacks, std::size_t count) {
                                               active_kernels().add_profile(sums, rows, row_weights, slacks, count,
                                                                            labels, nullptr);
                                           });
                        });
}

}  // namespace labelboost
