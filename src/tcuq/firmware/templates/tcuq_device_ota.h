
/* Profiles over the air: step this monitor, whose profile tcuq_slots_start loads (tcuq_slots.h). It has the memory
 * of tcuq_device: use one of the two at a time. */
#include "tcuq_slots.h"
extern const tcuq_room tcuq_device_room;
extern tcuq_monitor tcuq_device_ota;
