/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

void put_char(char character);

void put_char(char character)
{
    putchar(character);
}
