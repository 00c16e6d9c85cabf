# SPDX-License-Identifier: Apache-2.0
# Sourced by ./quickstart and ./test: installs what is missing, or says exactly what to install and stops.
# Usage: assay_setup run|test

assay_packages() {
  # What builds and runs the program: compiler, build tools, libraries, and the libraries of the peers (OpenBLAS, oneDNN).
  echo g++ cmake ninja-build ccache pkg-config git binutils \
    libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libspdlog-dev libfmt-dev libsqlite3-dev libzstd-dev \
    libssl-dev libseccomp-dev libboost-dev libopenblas-pthread-dev libopenblas0-pthread libdnnl-dev
  # What the tests need besides: GoogleTest, MPFR (a second implementation of the number formats), a second compiler with
  # OpenMP, the schema validator.
  if [ "$1" = test ]; then echo libgtest-dev libgmock-dev libmpfr-dev clang libomp-dev python3 python3-jsonschema util-linux; fi
}

assay_setup() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "assay: this set-up knows Debian and Ubuntu (apt). Elsewhere install the equivalents of:" >&2
    echo "  $(assay_packages "$1" | tr '\n' ' ')" >&2
    return 1
  fi
  missing=""
  for package in $(assay_packages "$1"); do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
  done
  [ -z "$missing" ] && return 0
  echo "assay: installing$missing"
  if [ "$(id -u)" = 0 ]; then
    sudo=""
  elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    sudo="sudo"
  else
    echo "assay: no rights to install. Ask an administrator to run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    return 1
  fi
  $sudo apt-get update -qq || return 1
  # shellcheck disable=SC2086
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
    echo "assay: apt-get could not install:$missing" >&2
    return 1
  }
}
