/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the uplink's and the monitor's state in NVS, one entry per page, on the board's storage partition. */
#include <errno.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/kvss/nvs.h>
#include <zephyr/logging/log.h>
#include <zephyr/storage/flash_map.h>

#include "device.h"

LOG_MODULE_REGISTER(storage);

#define FIRST_ENTRY 1u
#define SECTORS 4u

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

void storage_mount(void)
{
    mounted = mount();
    if (!mounted) {
        LOG_ERR("no storage");
    }
}

bool storage_read(void *context, uint8_t page, uint8_t *bytes, uint32_t size)
{
    (void)context;
    return mounted && (nvs_read(&storage, (uint16_t)(FIRST_ENTRY + page), bytes, size) == (ssize_t)size);
}

bool storage_write(void *context, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    (void)context;
    const ssize_t written = mounted ? nvs_write(&storage, (uint16_t)(FIRST_ENTRY + page), bytes, size) : -ENODEV;
    const bool saved = (written == (ssize_t)size) || (written == 0); /* 0: the same bytes are there already */
    if (!saved) {
        LOG_WRN("not saved: %d", (int)written);
    }
    return saved;
}
