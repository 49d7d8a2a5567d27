// Loads configuration files in a separate process: Node reads them as it does for users, without a test runner in between.
// Prints one JSON document: for each folder and file, the loaded configuration or the error.

import { loadConfig } from "../../../../src/cli/config/config-file.ts";

type Order = { readonly cwd: string; readonly file?: string };

const orders = JSON.parse(process.argv[2] ?? "[]") as readonly Order[];
const ends: unknown[] = [];
for (const { cwd, file } of orders) {
  try {
    const { path, config } = await loadConfig({ cwd, env: process.env }, file);
    ends.push({
      path,
      keys: Object.keys(config),
      store: config.store ?? null,
      budgets: config.budgets ?? null,
    });
  } catch (error) {
    ends.push(
      error instanceof Error ? { name: error.name, message: error.message } : { thrown: String(error) },
    );
  }
}
console.log(JSON.stringify(ends));
