// The parent's side: bundles the worker and starts it, alone or under a tracer that makes its disk fail.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crashDatabase } from "../../../src/testing/crash/databases/index.ts";
import type { ChildOrder, StartChild } from "../../../src/testing/crash/run-in-children.ts";
import type { ExplorerFolder } from "../../../src/testing/crash/run-schedule.ts";
import type { ProcessOutcome } from "../../../src/testing/crash/world.ts";
import { bundle } from "../../crash/harness/bundle-worker.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";

/** A child that has not ended after this time counts as stuck. */
const LONGEST_MS = 30_000;

export type RemovableFolder = ExplorerFolder & { readonly remove: () => Promise<void> };

/** A folder for worlds, with databases on the server at this address, or SQLite files; the caller removes it. */
export async function makeExplorerFolder(url?: string): Promise<RemovableFolder> {
  const folder = mkdtempSync(join(EXPLORER_FOLDER.folder ?? tmpdir(), "pawl-killed-"));
  const database = await crashDatabase(url, folder);
  return {
    folder,
    database,
    remove: async () => {
      await database.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The worker bundled into one file: from its sources it would take several times as long to start. */
export class KilledChildren {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<KilledChildren> {
    const folder = mkdtempSync(join(tmpdir(), "pawl-killed-worker-"));
    try {
      // Packages that are loaded lazily stay out of the bundle, and are found through this link.
      symlinkSync(
        fileURLToPath(new URL("../../../node_modules", import.meta.url)),
        join(folder, "node_modules"),
      );
      await bundle(
        folder,
        ["test/testing/crash/killed-worker.ts"],
        ["pdfkit", "nodemailer", "ai", "pg", /^@ai-sdk\//],
      );
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
    return new KilledChildren(folder);
  }

  /** Starts workers for a scenario; `under` returns the command line of a program that starts the worker, if any. */
  starter(scenario: string, under: (order: ChildOrder) => readonly string[] = () => []): StartChild {
    return (order) => {
      const worker = [
        process.execPath,
        join(this.#folder, "killed-worker.mjs"),
        JSON.stringify({ ...order, scenario }),
      ];
      return endOf([...under(order), ...worker], join(this.#folder, "compiled"));
    };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function endOf([program = "", ...args]: readonly string[], compileCache: string): Promise<ProcessOutcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, NODE_OPTIONS: "" },
      // A process group of its own, so that a stuck worker is killed together with its tracer.
      detached: true,
    });
    let [stdout, stderr, isLate] = ["", "", false];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const timer = setTimeout(() => {
      isLate = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, LONGEST_MS);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const last = stdout.trimEnd().split("\n").at(-1) ?? "";
      if (isLate) resolve({ kind: "stuck" });
      else if (signal === "SIGKILL") resolve({ kind: "died" });
      else if (code === 0 && last !== "") resolve(JSON.parse(last) as ProcessOutcome);
      else reject(new Error(`The child ended with ${signal ?? code} and no report.\n${stdout}${stderr}`));
    });
  });
}
