import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { BundleRefusedError, ConfigurationError } from "../../core/errors.ts";
import { codeOf, replaceCheckedFile } from "../guarded-folder.ts";
import type { BundlePart, BundleRow, RunMove, Store } from "../store.ts";
import { type BundleHeader, bundleLines, readBundleHeader } from "./bundle-file.ts";
import { type CheckedBundle, checkBundle } from "./check-bundle.ts";

/** Where `exportBundle` moves a run. */
export type BundleTarget = {
  /** The file to write, for its owner only (0600). One that is there is replaced only by the same run for the same store. */
  readonly file: string;
  /** The id of the store that the run moves to: `await target.storeId()`. */
  readonly to: string;
};

/** A run that was moved into a file. */
export type ExportedBundle = RunMove & {
  readonly runId: string;
  readonly file: string;
  readonly bytes: number;
  /** Of the content, before it was compressed. */
  readonly sha256: string;
  readonly events: number;
  readonly blobs: number;
};

/** See `exportBundle` in `store/moving-runs.ts`. */
export async function moveOut(
  store: Store,
  runId: string,
  { file: given, to }: BundleTarget,
): Promise<ExportedBundle> {
  const file = resolve(given);
  if (!/^[0-9a-f]{32}$/.test(to))
    throw new ConfigurationError(
      `${JSON.stringify(to)} is no id of a store: give the 32 hex digits that its storeId() returns, or \`pawl doctor\` shows.`,
    );
  await assertReplaceable(file, runId, to);
  const move = await store.moveRun(runId, to);
  const { sha256, events, blobs } = await writeBundle(store, file, { runId, from: move.from, to });
  const { size } = await stat(file);
  return { runId, ...move, file, bytes: size, sha256, events, blobs };
}

/** Before anything is marked: a file of the user, or another bundle, is not lost. */
async function assertReplaceable(file: string, runId: string, to: string): Promise<void> {
  const known = await headerIn(file);
  if (known === null || (known !== "other" && known.runId === runId && known.to === to)) return;
  throw new ConfigurationError(
    `The file ${file} exists and is no bundle of run ${runId} for the store ${to}: name another one. Nothing was moved.`,
  );
}

async function headerIn(file: string): Promise<BundleHeader | "other" | null> {
  try {
    return await readBundleHeader(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (BundleRefusedError.isInstance(error) || codeOf(error) === "EISDIR") return "other";
    throw error;
  }
}

/** It is read back and checked before it gets its name: a file with that name is always a whole bundle. */
async function writeBundle(store: Store, file: string, header: BundleHeader): Promise<CheckedBundle> {
  // Fast: much of a large bundle is base64, which gains little.
  const compressed = createGzip({ level: constants.Z_BEST_SPEED });
  // Its outcome is that of reading `compressed`.
  pipeline(bundleLines(header, movedRows(store, header.runId)), compressed, () => undefined);
  const checked: CheckedBundle[] = [];
  await replaceCheckedFile(file, compressed, async (temporary) => {
    checked.push(await checkBundle(temporary));
  });
  const [bundle] = checked;
  if (bundle === undefined) throw new Error(`The bundle ${file} was not checked.`);
  return bundle;
}

async function* movedRows(store: Store, runId: string): AsyncGenerator<BundleRow> {
  let part: BundlePart = await store.readMovedRows(runId);
  while (part.next !== null) {
    yield* part.rows;
    part = await store.readMovedRows(runId, part.next);
  }
}
