/* SPDX-License-Identifier: Apache-2.0 */
/* The CRC-32 of many telemetry records at once, which the fleet's ingest checks before anything else. The
 * runtime's takes a bit at a time and no table; here eight bytes, because a server reads millions. */
#include "engine.h"

#define SLICES 8
#define POLYNOMIAL 0xEDB88320u

static uint32_t tables[SLICES][256]; /* written once, by the import, before the first call */

void checksums_prepare(void)
{
    for (uint32_t byte = 0u; byte < 256u; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (((crc & 1u) != 0u) ? POLYNOMIAL : 0u);
        }
        tables[0][byte] = crc;
    }
    for (uint32_t byte = 0u; byte < 256u; byte++) {
        for (int slice = 1; slice < SLICES; slice++) {
            const uint32_t before = tables[slice - 1][byte];
            tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFFu];
        }
    }
}

static uint32_t little_32(const uint8_t *at)
{
    return (uint32_t)at[0] | ((uint32_t)at[1] << 8) | ((uint32_t)at[2] << 16) | ((uint32_t)at[3] << 24);
}

static uint32_t checksum(const uint8_t *bytes, Py_ssize_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    Py_ssize_t i = 0;
    for (; i + SLICES <= size; i += SLICES) {
        const uint32_t low = crc ^ little_32(&bytes[i]);
        const uint32_t high = little_32(&bytes[i + 4]);
        crc = tables[7][low & 0xFFu] ^ tables[6][(low >> 8) & 0xFFu] ^
              tables[5][(low >> 16) & 0xFFu] ^ tables[4][low >> 24] ^ tables[3][high & 0xFFu] ^
              tables[2][(high >> 8) & 0xFFu] ^ tables[1][(high >> 16) & 0xFFu] ^
              tables[0][high >> 24];
    }
    for (; i < size; i++) {
        crc = (crc >> 8) ^ tables[0][(crc ^ bytes[i]) & 0xFFu];
    }
    return ~crc;
}

static PyObject *checksums(PyObject *module, PyObject *args)
{
    Py_buffer from;
    Py_buffer to;
    Py_ssize_t stride;
    Py_ssize_t size;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnw*:checksums", &from, &stride, &size, &to)) {
        return NULL;
    }
    const Py_ssize_t records = (stride > 0) ? from.len / stride : 0;
    const bool fits = (size >= 0) && (size <= stride) && (records * stride == from.len) &&
                      (to.len == records * (Py_ssize_t)sizeof(uint32_t));
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < records; i++) {
            ((uint32_t *)to.buf)[i] = checksum((const uint8_t *)from.buf + i * stride, size);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "records must be whole, and one uint32 be given for each");
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef checksums_methods[] = {
    {"checksums", checksums, METH_VARARGS,
     "checksums(records, stride, size, into, /)\n--\n\n"
     "The CRC-32 of the first `size` bytes of each record of `stride` bytes, without the GIL."},
    {NULL, NULL, 0, NULL},
};
