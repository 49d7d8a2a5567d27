// `npm run test:soak -- --minutes 10 --seed 7`: the long tests, for any duration, starting from a seed. Other arguments
// are passed to vitest, such as the name of a test file.

import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

process.exitCode = main(process.argv.slice(2));

function main(given: readonly string[]): number {
  const asked = readArguments(given);
  if (typeof asked === "string") {
    console.error(`${asked} Write it like this: npm run test:soak -- --minutes 10 --seed 7`);
    return 2;
  }
  const { status } = spawnSync("vitest", ["run", "--config", "vitest.soak.config.ts", ...asked.files], {
    stdio: "inherit",
    env: { ...process.env, ...asked.environment },
  });
  return status ?? 1;
}

type Asked = { readonly environment: NodeJS.ProcessEnv; readonly files: readonly string[] };

/** The parsed options, or an error message. */
function readArguments(given: readonly string[]): Asked | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...given],
      options: { minutes: { type: "string" }, seed: { type: "string" } },
      allowPositionals: true,
    });
    const { minutes, seed } = values;
    if (minutes !== undefined && !(Number(minutes) > 0))
      return `--minutes ${minutes} is not a number above 0.`;
    if (seed !== undefined && !/^\d{1,9}$/.test(seed))
      return `--seed ${seed} is not a whole number of up to nine digits.`;
    const environment = {
      ...(minutes === undefined ? {} : { PAWL_SOAK_MINUTES: minutes }),
      ...(seed === undefined ? {} : { PAWL_SOAK_SEED: seed }),
    };
    return { environment, files: positionals };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
