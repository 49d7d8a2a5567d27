import { execFile } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundlePatched, type Patch } from "../patched-sources.ts";
import type * as entry from "./entry.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
/** Longer than any command of an attack takes. */
const LONGEST_MS = 60_000;

export type CommandEnd = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type CommandOptions = {
  readonly cwd: string;
  /** Its whole environment besides PATH, and a folder where its compiled code is kept. */
  readonly env?: { readonly [name: string]: string };
  /** Its input; empty by default. */
  readonly stdin?: string;
};

/** The target of an attack: a copy of the sources, as a library and as a command line, each bundled on first use. */
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

  /** Runs `pawl` with these arguments in a separate process. */
  async cli(args: readonly string[], { cwd, env = {}, stdin = "" }: CommandOptions): Promise<CommandEnd> {
    const program = await this.program();
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [program, ...args],
        {
          cwd,
          env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(this.#folder, "compiled"), ...env },
          timeout: LONGEST_MS,
        },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
      child.stdin?.end(stdin);
    });
  }

  /** The script of the command line. */
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
