/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_ATTR_H
#define ESP_ATTR_H

#define RTC_DATA_ATTR __attribute__((section("rtc_data")))

#endif
