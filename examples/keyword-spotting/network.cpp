// SPDX-License-Identifier: Apache-2.0
// DS-CNN of MLPerf Tiny on Aidge's int8 kernels: the same source for the device and for the host.
#include "network.h"

#include "kernels/convolution.hpp"
#include "kernels/convolution_depthwise.hpp"
#include "kernels/fullyconnected.hpp"
#include "weights.h"

namespace {

constexpr int CHANNELS = NETWORK_FEATURES, HEIGHT = 25, WIDTH = 5, PLACES = HEIGHT * WIDTH;
constexpr auto RELU = export_cpp::ActivationFunction_T::Rectifier;
constexpr auto LINEAR = export_cpp::ActivationFunction_T::Linear;

// The kernels' own rescaling of a sum, (sum * multiplier + half) >> bits, with the multipliers of
// the channels where they lie in flash.
struct Rescaling {
    const int32_t *multipliers;
    int32_t operator()(int32_t sum, size_t channel) const
    {
        const int64_t product = static_cast<int64_t>(sum) * multipliers[channel];
        return static_cast<int32_t>((product + (1LL << (RESCALING_BITS - 1))) >> RESCALING_BITS);
    }
};

using Values = uint8_t[PLACES * CHANNELS];
Values here, there;
int8_t last[PLACES * CHANNELS];

void depthwise(const Values &from, Values &to, const int8_t *weights, const int32_t *biases,
               const int32_t *multipliers)
{
    export_cpp::convolution_depthwise_forward<1, CHANNELS, HEIGHT, WIDTH, CHANNELS, HEIGHT, WIDTH, 1, 1,
                                              1, 1, 1, 1, 3, 3, RELU, 0, 0, 0, 0, CHANNELS, 0, 0, 0, 0,
                                              CHANNELS>(from, to, weights, biases, Rescaling{multipliers});
}

template <typename Output>
void pointwise(const Values &from, Output *to, const int8_t *weights, const int32_t *biases,
               const int32_t *multipliers)
{
    export_cpp::convolution_forward<1, CHANNELS, HEIGHT, WIDTH, CHANNELS, HEIGHT, WIDTH, 0, 0, 1, 1, 1,
                                    1, 1, 1, RELU, 0, 0, 0, 0, CHANNELS, 0, 0, 0, 0, CHANNELS>(
        from, to, weights, biases, Rescaling{multipliers});
}

// The mean over all places, rounded; Aidge's is in float.
void pool(const int8_t *from, int8_t *features)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        int32_t sum = 0;
        for (int place = 0; place < PLACES; place++) {
            sum += from[place * CHANNELS + channel];
        }
        features[channel] = static_cast<int8_t>((2 * sum + PLACES) / (2 * PLACES));
    }
}

// Softmax by table, in 1/256, at most 255; Aidge's is in float.
void softmax(const int8_t *logits, uint8_t *posterior)
{
    int most = logits[0];
    for (int i = 1; i < NETWORK_CLASSES; i++) {
        most = (logits[i] > most) ? logits[i] : most;
    }
    uint32_t sum = 0;
    for (int i = 0; i < NETWORK_CLASSES; i++) {
        sum += exponentials[most - logits[i]];
    }
    for (int i = 0; i < NETWORK_CLASSES; i++) {
        const uint32_t share = (256u * exponentials[most - logits[i]] + sum / 2u) / sum;
        posterior[i] = static_cast<uint8_t>((share > 255u) ? 255u : share);
    }
}

} // namespace

void network_run(const int8_t *input, uint8_t *posterior, int8_t *features)
{
    int8_t logits[NETWORK_CLASSES];
    export_cpp::convolution_forward<1, 1, NETWORK_FRAMES, NETWORK_COEFFICIENTS, CHANNELS, HEIGHT, WIDTH,
                                    4, 1, 2, 2, 1, 1, 10, 4, RELU, 0, 0, 0, 0, 1, 0, 0, 0, 0, CHANNELS>(
        input, here, layer0_weights, layer0_biases, Rescaling{layer0_rescaling});
    depthwise(here, there, layer1_weights, layer1_biases, layer1_rescaling);
    pointwise(there, here, layer2_weights, layer2_biases, layer2_rescaling);
    depthwise(here, there, layer3_weights, layer3_biases, layer3_rescaling);
    pointwise(there, here, layer4_weights, layer4_biases, layer4_rescaling);
    depthwise(here, there, layer5_weights, layer5_biases, layer5_rescaling);
    pointwise(there, here, layer6_weights, layer6_biases, layer6_rescaling);
    depthwise(here, there, layer7_weights, layer7_biases, layer7_rescaling);
    pointwise(there, last, layer8_weights, layer8_biases, layer8_rescaling);
    pool(last, features);
    export_cpp::fullyconnected_forward<1, CHANNELS, 1, 1, NETWORK_CLASSES, 1, 1, LINEAR, 0, 0, 0, 0,
                                       CHANNELS, 0, 0, 0, 0, NETWORK_CLASSES>(
        features, logits, head_weights, head_biases, Rescaling{head_rescaling});
    softmax(logits, posterior);
}
