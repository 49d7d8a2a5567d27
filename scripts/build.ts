// Builds dist/, or the given folder, from src/: the code in a few files (build-code.ts), the types of its entries, the demo's
// job, the dashboard, the JSON Schema of job files for editors, and the licences of the packages whose code is inside.

import { chmodSync, cpSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { runSpecJsonSchema } from "../src/core/job/run-spec.ts";
import { buildCode } from "./build-code.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { licenceTexts } from "./build-licences.ts";
import { buildTypes } from "./build-types.ts";

const root = resolve(import.meta.dirname, "..");
const target = resolve(process.argv[2] ?? join(root, "dist"));

rmSync(target, { recursive: true, force: true });
buildTypes(target);
const inCode = await buildCode(target);
const inDashboard = await buildDashboard(join(target, "dashboard"));
const bundled = [...new Set([...inCode, ...inDashboard])].sort();
writeFileSync(join(target, "third-party-licenses.txt"), licenceTexts(bundled));
cpSync(join(root, "src/demo/job.yaml"), join(target, "demo/job.yaml"));
writeFileSync(join(target, "run-spec.schema.json"), `${JSON.stringify(runSpecJsonSchema())}\n`);
chmodSync(join(target, "cli/main.js"), 0o755);

console.log(`Built ${relative(root, target)}/, with the code of ${bundled.length} packages inside.`);
