/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of the kernel is used by the minimal application. */
