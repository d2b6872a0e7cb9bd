/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the uplink's and the monitor's state in NVS, one key per page. */
#include "device.h"
#include "esp_log.h"
#include "nvs.h"
#include "nvs_flash.h"

#define UPLINK_BYTES TCUQ_UPLINK_BYTES(SLOTS, TCUQ_RECORD_BYTES)

static const char *const TAG = "storage";
static const char *const KEYS[PAGES] = {"page0", "page1", "page2", "page3"};
static uint8_t copy[UPLINK_BYTES + TCUQ_DEVICE_SNAPSHOT_BYTES];
static nvs_handle_t handle;
static bool open;

/* A partition of another layout, or without a free page, is erased: the store's answer then tells the uplink
 * that flash was lost (TCUQ_NEW_BOOT). */
bool storage_open(void)
{
    if (open) {
        return true;
    }
    esp_err_t error = nvs_flash_init();
    if ((error == ESP_ERR_NVS_NO_FREE_PAGES) || (error == ESP_ERR_NVS_NEW_VERSION_FOUND)) {
        ESP_LOGW(TAG, "erasing NVS: %s", esp_err_to_name(error));
        error = nvs_flash_erase();
        error = (error == ESP_OK) ? nvs_flash_init() : error;
    }
    error = (error == ESP_OK) ? nvs_open("tcuq", NVS_READWRITE, &handle) : error;
    if (error != ESP_OK) {
        ESP_LOGE(TAG, "no storage: %s", esp_err_to_name(error));
    }
    open = error == ESP_OK;
    return open;
}

void storage_read(tcuq_uplink *uplink)
{
    const bool readable = storage_open();
    for (uint8_t page = 0u; readable && (page < PAGES); page++) {
        size_t size = sizeof copy;
        if ((nvs_get_blob(handle, KEYS[page], copy, &size) == ESP_OK) && (size == sizeof copy) &&
            (tcuq_uplink_restore(uplink, page, copy, UPLINK_BYTES) == TCUQ_OK)) {
            const tcuq_status status =
                tcuq_restore(&tcuq_device, &copy[UPLINK_BYTES], TCUQ_DEVICE_SNAPSHOT_BYTES);
            if (status != TCUQ_OK) {
                ESP_LOGW(TAG, "monitor: %s", tcuq_strerror(status)); /* of another profile, say */
            }
        }
    }
}

void storage_save(tcuq_uplink *uplink)
{
    if ((tcuq_uplink_snapshot(uplink, copy, UPLINK_BYTES) != TCUQ_OK) ||
        (tcuq_snapshot(&tcuq_device, &copy[UPLINK_BYTES], TCUQ_DEVICE_SNAPSHOT_BYTES) != TCUQ_OK)) {
        return;
    }
    esp_err_t error = storage_open() ? nvs_set_blob(handle, KEYS[tcuq_uplink_page(uplink)], copy, sizeof copy)
                                     : ESP_ERR_NVS_NOT_INITIALIZED;
    error = (error == ESP_OK) ? nvs_commit(handle) : error;
    if (error == ESP_OK) {
        (void)tcuq_uplink_saved(uplink); /* only now may the record be sent */
    } else {
        ESP_LOGW(TAG, "not saved: %s", esp_err_to_name(error));
    }
}
