/**
 * Code of stores that is loaded when it is first needed, since few programs need all of it. In one object: a bundler that
 * leaves out a function which is not used would keep the file that it loads, and then fail to make one file of a program.
 */
export const LOADED_CODE = {
  sqlite: () => import("./sqlite/sqlite-store.ts"),
  postgres: () => import("./postgres/postgres-store.ts"),
  exportBundle: () => import("./bundle/export-bundle.ts"),
  importBundle: () => import("./bundle/import-bundle.ts"),
} as const;
