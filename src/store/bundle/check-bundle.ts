import { BundleCheck, type CheckedRun } from "../sql/verify/bundle-check.ts";
import { type BundleEnd, type BundleHeader, readBundleHeader, readBundleRows } from "./bundle-file.ts";

/** A bundle that was read to its end, and is what was written. */
export type CheckedBundle = BundleHeader & CheckedRun & BundleEnd;

/** Reads the whole file: its hash, the chain of events, every row that they cover, and the hash of each blob. */
export async function checkBundle(file: string): Promise<CheckedBundle> {
  const header = await readBundleHeader(file);
  const check = new BundleCheck();
  const rows = readBundleRows(file);
  for (;;) {
    const step = await rows.next();
    if (step.done === true) return { ...header, ...check.end(), ...step.value };
    check.take(step.value);
  }
}
