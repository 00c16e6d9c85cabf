// SPDX-License-Identifier: Apache-2.0
// Stands here so that the path exists; the tests of the format never compile it.
