/* SPDX-License-Identifier: Apache-2.0 */
/* tcuq: tells when a tiny model should not be trusted. C99, integers only, no allocation, no globals.
 *
 * `tcuq export` makes a const tcuq_profile and a tcuq_monitor with its memory, tcuq_device. A program, but for the model:
 *
 *     #include "tcuq_device.h"
 *     bool run_model(uint8_t *posterior, int8_t *features); void use(uint16_t label);
 *     int main(void) {
 *         uint8_t posterior[TCUQ_DEVICE_CLASSES];
 *         int8_t features[TCUQ_DEVICE_FEATURE_BYTES];
 *         tcuq_decision decision;
 *         if (tcuq_device_selftest() != 0) return 1;
 *         while (run_model(posterior, features)) {
 *             tcuq_step(&tcuq_device, posterior, features, NULL, &decision);
 *             if (decision.withheld == 0) use(decision.label);
 *         }
 *     }
 * docs/spec/arithmetic.md is normative for every number here. */
#ifndef TCUQ_H
#define TCUQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcuq_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_VERSION "0.3.0"
#define TCUQ_PROFILE_FORMAT 5u
#define TCUQ_MAX_CLASSES 1000u
#define TCUQ_MAX_OUTPUTS 8u
#define TCUQ_NO_CLASSES UINT16_MAX /* for blend_q15 */
#define TCUQ_MAX_WIDTH 65535u
#define TCUQ_MAX_DIMENSIONS 32u
#define TCUQ_MAX_LAGS 8u
#define TCUQ_MAX_LAG 255u
#define TCUQ_MAX_TERMS 10u
#define TCUQ_MAX_POINTS 64u
#define TCUQ_MAX_CHANNELS 5u
#define TCUQ_EDGES 3u
#define TCUQ_GAINS 4u
#define TCUQ_COUNTS 7u
#define TCUQ_LEARNED_COUNTS 9u /* and those of blocks beyond all of calibration's, of both kinds */
#define TCUQ_BETS 3u
#define TCUQ_MIN_BLOCK 8u
#define TCUQ_MAX_BLOCK 8192u
#define TCUQ_MAX_ALARM_LIMIT ((uint32_t)20u << 24)
#define TCUQ_BOOT_STEPS 1024u /* after a boot the alarm also bets on calibration alone for so long */
#define TCUQ_MAX_STEP 8192u
#define TCUQ_RISK_LEVELS 16384u
#define TCUQ_TOKEN 65536u
#define TCUQ_HISTOGRAM_BINS 16u
#define TCUQ_EPOCH_MEANS 5u
#define TCUQ_MAX_HEALTH 16u

/* What a build leaves out costs no flash: define as 0. */
#ifndef TCUQ_WITH_CLASSES /* posteriors */
#define TCUQ_WITH_CLASSES 1
#endif
#ifndef TCUQ_WITH_OUTPUTS /* numbers in place of a posterior: of regressors, anomaly scores, embeddings */
#define TCUQ_WITH_OUTPUTS 1
#endif
#ifndef TCUQ_WITH_ANCHORED /* terms: the anchored score and the decision's novelty; contradiction */
#define TCUQ_WITH_ANCHORED 1
#endif
#ifndef TCUQ_WITH_PROJECTION /* of wide features */
#define TCUQ_WITH_PROJECTION 1
#endif
#ifndef TCUQ_WITH_NOVELTY
#define TCUQ_WITH_NOVELTY 1
#endif
#ifndef TCUQ_WITH_HEALTH /* input health: statistics of the sensor's samples */
#define TCUQ_WITH_HEALTH 1
#endif
#ifndef TCUQ_WITH_ALARM
#define TCUQ_WITH_ALARM 1
#endif
#ifndef TCUQ_WITH_TELEMETRY
#define TCUQ_WITH_TELEMETRY 1
#endif
#ifndef TCUQ_CHECK_PROFILE /* by tcuq_init; an export that alone brings profiles has run the same checks */
#define TCUQ_CHECK_PROFILE 1
#endif
/* What a build adds: define as 1. */
#ifndef TCUQ_WITH_UPLINK /* records to a fleet: tcuq_uplink.h */
#define TCUQ_WITH_UPLINK 0
#endif
#ifndef TCUQ_WITH_OTA /* profiles over the air: tcuq_slots.h */
#define TCUQ_WITH_OTA 0
#endif

/* For arrays of which two values are fetched at once. */
#if defined(__GNUC__)
#define TCUQ_WORD_ALIGNED __attribute__((aligned(4)))
#else
#define TCUQ_WORD_ALIGNED
#endif

/* What becomes of a step. */
typedef enum {
    TCUQ_ACCEPT = 0,  /* no reason to withhold its output */
    TCUQ_ABSTAIN = 1, /* withheld, and paid for from the budget */
    TCUQ_DENIED = 2   /* there is a reason, but the budget is spent; the profile says whether it is withheld */
} tcuq_outcome;

/* Bits of tcuq_decision.reason: why a step asks to be withheld. */
#define TCUQ_REASON_DOUBT 1u   /* its label is probably wrong: the risk is at or above the threshold */
#define TCUQ_REASON_UNUSUAL 2u /* its input is unlike calibration: novelty is at or above its limit */

/* Signals, in the order of the profile's tables; a term reads one of the first seven. */
typedef enum {
    TCUQ_DIVERGENCE = 0,    /* from the posteriors of the steps before: a mixture's entropy */
    TCUQ_INSTABILITY = 1,   /* of the features: their angle to those of the steps before */
    TCUQ_INCONSISTENCY = 2, /* share of the steps before with another label */
    TCUQ_DOUBT = 3,         /* the posterior's own: its entropy and its missing confidence, blended */
    TCUQ_LOW_CONFIDENCE = 4, /* without classes: departure, how far the outputs are from calibration's middle */
    TCUQ_NOVELTY = 5,       /* of the features: squared distance to the nearest class of calibration */
    TCUQ_CONTRADICTION = 6, /* how much the past speaks against the label */
    TCUQ_RISK = 7,          /* a channel's alone: log-odds of the risk */
    TCUQ_HEALTH = 8         /* a channel's alone: squared distance of input health from calibration */
} tcuq_signal;
#define TCUQ_SIGNALS 7u

/* Bits of tcuq_decision.alarm: the channel, and whether the stream differs since boot. */
#define TCUQ_ALARM_RISK 1u
#define TCUQ_ALARM_NOVELTY 2u
#define TCUQ_ALARM_DIVERGENCE 4u
#define TCUQ_ALARM_INSTABILITY 8u
#define TCUQ_ALARM_HEALTH 16u
#define TCUQ_ALARM_SINCE_BOOT 128u

typedef struct {
    uint8_t signal;        /* tcuq_signal */
    uint8_t ewma;          /* smoothing of the bits by 2^-ewma; 0: none */
    uint8_t point_count;   /* 1..64 */
    uint8_t reserved;
    uint16_t dead_q10;     /* bits */
    uint16_t cap_q10;      /* bits */
    uint16_t weight_q8;    /* in the risk */
    uint16_t error_q8;     /* weight in the expected error */
    uint16_t novelty_q8;   /* share of the decision's novelty, at most 256; the exporter's add up to 256 */
    uint16_t slope_q8;     /* bits_q10 per unit of the signal beyond the last point */
    uint16_t start_q10;    /* bits at which smoothing starts, at most 16384 */
    const int16_t *points; /* ascending, in the signal's unit; the same as the term's before it: one look-up
                              serves both, if they read the same signal */
    const uint16_t *bits_q10;
} tcuq_term;

typedef struct {
    uint8_t signal;      /* tcuq_signal */
    uint8_t flag;        /* TCUQ_ALARM_... */
    uint8_t two_sided;   /* 1: |block sum - centre| is compared with the edges */
    uint8_t reserved;
    uint16_t block;         /* steps, a power of two, 8..8192 */
    uint16_t boot_limit_q8; /* bits at which calibration's own bets alarm after a boot */
    int32_t centre;         /* of the block sum */
    int32_t edges[TCUQ_EDGES]; /* of the block sum or of its distance from the centre */
    int16_t gains_q8[TCUQ_GAINS]; /* of calibration's own bets: bits, by edges passed */
    uint16_t counts[TCUQ_COUNTS]; /* of calibration's blocks, in 1/16: those that came after two that
                                     passed no edge, how many of them passed each edge, and how many
                                     of the others did */
    uint16_t reserved_end;        /* the same size on CPUs that align less */
} tcuq_channel;

typedef struct {
    uint32_t format;
    uint32_t hash; /* the profile's name on the wire */
    /* bytes first: what lies near the start takes shorter instructions */
    uint8_t lag_count;
    uint8_t lags[TCUQ_MAX_LAGS]; /* ascending */
    uint8_t dimensions;          /* features the signals see: width, the selection's, or the projection's rows */
    uint8_t channel_count;
    uint8_t term_count;
    uint8_t weight_shift; /* 0: the score is anchored, else tcuq */
    uint8_t health_count;     /* statistics a step carries, at most 16; 0: none */
    uint8_t novelty_exponent; /* a squared distance of 1 is 2^this */
    uint8_t projection_shift;
    uint8_t adaptive; /* 0: guarded */
    uint8_t withhold_denied; /* 1: a step that the budget denies is withheld; 0: it is used */
    uint16_t classes; /* or, without classes, the number of outputs, at most 8 */
    uint16_t width; /* features a step carries, 0: none */
    uint16_t blend_q15; /* of doubt; TCUQ_NO_CLASSES: a step carries outputs in place of a posterior */
    uint16_t mix_q15;
    uint16_t mean_count; /* even: the last may stand twice */
    /* contradiction: how much more probable a class is after a step that showed it, in 1/256; stay 0: none */
    uint16_t stay_q8;   /* of the label that the past shows, at most 25600 */
    uint16_t rest_q8;   /* of all classes that the past does not show, at most 768 */
    uint16_t change_q8; /* of any class, 1..256 */
    /* threshold */
    uint16_t alpha_q16;
    uint16_t step; /* 0: the threshold is fixed */
    uint16_t start;
    uint16_t anchor;
    uint16_t novelty_limit_q10; /* a step of this novelty or more asks to be withheld; UINT16_MAX: none does */
    int16_t weights[4]; /* divergence, instability, inconsistency, doubt, in 2^-weight_shift */
    const uint16_t *lag_weights_q15; /* row k (of k = 1..lag_count entries): weights of the first k lags */
    const uint8_t *selection; /* which features the signals see, each below width; null: all */
    /* projection of wide features; null: none */
    const int8_t *projection; /* dimensions x width */
    const int32_t *projection_bias;
    /* novelty; null: none */
    const uint64_t *whitening;      /* lower triangular, docs/spec/arithmetic.md says how packed */
    const uint8_t *whitening_shift; /* of each row */
    const int16_t *means;           /* whitened, dimensions filled up with zeros to whole fours;
                                       TCUQ_WORD_ALIGNED */
    const int32_t *mean_squares;    /* squared lengths of the means */
    /* input health */
    const int16_t *health_means;       /* of calibration, Q10 */
    const uint16_t *health_weights_q9; /* reciprocals of the standard deviations */
    /* score; terms null: none, and a decision's novelty is 0 */
    const tcuq_term *terms;
    int32_t bias_q16;
    int32_t error_bias_q16; /* of the expected error */
    /* threshold and budget */
    uint32_t warmup;
    uint32_t rate_q16;
    uint32_t burst_q16;
    /* alarm; null: none */
    const tcuq_channel *channels;
    uint32_t alarm_limit; /* of the evidence of all channels together */
    uint32_t epoch_steps;
} tcuq_profile;

/* The caller's memory. Sizes by profile: slots, posteriors and features for max(lags) steps;
 * smoothed: one per term, or null if none smooths; channels: one per channel; telemetry: one or null. */
typedef struct {
    int32_t ledger_q16;
    uint32_t age; /* steps since boot, stops at the largest */
    uint32_t tokens_q16;
    uint8_t next;               /* slot that is overwritten next: the oldest */
    uint8_t filled;             /* slots that hold a past step */
    int8_t last_epoch_evidence; /* log2 of the last closed epoch's e-value, in half bits */
    uint8_t cause;              /* of the last alarm, as in a record; 0: none */
    uint32_t epoch_steps;  /* of the running epoch */
    uint16_t epoch;        /* its number; 0: none has closed */
    uint16_t suspect;      /* of input health: its size in half deviations, 4 bits of votes, 4 bits which */
    uint32_t recent_q18;   /* mean surprise lately, in bits */
    uint16_t kept[2];      /* the two classes that are most probable by posterior and past */
    uint16_t held_q15[2];  /* their probabilities */
} tcuq_core;

typedef struct {
    uint16_t entropy_q12;
    uint16_t reciprocal_q14; /* of the features' normalised length, 0: zero vector */
    uint16_t label;
    uint8_t exponent; /* of that length */
    uint8_t reserved;
} tcuq_slot;

typedef struct {
    int32_t sum;
    uint16_t block_steps_and_memory; /* steps of the block; in the two highest bits: for how many more
                                      * blocks the last that passed an edge counts */
    int16_t onset_q8;     /* log2 of the epoch's evidence for drift that lasts */
    int16_t span_q8;      /* log2 of the epoch's evidence for drift that ended */
    uint16_t counts[TCUQ_LEARNED_COUNTS];
    uint8_t levels[TCUQ_BETS]; /* log2 of 1 and each bet's Shiryaev-Roberts sum, in 1/8 bit */
    int8_t change;             /* of the last block that passed an edge, as in a decision */
} tcuq_channel_state;

#define TCUQ_RECENT_BLOCKS 2u /* blocks */
#define TCUQ_RECENT_SHIFT 14u

/* Means over an epoch: the expected error (1/16384), 16 + log2 of the risk's odds, novelty in bits, -log2 of the
 * confidence that is missing (all three Q10), and the share of labels that changed (1/16384). */
typedef struct {
    uint32_t steps;
    uint32_t abstained;
    uint32_t denied;
    uint32_t exceeded;
    uint16_t alarms;
    uint8_t histogram_shift; /* bins count in 2^shift */
    uint8_t reserved;
    uint16_t histogram[TCUQ_HISTOGRAM_BINS];
    uint16_t means[TCUQ_EPOCH_MEANS];    /* of the last closed epoch; UINT16_MAX: none */
    uint16_t last_label;           /* UINT16_MAX: none */
    uint32_t sums[TCUQ_EPOCH_MEANS];     /* of the running epoch, without what is */
    uint32_t carried[TCUQ_EPOCH_MEANS];  /* carried, in 2^16 */
} tcuq_telemetry;

typedef struct {
    const tcuq_profile *profile;
    tcuq_core *core;
    tcuq_slot *slots;
    uint8_t *posteriors;
    int8_t *features;
    int32_t *smoothed_q8;
    tcuq_channel_state *channels;
    tcuq_telemetry *telemetry;
} tcuq_monitor;

/* Who sends a record. */
typedef struct {
    uint64_t device;
    uint32_t firmware;
    uint32_t boot;
    uint32_t sequence;
} tcuq_identity;

#define TCUQ_RECORD_BYTES 97u
typedef struct {
    uint16_t label;
    uint16_t risk;           /* 0..16384 */
    uint16_t expected_error; /* 0..16384: its mean over a stretch is the share of labels that are probably wrong */
    uint16_t steady_label;   /* the most probable class by posterior and past */
    int32_t threshold_q16;   /* the level asked at */
    uint32_t novelty_q10;    /* bits of surprise against calibration, 0..16384 if shares add up to 256 */
    uint8_t exceeded;
    uint8_t outcome;  /* tcuq_outcome */
    uint8_t reason;   /* TCUQ_REASON_...; 0: accepted */
    uint8_t withheld; /* 1: do not use this label */
    uint8_t alarm;    /* TCUQ_ALARM_... */
    uint8_t amber;    /* 1: a block ended with a 64th of the evidence that alarms, or with an alarm */
    uint8_t cause;    /* with an alarm: 1 + the statistic of input health that explains it; 0: none does */
    int8_t change;    /* with an alarm, in 1/8 bit, and for other statistics in 1/8: risk and novelty beyond their
                       * first edge, log2 of divergence and instability over their mean, that statistic's change */
} tcuq_decision;

/* ---- the functions ----
 *
 * Threads: no globals, so that calls on different monitors may run at the same time; two calls on one monitor may
 * not, readers included. Interrupts: a call may run in an interrupt if none on the same monitor was interrupted;
 * tcuq_step takes thousands of cycles. Alignment: posterior, features and buffers need none; monitor, decision,
 * health and what a monitor points at are aligned as their types, `means` of a profile to four bytes.
 * Undefined: a null or dangling pointer where null is not allowed below, arrays shorter than stated, memory that
 * overlaps another argument, and any call but tcuq_init and tcuq_strerror before tcuq_init returned TCUQ_OK.
 * Profile and memory of a monitor stay valid, and the profile unchanged, as long as it is used. */

/* Checks everything once and starts from the calibrated state; tcuq_step then needs no checks.
 * monitor: its profile and the caller's memory; null or an unsound profile is refused, whatever it holds. */
TCUQ_MUST_CHECK tcuq_status tcuq_init(tcuq_monitor *monitor);

/* One step. It ends for every value of the inputs.
 * monitor: after tcuq_init.
 * posterior: `classes` bytes in 1/256; need not add up to 256. Without classes: so many outputs, as int8 in the
 * profile's scales.
 * features: `width` bytes in the profile's scale; not read, and may be null, if width is 0.
 * health: health_count statistics in Q10; null: this step carries none.
 * decision: written whole. */
void tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
               const int16_t *health, tcuq_decision *decision);

/* Back to the state tcuq_init left. monitor: after tcuq_init. */
void tcuq_reset(tcuq_monitor *monitor);

/* After a gap: forgets the past, keeps threshold, budget, evidence and unfinished blocks. monitor: after
 * tcuq_init. */
void tcuq_reset_history(tcuq_monitor *monitor);

/* Whether an alarm was raised since tcuq_init, tcuq_reset or tcuq_alarm_acknowledge, also before a tcuq_restore: a
 * profile's promise on the accepted error is void from then on. monitor: after tcuq_init; only read. */
bool tcuq_alarm_stands(const tcuq_monitor *monitor);

/* After a repair: forgets what the alarm learned and that one was raised; it compares with calibration again, as
 * after a boot, so that the same fault is found as fast when it returns. Past, level, budget, epoch and telemetry
 * stay; the warm-up of an adaptive threshold begins again. monitor: after tcuq_init. */
void tcuq_alarm_acknowledge(tcuq_monitor *monitor);

/* log2 of the running epoch's e-value, in 1/256 bit; the lowest value means an e-value of 0. monitor: after
 * tcuq_init; only read. */
int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor);

/* Bytes of a snapshot, the same on every CPU. monitor: after tcuq_init; only read. */
uint32_t tcuq_snapshot_size(const tcuq_monitor *monitor);

/* The state as bytes, the same on every CPU.
 * monitor: after tcuq_init; only read.
 * buffer: takes tcuq_snapshot_size bytes; null is refused. After an error it holds what it held.
 * size: bytes that buffer has room for; too few are refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_snapshot(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size);

/* Refuses a snapshot that is damaged, foreign or of another version and then changes nothing; one whose checksum
 * is true but whose values no step can leave resets the monitor.
 * monitor: after tcuq_init with the profile that the snapshot was taken with.
 * buffer: any bytes; null is refused.
 * size: as many as there are; other than tcuq_snapshot_size is refused. */
tcuq_status tcuq_restore(tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size);

#if TCUQ_WITH_TELEMETRY
/* Fills the caller's buffer with a telemetry record (docs/spec/record.md).
 * monitor: after tcuq_init; only read. Without telemetry it is refused.
 * identity: of device, firmware, boot and record; null is refused.
 * buffer: takes TCUQ_RECORD_BYTES; null is refused.
 * size: bytes that buffer has room for; too few are refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_record(const tcuq_monitor *monitor, const tcuq_identity *identity, uint8_t *buffer,
                                        uint32_t size);
#endif

/* A line for each status; any other number is "unknown", and in a build without uplink and profiles over the air
 * their statuses too. The text is constant. */
const char *tcuq_strerror(tcuq_status status);

#ifdef __cplusplus
}
#endif
#endif
