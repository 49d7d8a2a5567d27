import type { BundleTarget, ExportedBundle } from "./bundle/export-bundle.ts";
import type { ImportedBundle } from "./bundle/import-bundle.ts";
import { LOADED_CODE } from "./loaded-code.ts";
import type { Store } from "./store.ts";

export type { BundleTarget, ExportedBundle } from "./bundle/export-bundle.ts";
export type { ImportedBundle } from "./bundle/import-bundle.ts";

// Their code is loaded when it is needed: few programs move runs.

/**
 * Moves a run out of a store, into a file that only the store with the id `to` imports. First the run is marked as
 * moved: from then on it is only read here. Then the file is written. If that fails, or the process dies, the same call
 * makes the file again. The run must not be worked on.
 *
 * @example
 * const target = await openStore("postgres://ann@db/app");
 * await exportBundle(store, "q-1", { file: "q-1.bundle", to: await target.storeId() });
 * await importBundle(target, "q-1.bundle");
 */
export async function exportBundle(
  store: Store,
  runId: string,
  target: BundleTarget,
): Promise<ExportedBundle> {
  const { moveOut } = await LOADED_CODE.exportBundle();
  return moveOut(store, runId, target);
}

/**
 * Takes a run that `exportBundle` has moved into a file. The whole file is checked before anything is stored; the run
 * appears in one commit, with the status that it had, and can be resumed. A bundle for another store is refused, and
 * the same bundle again changes nothing. If the process dies, the same call begins again.
 *
 * @example
 * const { run } = await importBundle(store, "q-1.bundle");
 * console.log(`Run ${run.runId} is here, with the status ${run.status}.`);
 */
export async function importBundle(store: Store, file: string): Promise<ImportedBundle> {
  const { moveIn } = await LOADED_CODE.importBundle();
  return moveIn(store, file);
}
