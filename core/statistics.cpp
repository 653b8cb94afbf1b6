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
               std::span<const std::int32_t> examples, LabelBlocks own, double sign, double* sums) {
    constexpr std::size_t kBatch = kMostTogether;
    const LabelRows<double>& all_rows = gradients.rows<double>();
    const double* rows[2][kBatch];
    double row_weights[kBatch], slacks[kBatch];
    // Of a batch that is not full, rows are repeated if they may be asked for ahead, as many as there are in the one before.
    const auto find_rows = [&](std::size_t start, const double** out) {
        const std::size_t count = std::min(kBatch, examples.size() - start);
        for (std::size_t m = 0; m < count; ++m) out[m] = all_rows.row(examples[start + m]);
        for (std::size_t m = count; all_rows.far() && m < kBatch; ++m) out[m] = out[0];
    };
    if (examples.empty()) return;
    find_rows(0, rows[0]);
    for (std::size_t start = 0, batch = 0; start < examples.size(); start += kBatch, ++batch) {
        const std::size_t count = std::min(kBatch, examples.size() - start);
        const double* const* present = rows[batch % 2];
        const double** next = rows[1 - batch % 2];
        if (start + count < examples.size()) find_rows(start + kBatch, next);
        for (std::size_t m = 0; m < count; ++m) {
            const std::int32_t example = examples[start + m];
            row_weights[m] = sign * weights[static_cast<std::size_t>(example)];
            if (form.with_slack) slacks[m] = gradients.slack(example);
        }
        const bool ahead = all_rows.far() && start + count < examples.size();
        active_kernels().add_joint(sums, present, row_weights, form.with_slack ? slacks : nullptr, count, form.labels,
                                   own, ahead ? next : nullptr);
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

namespace {

// own: the labels whose sums are added to; all of them but for sums that can be shared.
void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, LabelBlocks own, double* sums) {
    const Kernels& kernels = active_kernels();
    if (form.flat) {
        add_flat(form, gradients, weights, examples, sums);
    } else if (!gradients.exact()) {
        for_each_batch<float>(gradients, weights, examples, own,
                              [&](const float* const* rows, const double* row_weights, const double*,
                                  std::size_t count) {
                                  kernels.add_rounded_diagonal(sums, rows, row_weights, count, form.labels, own);
                              });
    } else if (!form.joint) {
        for_each_batch(gradients, weights, examples, own,
                       [&](const double* const* rows, const double* row_weights, const double*, std::size_t count) {
                           kernels.add_diagonal(sums, rows, row_weights, count, form.labels, own);
                       });
    } else {
        add_joint(form, gradients, weights, examples, own, 1.0, sums);
        if (form.sets != nullptr) add_label_sets(form, gradients, weights, examples, sums);
    }
}

}  // namespace

void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums) {
    add_examples(form, gradients, weights, examples, all_blocks(form.labels), sums);
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

namespace {

// Whether sums consist of elements that can be added up by different threads.
bool can_be_shared(const Form& form) { return !form.flat && form.sets == nullptr; }

// Labels such that each share has about as many elements: of the Gram matrix the first label has the most.
LabelBlocks share_of_labels(const Form& form, std::size_t share, std::size_t shares) {
    const std::size_t blocks = padded_size(form.labels) / kLanes;
    if (!form.joint) return {share * blocks / shares, (share + 1) * blocks / shares};
    const auto boundary = [&](std::size_t number) {
        if (number == shares) return blocks;
        std::size_t block = 0, elements = 0;
        while (shares * elements < number * blocks * (blocks + 1) / 2) elements += blocks - block++;
        return std::min(block, blocks - 2);
    };
    return {boundary(share), boundary(share + 1)};
}

// How many threads can share the sums over so many examples.
std::size_t shares_of_sums(const Form& form, std::size_t examples, const ThreadPool& pool) {
    constexpr std::size_t kFewestBlocks = 3;
    // Gradients by themselves are loaded for less than each element of the Gram matrix costs.
    const std::size_t least_work = form.joint ? 1U << 17 : 1U << 15;
    const bool few_labels = padded_size(form.labels) / kLanes < kFewestBlocks * pool.in_use();
    return few_labels || !can_be_shared(form) || examples * form.size() < least_work ? 1 : pool.in_use();
}

// Calls add(part, sums, share, shares), such that all shares of all parts are added up. shares: as many as there are
// threads, or one: those parts that are left when all threads have had equally many are shared.
template <typename Add>
AlignedVector sum_shared_parts(std::span<const std::int32_t> examples, std::size_t size, std::size_t shares,
                               ThreadPool& pool, Interrupt& interrupt, const Add& add) {
    const Parts parts(examples);
    AlignedVector total(size, 0.0);
    if (parts.count == 1) {
        pool.run(shares, interrupt, [&](std::size_t share, std::size_t) { add(examples, total.data(), share, shares); });
        return total;
    }
    std::vector<AlignedVector> partial(parts.count);
    const std::size_t whole = parts.count / shares, left = parts.count % shares;  // of each thread, and of all together
    for (std::size_t i = 0; i < left; ++i) partial[whole * shares + i].assign(size, 0.0);
    pool.run(shares * (whole + left), interrupt, [&](std::size_t task, std::size_t) {
        const std::size_t share = task / (whole + left), number = task % (whole + left);
        const bool shared = number >= whole;
        const std::size_t part = shared ? whole * shares + (number - whole) : whole * share + number;
        if (!shared) partial[part].assign(size, 0.0);
        add(parts[part], partial[part].data(), shared ? share : 0, shared ? shares : 1);
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

}  // namespace

AlignedVector sum_in_parts(std::span<const std::int32_t> examples, std::size_t size, ThreadPool& pool,
                           Interrupt& interrupt, const AddPart& add) {
    return sum_shared_parts(examples, size, 1, pool, interrupt,
                            [&](std::span<const std::int32_t> part, double* sums, std::size_t, std::size_t) {
                                add(part, sums);
                            });
}

AlignedVector sum_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt) {
    const std::size_t length = std::min(examples.size(), Parts::kLength);
    const std::size_t shares = shares_of_sums(form, length, pool);
    return sum_shared_parts(
        examples, form.size(), shares, pool, interrupt,
        [&](std::span<const std::int32_t> part, double* sums, std::size_t share, std::size_t of) {
            if (of == 1) {
                add_many_examples(form, gradients, weights, part, sums, interrupt);
            } else {
                add_examples(form, gradients, weights, part, share_of_labels(form, share, of), sums);
            }
        });
}

void subtract_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                       std::span<const std::int32_t> examples, double* sums, ThreadPool& pool, Interrupt& interrupt) {
    if (form.joint && can_be_shared(form) && Parts(examples).count == 1) {
        // One by one: with many labels sums of their own would take as long as some twenty examples.
        const std::size_t shares = shares_of_sums(form, examples.size(), pool);
        pool.run(shares, interrupt, [&](std::size_t share, std::size_t) {
            add_joint(form, gradients, weights, examples, share_of_labels(form, share, shares), -1.0, sums);
        });
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
