import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseDocument } from "yaml";
import { ConfigurationError } from "../core/errors.ts";
import { openStore } from "../store/open-store.ts";
import { killsOf } from "./kill-plan.ts";
import { type ProcessLife, runKilled } from "./killed-job.ts";
import { type DemoServices, openOutside } from "./outside.ts";
import { readLedger, type Tally, tallyOf } from "./tally.ts";
import { RUN_ID } from "./worker-order.ts";

export type DemoOptions = {
  readonly seed: number;
  /** Where all files are left. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The next process starts once it has resolved. */
  readonly onLife: (life: ProcessLife, before: readonly ProcessLife[]) => Promise<void> | void;
  readonly signal: AbortSignal;
};

export type DemoOutcome = { readonly lives: readonly ProcessLife[]; readonly tally: Tally };

/** Runs the job, killed once in every phase, and compares it with what the services saw. */
export async function performDemo({ seed, folder, onLife, ...rest }: DemoOptions): Promise<DemoOutcome> {
  const outside = await openOutside();
  const cache = join(folder, ".compile-cache");
  try {
    writeJobFile(folder, outside);
    const before: ProcessLife[] = [];
    const lives = await runKilled({
      folder,
      outside,
      kills: killsOf(seed),
      // A compile cache shared by the processes halves their start time.
      environment: { NODE_COMPILE_CACHE: cache, ...rest.environment },
      signal: rest.signal,
      onLife: async (life) => {
        await onLife(life, before);
        before.push(life);
      },
    });
    return { lives, tally: await tallyIn(folder, outside, lives) };
  } finally {
    await outside.close();
    rmSync(cache, { recursive: true, force: true });
  }
}

/** A new temporary folder, or the given one, which must be empty. */
export function demoFolder(wanted: string | null): string {
  if (wanted === null) return mkdtempSync(join(tmpdir(), "pawl-demo-"));
  const folder = resolve(wanted);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new ConfigurationError(`${folder} is not empty: give --keep an empty or new folder.`);
  return folder;
}

/** Writes the job file with the address of the web site in it. */
export function writeJobFile(folder: string, { site }: Pick<DemoServices, "site">): void {
  const job = parseDocument(readFileSync(new URL("./job.yaml", import.meta.url), "utf8"));
  job.setIn(["input", "site"], site.url);
  writeFileSync(join(folder, "job.yaml"), job.toString({ lineWidth: 0 }));
}

async function tallyIn(folder: string, outside: DemoServices, lives: readonly ProcessLife[]): Promise<Tally> {
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    return tallyOf(outside, lives, await readLedger(store, RUN_ID));
  } finally {
    await store.close();
  }
}
