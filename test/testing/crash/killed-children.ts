// The parent's side: the bundled worker, and how one is started, alone or under a tracer that makes its disk fail.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../../src/index.ts";
import type { KilledOrder, StartChild } from "../../../src/testing/crash/killed.ts";
import type { Laboratory } from "../../../src/testing/crash/perform.ts";
import type { LifeEnd } from "../../../src/testing/crash/world.ts";
import { bundle } from "../../crash/harness/bundle-worker.ts";
import { LABORATORY } from "./laboratory.ts";

/** A child that is not done after this long hangs. */
const LONGEST_MS = 30_000;

/** A folder for worlds, with an empty database to copy; whoever made it removes it. */
export async function makeLaboratory(): Promise<Laboratory> {
  const folder = mkdtempSync(join(LABORATORY.folder ?? tmpdir(), "pawl-killed-"));
  const template = join(folder, "empty.db");
  await (await openStore(`file:${template}`)).close();
  return { folder, template };
}

/** The worker and all that it loads in one file: started from its sources it takes several times as long. */
export class KilledChildren {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<KilledChildren> {
    const folder = mkdtempSync(join(tmpdir(), "pawl-killed-worker-"));
    try {
      // Left out is what is loaded only where it is needed, and then found where the project has it.
      symlinkSync(
        fileURLToPath(new URL("../../../node_modules", import.meta.url)),
        join(folder, "node_modules"),
      );
      await bundle(
        folder,
        ["test/testing/crash/killed-worker.ts"],
        ["pdfkit", "nodemailer", "ai", /^@ai-sdk\//],
      );
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
    return new KilledChildren(folder);
  }

  /** Starts workers for a scenario; `under` is a program that starts them in its turn. */
  starter(scenario: string, under: (order: KilledOrder) => readonly string[] = () => []): StartChild {
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

function endOf([program = "", ...args]: readonly string[], compileCache: string): Promise<LifeEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, NODE_OPTIONS: "" },
      // A group of its own: what hangs is ended together with whoever traces it.
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
      else if (code === 0 && last !== "") resolve(JSON.parse(last) as LifeEnd);
      else reject(new Error(`The child ended with ${signal ?? code} and no report.\n${stdout}${stderr}`));
    });
  });
}
