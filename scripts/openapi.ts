// Writes docs/openapi.json from the route table. A test compares the two.

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openApiDocument } from "./docs/openapi-document.ts";

const path = "docs/openapi.json";
writeFileSync(
  join(resolve(import.meta.dirname, ".."), path),
  `${JSON.stringify(openApiDocument(), null, 2)}\n`,
);
console.log(`Wrote ${path}.`);
