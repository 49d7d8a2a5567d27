/**
 * Packages whose code is part of the build, with that of their own dependencies. They are development dependencies: users
 * install none of them. Every other package is imported where it is installed.
 */
export const BUNDLED_PACKAGES: readonly string[] = [
  "@clack/prompts",
  "canonicalize",
  "commander",
  "croner",
  "html-to-text",
  "marked",
  "picocolors",
  "yaml",
];

/** Packages whose code is in the files of the dashboard. Nothing but browsers ever runs it. */
export const DASHBOARD_PACKAGES: readonly string[] = [
  "@tanstack/react-query",
  "@tanstack/react-virtual",
  "react",
  "react-dom",
  "wouter",
];
