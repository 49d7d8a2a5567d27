// Writes docs/api and docs/configuration.md from the types and doc comments in src, and docs/http-api.md from the route table. A test compares the pages with this.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { buildTypes } from "./build-types.ts";
import { docsPages } from "./docs/pages.ts";

const root = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "pawl-declarations-"));
try {
  buildTypes(join(folder, "dist"));
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  const pages = docsPages(folder);
  rmSync(join(root, "docs/api"), { recursive: true, force: true });
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  console.log(`Wrote ${pages.size} pages: docs/configuration.md, docs/http-api.md and docs/api.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
