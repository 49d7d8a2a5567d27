// Builds dist/, or the given folder, from src/: the compiler's output, the files that tsc does not copy (SQL migrations, the
// demo's job), and the JSON Schema of job files for editors.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, globSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { runSpecJsonSchema } from "../src/core/job/run-spec.ts";

const root = resolve(import.meta.dirname, "..");
const target = resolve(process.argv[2] ?? join(root, "dist"));

rmSync(target, { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.build.json", "--outDir", target], { cwd: root, stdio: "inherit" });

const migrations = globSync("store/*/migrations/*.sql", { cwd: join(root, "src") });
if (migrations.length === 0)
  throw new Error("No migrations found under src/store/*/migrations: nothing could open a database.");
for (const file of [...migrations, "demo/job.yaml"]) cpSync(join(root, "src", file), join(target, file));
writeFileSync(join(target, "run-spec.schema.json"), `${JSON.stringify(runSpecJsonSchema(), null, 2)}\n`);
chmodSync(join(target, "cli/main.js"), 0o755);

console.log(`Built ${relative(root, target)}/, with ${migrations.length} migration(s).`);
