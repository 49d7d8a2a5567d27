/**
 * The code of a worker thread. Among the sources it is a file, with the extension of this one. In the package it is text: the
 * build replaces this module. A program that bundles Pawl has no such file.
 */
export const THREAD_CODE: URL | string = new URL(
  `../off-thread-worker${/\.\w+$/.exec(import.meta.url)?.[0] ?? ".js"}`,
  import.meta.url,
);
