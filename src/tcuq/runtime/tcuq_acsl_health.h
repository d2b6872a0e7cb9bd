/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what input health's tables are, and what it asks, changes and leaves. */
#ifndef TCUQ_ACSL_HEALTH_H
#define TCUQ_ACSL_HEALTH_H

/*@ predicate tcuq_health_ok(tcuq_profile *p) =
      p->health_count != 0 ==> p->health_count <= TCUQ_MAX_HEALTH && p->health_means != \null &&
        p->health_weights_q9 != \null;

    predicate tcuq_health_given(tcuq_profile *p) =
      \valid_read(p) &&
      (p->health_means != \null ==> \valid_read(p->health_means + (0 .. p->health_count - 1))) &&
      (p->health_weights_q9 != \null ==>
        \valid_read(p->health_weights_q9 + (0 .. p->health_count - 1))); */

/*@ requires tcuq_health_given(profile);
    assigns \nothing;
    ensures \result ==> tcuq_health_ok(profile); */
bool tcuq_health_sound(const tcuq_profile *profile);

/*@ requires tcuq_health_given(profile) && tcuq_health_ok(profile) && profile->health_count != 0;
    requires \valid_read(health + (0 .. profile->health_count - 1)) && \valid(signals);
    requires \separated(signals, health + (0 .. profile->health_count - 1)) && \separated(signals, profile);
    requires \separated(signals, profile->health_means + (0 .. profile->health_count - 1));
    requires \separated(signals, profile->health_weights_q9 + (0 .. profile->health_count - 1));
    assigns signals->health_given, signals->health_q10, signals->health_worst;
    ensures (signals->health_worst & 15) < profile->health_count; */
void tcuq_health_run(const tcuq_profile *profile, const int16_t *health, tcuq_signals *signals);

#endif
