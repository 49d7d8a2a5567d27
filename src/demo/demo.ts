import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseDocument } from "yaml";
import { ConfigurationError } from "../core/errors.ts";
import { openStore } from "../store/open-store.ts";
import { killsOf } from "./kill-plan.ts";
import { type Life, runKilled } from "./killed-job.ts";
import { type Outside, openOutside } from "./outside.ts";
import { readLedger, type Tally, tallyOf } from "./tally.ts";
import { RUN_ID } from "./worker-order.ts";

export type DemoOptions = {
  readonly seed: number;
  /** Where everything is left. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly onLife: (life: Life, before: readonly Life[]) => void;
  readonly signal: AbortSignal;
};

export type DemoOutcome = { readonly lives: readonly Life[]; readonly tally: Tally };

/** The job, killed once in every phase, and what the outside saw of it. */
export async function performDemo({ seed, folder, onLife, ...rest }: DemoOptions): Promise<DemoOutcome> {
  const outside = await openOutside();
  const cache = join(folder, ".compile-cache");
  try {
    writeJobFile(folder, outside);
    const before: Life[] = [];
    const lives = await runKilled({
      folder,
      outside,
      kills: killsOf(seed),
      // Compiled sources are kept from one process to the next: each then starts in half the time.
      environment: { NODE_COMPILE_CACHE: cache, ...rest.environment },
      signal: rest.signal,
      onLife: (life) => {
        onLife(life, before);
        before.push(life);
      },
    });
    return { lives, tally: await tallyIn(folder, outside, lives) };
  } finally {
    await outside.close();
    rmSync(cache, { recursive: true, force: true });
  }
}

/** A new folder of its own, or the one that was asked for, which has to be empty. */
export function demoFolder(wanted: string | null): string {
  if (wanted === null) return mkdtempSync(join(tmpdir(), "pawl-demo-"));
  const folder = resolve(wanted);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new ConfigurationError(
      `${folder} is not empty: give --keep a folder that is, or that is not there yet.`,
    );
  return folder;
}

/** The job file as it is, with the address of the web site in it. */
export function writeJobFile(folder: string, { site }: Pick<Outside, "site">): void {
  const job = parseDocument(readFileSync(new URL("./job.yaml", import.meta.url), "utf8"));
  job.setIn(["input", "site"], site.url);
  writeFileSync(join(folder, "job.yaml"), job.toString({ lineWidth: 0 }));
}

async function tallyIn(folder: string, outside: Outside, lives: readonly Life[]): Promise<Tally> {
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    return tallyOf(outside, lives, await readLedger(store, RUN_ID));
  } finally {
    await store.close();
  }
}
