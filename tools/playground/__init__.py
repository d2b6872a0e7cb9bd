# SPDX-License-Identifier: Apache-2.0
"""The site's playground: its recorded streams, and the page that holds them."""
