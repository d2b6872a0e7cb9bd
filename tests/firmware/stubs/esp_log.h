/* SPDX-License-Identifier: Apache-2.0 */
/* As much of ESP-IDF's log as the minimal application uses. */
static inline __attribute__((format(printf, 2, 3))) void esp_log(const char *tag, const char *format, ...)
{
    (void)tag;
    (void)format;
}
#define ESP_LOGI(tag, ...) esp_log(tag, __VA_ARGS__)
#define ESP_LOGW(tag, ...) esp_log(tag, __VA_ARGS__)
#define ESP_LOGE(tag, ...) esp_log(tag, __VA_ARGS__)
