// Builds dist/ from src/: the compiler's output, and the SQL migrations, which tsc leaves where they are.

import { execFileSync } from "node:child_process";
import { cpSync, globSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

rmSync(join(root, "dist"), { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });

const migrations = globSync("store/*/migrations/*.sql", { cwd: join(root, "src") });
if (migrations.length === 0)
  throw new Error("No migrations found under src/store/*/migrations: nothing could open a database.");
for (const file of migrations) cpSync(join(root, "src", file), join(root, "dist", file));

console.log(`Built dist/, with ${migrations.length} migration(s).`);
