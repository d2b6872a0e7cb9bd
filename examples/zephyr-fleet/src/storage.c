/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the uplink's and the monitor's state in NVS, one entry per page, on the board's storage partition. */
#include <zephyr/drivers/flash.h>
#include <zephyr/kvss/nvs.h>
#include <zephyr/logging/log.h>
#include <zephyr/storage/flash_map.h>

#include "device.h"

LOG_MODULE_REGISTER(storage);

#define FIRST_ENTRY 1u
#define SECTORS 4u
#define UPLINK_BYTES TCUQ_UPLINK_BYTES(SLOTS, TCUQ_RECORD_BYTES)

static uint8_t copy[UPLINK_BYTES + TCUQ_DEVICE_SNAPSHOT_BYTES];
static struct nvs_fs storage;
static bool mounted;

static bool mount(void)
{
    struct flash_pages_info sector;
    storage.flash_device = PARTITION_DEVICE(storage_partition);
    storage.offset = PARTITION_OFFSET(storage_partition);
    if (!device_is_ready(storage.flash_device) ||
        (flash_get_page_info_by_offs(storage.flash_device, storage.offset, &sector) != 0)) {
        return false;
    }
    storage.sector_size = (uint32_t)sector.size;
    storage.sector_count = SECTORS;
    return nvs_mount(&storage) == 0;
}

void storage_read(tcuq_uplink *uplink)
{
    mounted = mount();
    if (!mounted) {
        LOG_ERR("no storage");
    }
    for (uint8_t page = 0u; mounted && (page < PAGES); page++) {
        const ssize_t size = nvs_read(&storage, (uint16_t)(FIRST_ENTRY + page), copy, sizeof copy);
        if ((size == (ssize_t)sizeof copy) &&
            (tcuq_uplink_restore(uplink, page, copy, UPLINK_BYTES) == TCUQ_OK)) {
            const tcuq_status status =
                tcuq_restore(&tcuq_device, &copy[UPLINK_BYTES], TCUQ_DEVICE_SNAPSHOT_BYTES);
            if (status != TCUQ_OK) {
                LOG_WRN("monitor: %s", tcuq_strerror(status)); /* of another profile, say */
            }
        }
    }
}

void storage_save(tcuq_uplink *uplink)
{
    if (!mounted || (tcuq_uplink_snapshot(uplink, copy, UPLINK_BYTES) != TCUQ_OK) ||
        (tcuq_snapshot(&tcuq_device, &copy[UPLINK_BYTES], TCUQ_DEVICE_SNAPSHOT_BYTES) != TCUQ_OK)) {
        return;
    }
    const uint16_t entry = (uint16_t)(FIRST_ENTRY + tcuq_uplink_page(uplink));
    const ssize_t written = nvs_write(&storage, entry, copy, sizeof copy);
    if ((written == (ssize_t)sizeof copy) || (written == 0)) { /* 0: the same bytes are there already */
        (void)tcuq_uplink_saved(uplink); /* only now may the record be sent */
    } else {
        LOG_WRN("not saved: %d", (int)written);
    }
}
