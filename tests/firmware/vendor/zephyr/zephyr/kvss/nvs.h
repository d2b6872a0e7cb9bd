/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_KVSS_NVS_H
#define ZEPHYR_KVSS_NVS_H

#include <zephyr/device.h>
#include <zephyr/kernel.h>

struct nvs_fs {
    off_t offset;
    uint32_t ate_wra;
    uint32_t data_wra;
    uint32_t sector_size;
    uint16_t sector_count;
    bool ready;
    struct k_mutex nvs_lock;
    const struct device *flash_device;
};

int nvs_mount(struct nvs_fs *fs);
ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t len);
ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t len);

#endif
