import type { CliContext } from "../context/cli-context.ts";

/** The command lines of a package manager. */
export type PackageManager = {
  readonly name: string;
  readonly install: string;
  readonly start: string;
  readonly test: string;
  /** Runs a program of an installed package. */
  readonly execute: string;
};

const NPM: PackageManager = {
  name: "npm",
  install: "npm install",
  start: "npm start",
  test: "npm test",
  execute: "npx",
};

const MANAGERS: readonly PackageManager[] = [
  NPM,
  { name: "pnpm", install: "pnpm install", start: "pnpm start", test: "pnpm test", execute: "pnpm exec" },
  { name: "yarn", install: "yarn install", start: "yarn start", test: "yarn test", execute: "yarn run" },
  // `bun test` is Bun's own test runner, and not the script.
  { name: "bun", install: "bun install", start: "bun run start", test: "bun run test", execute: "bunx" },
];

/** The package manager that started this process, by the user agent that all of them set; npm if there is none. */
export function detectPackageManager(env: CliContext["env"]): PackageManager {
  const agent = env.npm_config_user_agent ?? "";
  return MANAGERS.find(({ name }) => agent.startsWith(`${name}/`)) ?? NPM;
}
