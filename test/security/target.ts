import { execFile } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundlePatched, type Patch } from "../patched-sources.ts";
import type * as entry from "./entry.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
/** No command of an attack takes so long. */
const LONGEST_MS = 60_000;

export type CommandEnd = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type CommandPlace = {
  readonly cwd: string;
  /** All of its environment beside PATH. */
  readonly env?: { readonly [name: string]: string };
  /** What is typed at it; nothing unless said. */
  readonly stdin?: string;
};

/** What is attacked: a copy of the sources, as a library and as a command line, each bundled when it is first asked for. */
export class Target {
  readonly #folder: string;
  readonly #patches: readonly Patch[];
  #library: Promise<typeof entry> | undefined;
  #program: Promise<string> | undefined;

  constructor(folder: string, patches: readonly Patch[] = []) {
    this.#folder = folder;
    this.#patches = patches;
  }

  /** Everything that a user imports. */
  library(): Promise<typeof entry> {
    this.#library ??= this.#bundleLibrary();
    return this.#library;
  }

  /** `pawl` with these arguments, as a process of its own. */
  async cli(args: readonly string[], { cwd, env = {}, stdin = "" }: CommandPlace): Promise<CommandEnd> {
    const program = await this.program();
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [program, ...args],
        { cwd, env: { PATH: process.env.PATH, ...env }, timeout: LONGEST_MS },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
      child.stdin?.end(stdin);
    });
  }

  /** The file that Node is started with for the command line. */
  program(): Promise<string> {
    this.#program ??= this.#bundleProgram();
    return this.#program;
  }

  async #bundleLibrary(): Promise<typeof entry> {
    const file = join(this.#folder, "library.mjs");
    await bundlePatched("test/security/entry.ts", file, this.#patches);
    return (await import(pathToFileURL(file).href)) as typeof entry;
  }

  async #bundleProgram(): Promise<string> {
    const file = join(this.#folder, "src/cli/main.mjs");
    await bundlePatched("src/cli/main.ts", file, this.#patches);
    const manifest = join(this.#folder, "package.json");
    if (!existsSync(manifest)) cpSync(join(repository, "package.json"), manifest);
    return file;
  }
}
