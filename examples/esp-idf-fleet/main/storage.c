/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the uplink's and the monitor's state in NVS, one key per page. */
#include "device.h"
#include "esp_log.h"
#include "nvs.h"
#include "nvs_flash.h"

static const char *const TAG = "storage";
static const char *const KEYS[PAGES] = {"page0", "page1", "page2", "page3"};
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

bool storage_read(void *context, uint8_t page, uint8_t *bytes, uint32_t size)
{
    size_t length = size;
    (void)context;
    return storage_open() && (nvs_get_blob(handle, KEYS[page], bytes, &length) == ESP_OK) && (length == size);
}

bool storage_write(void *context, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    (void)context;
    esp_err_t error = storage_open() ? nvs_set_blob(handle, KEYS[page], bytes, size) : ESP_ERR_NVS_NOT_INITIALIZED;
    error = (error == ESP_OK) ? nvs_commit(handle) : error;
    if (error != ESP_OK) {
        ESP_LOGW(TAG, "not saved: %s", esp_err_to_name(error));
    }
    return error == ESP_OK;
}
