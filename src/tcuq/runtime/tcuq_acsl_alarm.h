/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the alarm, its bets and the epoch ask, change and leave. */
#ifndef TCUQ_ACSL_ALARM_H
#define TCUQ_ACSL_ALARM_H

/* What the alarm reads and writes besides the step's own. */
/*@ predicate tcuq_alarm_given(tcuq_monitor *m) =
      tcuq_core_given(m) && tcuq_channels_given(m) && tcuq_channels_ok(m->profile) &&
      \separated(m->core, m->channels + (0 .. m->profile->channel_count - 1),
        m->profile->channels + (0 .. m->profile->channel_count - 1)); */

/*@ requires risk <= TCUQ_RISK_LEVELS;
    assigns \nothing;
    ensures -32768 <= \result <= 32767; */
int16_t tcuq_risk_odds_q10(uint16_t risk);

/*@ requires tcuq_alarm_given(monitor) && tcuq_alarm_ok(monitor) && tcuq_epoch_ok(monitor);
    requires \valid(signals) && \valid(decision) && decision->risk <= TCUQ_RISK_LEVELS;
    requires \separated(decision, signals, TCUQ_PROFILE, monitor->core, TCUQ_CHANNEL_STATES);
    requires \separated(signals, monitor->core, TCUQ_CHANNEL_STATES);
    assigns signals->risk_odds_q10, decision->alarm, decision->amber, decision->cause, decision->change, TCUQ_EPOCH_CORE, monitor->core->suspect, monitor->core->cause, TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor) && tcuq_epoch_ok(monitor); */
void tcuq_alarm_run(const tcuq_monitor *monitor, tcuq_signals *signals, tcuq_decision *decision);

/*@ requires tcuq_alarm_given(monitor) && 1 <= monitor->profile->channel_count;
    requires index < monitor->profile->channel_count && passed <= TCUQ_EDGES + 1 && tcuq_block_ok(monitor->channels + index);
    requires \forall integer i; 0 <= i < monitor->profile->channel_count && i != index ==>
      tcuq_channel_state_ok(monitor->profile->channels + i, monitor->channels + i);
    assigns monitor->core->cause, TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor); */
uint8_t tcuq_alarm_block(const tcuq_monitor *monitor, uint32_t index, uint32_t passed);

/*@ requires tcuq_alarm_given(monitor);
    assigns TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor) && (tcuq_epoch_ok{Old}(monitor) ==> tcuq_epoch_ok(monitor)); */
void tcuq_alarm_forget(const tcuq_monitor *monitor);

/*@ requires tcuq_alarm_given(monitor);
    assigns monitor->core->epoch_steps, TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor) && tcuq_epoch_ok(monitor); */
void tcuq_alarm_reset(const tcuq_monitor *monitor);

/*@ requires tcuq_core_given(monitor) && tcuq_channels_given(monitor) && tcuq_channels_ok(monitor->profile);
    assigns \nothing; */
bool tcuq_amber(const tcuq_monitor *monitor);

/*@ requires tcuq_alarm_given(monitor) && 1 <= monitor->profile->channel_count;
    requires (farthest & 15) < monitor->profile->health_count;
    requires \valid_read(health + (0 .. monitor->profile->health_count - 1));
    requires \valid_read(monitor->profile->health_means + (0 .. monitor->profile->health_count - 1));
    assigns monitor->core->suspect, monitor->channels[monitor->profile->channel_count - 1].change;
    ensures tcuq_alarm_ok{Old}(monitor) ==> tcuq_alarm_ok(monitor); */
void tcuq_alarm_suspect(const tcuq_monitor *monitor, const int16_t *health, uint16_t farthest);

/*@ requires tcuq_core_given(monitor) && tcuq_channels_given(monitor);
    assigns \nothing; */
int8_t tcuq_last_change(const tcuq_monitor *monitor);

/*@ requires \valid(state);
    assigns state->levels[0 .. TCUQ_BETS - 1];
    ensures tcuq_levels_ok(state); */
void tcuq_bets_rest(tcuq_channel_state *state);

/*@ requires \valid(state) && passed <= TCUQ_EDGES + 1 && tcuq_block_ok(state);
    assigns state->counts[0 .. TCUQ_LEARNED_COUNTS - 1], state->levels[0 .. TCUQ_BETS - 1], state->block_steps_and_memory;
    ensures tcuq_block_ok(state) && (state->block_steps_and_memory & 0x3FFF) == 0 && state->block_steps_and_memory < 0xC000; */
void tcuq_bets_take(tcuq_channel_state *state, uint32_t passed);

/*@ requires \valid(state) && -0x100000 <= gain_q8 <= 0x100000;
    assigns state->onset_q8, state->span_q8; */
void tcuq_epoch_bet(tcuq_channel_state *state, int32_t gain_q8);

/*@ requires tcuq_alarm_given(monitor);
    assigns monitor->core->epoch_steps, TCUQ_CHANNELS;
    ensures monitor->core->epoch_steps == 0 && (tcuq_alarm_ok{Old}(monitor) ==> tcuq_alarm_ok(monitor)); */
void tcuq_epoch_start(const tcuq_monitor *monitor);

/*@ requires tcuq_alarm_given(monitor) && 1 <= monitor->profile->channel_count && tcuq_epoch_ok(monitor);
    requires steps <= INT32_MAX;
    assigns TCUQ_EPOCH_CORE, TCUQ_CHANNELS;
    ensures tcuq_epoch_ok(monitor) && (tcuq_alarm_ok{Old}(monitor) ==> tcuq_alarm_ok(monitor)); */
void tcuq_epoch_count(const tcuq_monitor *monitor, uint32_t steps);

/*@ requires tcuq_core_given(monitor) && tcuq_channels_given(monitor) && tcuq_channels_ok(monitor->profile);
    assigns \nothing; */
int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor);

#endif
