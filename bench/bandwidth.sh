#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
exec python3 "$(dirname "$0")/bandwidth.py" "$@"
