import { spawnSync } from "node:child_process";

/** Prints the address of every module that is loaded, when the process ends. */
const RECORDER = `
  import { writeSync } from "node:fs";
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  process.on("exit", () => writeSync(1, "\\nloaded:" + JSON.stringify(loaded)));`;

/** Runs Node with these arguments, and returns the addresses of the modules that it loaded, and its own output. */
export function loadedModules(
  args: readonly string[],
  cwd: string,
): { readonly loaded: readonly string[]; readonly printed: string } {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(RECORDER)}`, ...args],
    { cwd, encoding: "utf8" },
  );
  const [printed = "", list] = stdout.split("\nloaded:");
  if (status !== 0 || list === undefined)
    throw new Error(`node ${args.join(" ")} failed (${status}): ${stderr}${stdout}`);
  return { loaded: JSON.parse(list) as string[], printed };
}
