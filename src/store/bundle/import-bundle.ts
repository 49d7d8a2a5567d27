import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { BundleRefusedError } from "../../core/errors.ts";
import { codeOf } from "../guarded-folder.ts";
import type { BundleRow, Fence, RunRecord, Store } from "../store.ts";
import { readBundleHeader, readBundleRows } from "./bundle-file.ts";
import { type CheckedBundle, checkBundle } from "./check-bundle.ts";

/** A run that is in the store now. */
export type ImportedBundle = {
  /** `false` if the same bundle was imported before: then nothing was changed. */
  readonly isNew: boolean;
  readonly run: RunRecord;
  /** The id of the store that it came from. */
  readonly from: string;
  readonly events: number;
  readonly blobs: number;
};

/** See `importBundle` in `store/moving-runs.ts`. */
export async function moveIn(store: Store, given: string): Promise<ImportedBundle> {
  const file = resolve(given);
  const { to } = await readBundleHeader(file).catch((error: unknown) => {
    throw codeOf(error) === null || BundleRefusedError.isInstance(error) ? error : unreadable(file, error);
  });
  const storeId = await store.storeId();
  if (to !== storeId)
    throw new BundleRefusedError(
      `The bundle ${file} is for the store ${to}, and this one is ${storeId}: import it there, or export the run for this one. Nothing was imported.`,
      { reason: "target" },
    );
  const checked = await checkBundle(file);
  const { run, moves, from, events, blobs } = checked;
  const arrival = await store.beginArrival({ run, moves, token: randomBytes(16).toString("hex") });
  if (arrival.kind === "arrived") return { isNew: false, run: arrival.run, from, events, blobs };
  const attendance = store.attend(arrival.fence);
  try {
    const arrived = await receive(store, arrival.fence, file, checked);
    return { isNew: true, run: arrived, from, events, blobs };
  } finally {
    attendance.leave();
  }
}

/** Rows are stored together up to this size and number: one transaction each. */
const PIECE_CHARACTERS = 4_000_000;
const PIECE_ROWS = 500;

async function receive(store: Store, fence: Fence, file: string, checked: CheckedBundle): Promise<RunRecord> {
  while (await store.dropArrivingRows(fence));
  const rows = readBundleRows(file);
  let piece: BundleRow[] = [];
  let size = 0;
  let step = await rows.next();
  for (; step.done !== true; step = await rows.next()) {
    // The row of the run itself is there already.
    if (step.value.table === "runs") continue;
    piece.push(step.value);
    size += sizeOf(step.value);
    if (size < PIECE_CHARACTERS && piece.length < PIECE_ROWS) continue;
    await store.storeArrivingRows(fence, piece);
    piece = [];
    size = 0;
  }
  if (piece.length > 0) await store.storeArrivingRows(fence, piece);
  if (step.value.sha256 !== checked.sha256)
    throw new BundleRefusedError(
      `The bundle ${file} was changed while it was imported: the run was not accepted. Import it again.`,
      { reason: "damaged" },
    );
  return store.finishArrival(fence, checked.blobs);
}

function sizeOf({ values }: BundleRow): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
}

function unreadable(file: string, cause: unknown): BundleRefusedError {
  return new BundleRefusedError(
    `The bundle ${file} cannot be read (${codeOf(cause)}): check its name and its rights.`,
    { reason: "unreadable" },
    { cause },
  );
}
