/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU TCG plugin: instructions of every tcuq_step, of the stages inside it, and of every address.
 *
 * Arguments: out=FILE, step=ADDRESS and, for each stage, stage=NAME:ADDRESS (entries of functions).
 * A function's return is known by the address after its call; a tail call returns with its caller.
 * QEMU 7.2 packages no qemu-plugin.h: the few prototypes of API v1 stand here. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*executed)(unsigned int cpu, void *data);
typedef void (*finished)(qemu_plugin_id_t id, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated call);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t at);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed call,
                                                   int flags, void *data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, finished call, void *data);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC int qemu_plugin_version = 1;

#define MAX_STAGES 16
#define MAX_DEPTH 16
#define CODE_BYTES (1u << 18) /* below this, from the image's start, addresses are counted */

typedef struct {
    char name[48];
    uint64_t entry;
    uint64_t total;
    uint64_t worst;
    uint64_t now;
} stage; /* the first is the step itself: what no other stage takes */

typedef struct {
    int stage;
    uint64_t back; /* where its function returns to */
} frame;

static stage stages[MAX_STAGES];
static int stage_count = 1;
static frame stack[MAX_DEPTH];
static int depth;
static uint64_t after; /* address after the last instruction */
static uint64_t steps, total, worst, worst_at, least, now;
static uint64_t histogram[CODE_BYTES / 2u];
static const char *out;

static void end_step(void)
{
    total += now;
    least = ((steps == 0u) || (now < least)) ? now : least;
    if (now > worst) {
        worst = now;
        worst_at = steps;
    }
    for (int i = 0; i < stage_count; i++) {
        stages[i].total += stages[i].now;
        stages[i].worst = (stages[i].now > stages[i].worst) ? stages[i].now : stages[i].worst;
        stages[i].now = 0u;
    }
    steps++;
    now = 0u;
}

static void leave_to(uint64_t address)
{
    for (int i = depth - 1; i >= 0; i--) {
        if (stack[i].back == address) {
            depth = i;
            break;
        }
    }
    if ((depth == 0) && (now != 0u)) {
        end_step();
    }
}

static void enter(uint64_t address)
{
    for (int i = (depth == 0) ? 0 : 1; i < ((depth == 0) ? 1 : stage_count); i++) {
        if ((stages[i].entry == address) && (depth < MAX_DEPTH)) {
            stack[depth].stage = i;
            stack[depth].back = after;
            depth++;
        }
    }
}

static void execute(unsigned int cpu, void *data)
{
    const uint64_t address = (uint64_t)(uintptr_t)data & 0xffffffffu;
    const uint64_t size = (uint64_t)(uintptr_t)data >> 32;
    (void)cpu;
    if (depth > 0) {
        leave_to(address);
    }
    enter(address);
    after = address + size;
    if (depth > 0) {
        now++;
        stages[stack[depth - 1].stage].now++;
        histogram[(address % CODE_BYTES) / 2u]++;
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t size = qemu_plugin_insn_size(insn);
        const uint64_t known = (size << 32) | (qemu_plugin_insn_vaddr(insn) & 0xffffffffu);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, execute, 0, (void *)(uintptr_t)known);
    }
}

static void finish(qemu_plugin_id_t id, void *data)
{
    FILE *file = fopen(out, "w");
    (void)id;
    (void)data;
    if (file == NULL) {
        return;
    }
    fprintf(file, "steps %" PRIu64 " total %" PRIu64 " least %" PRIu64, steps, total, least);
    fprintf(file, " worst %" PRIu64 " worst_at %" PRIu64 "\n", worst, worst_at);
    for (int i = 0; i < stage_count; i++) {
        fprintf(file, "stage %s total %" PRIu64 " worst %" PRIu64 "\n", stages[i].name,
                stages[i].total, stages[i].worst);
    }
    for (uint32_t i = 0; i < CODE_BYTES / 2u; i++) {
        if (histogram[i] != 0u) {
            fprintf(file, "at %" PRIu32 " count %" PRIu64 "\n", 2u * i, histogram[i]);
        }
    }
    fclose(file);
}

static bool add_stage(const char *text)
{
    const char *colon = strchr(text, ':');
    stage *made = &stages[stage_count];
    if ((colon == NULL) || (stage_count == MAX_STAGES) ||
        ((size_t)(colon - text) >= sizeof made->name)) {
        return false;
    }
    memcpy(made->name, text, (size_t)(colon - text));
    made->entry = strtoull(colon + 1, NULL, 0);
    stage_count++;
    return true;
}

PUBLIC int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments)
{
    bool sound = true;
    (void)info;
    strcpy(stages[0].name, "tcuq_step");
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "out=", 4) == 0) {
            out = strdup(arguments[i] + 4);
        } else if (strncmp(arguments[i], "step=", 5) == 0) {
            stages[0].entry = strtoull(arguments[i] + 5, NULL, 0);
        } else {
            sound = sound && (strncmp(arguments[i], "stage=", 6) == 0) && add_stage(arguments[i] + 6);
        }
    }
    if (!sound || (out == NULL) || (stages[0].entry == 0u)) {
        fputs("icount: out=FILE step=ADDRESS [stage=NAME:ADDRESS ...]\n", stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
