import type { StoreReader } from "../store/store.ts";
import { ExportFolder } from "./export-folder.ts";
import { receiptsOf } from "./receipts.ts";
import { readRunAccount } from "./run-account.ts";
import { documentText, telemetryIn } from "./telemetry.ts";

/** Told after each file, in their order. */
export type ExportProgress = {
  readonly path: string;
  readonly bytes: number;
  /** This one included. */
  readonly done: number;
  readonly total: number;
  /** The bytes of this artifact are not in the store any more: there is no file. */
  readonly isMissing: boolean;
};

/**
 * Writes `trace.json`, `transcript.md`, `run.log`, `receipts.json` and, under `artifacts/`, what the run has made. All of it
 * is one state of the run, and the same state gives the same bytes. Resolves to the paths of the files.
 *
 * @example
 * await exportRun(store, "q-1", "./q-1-export", ({ done, total }) => console.log(`${done} of ${total}`));
 */
export async function exportRun(
  reader: StoreReader,
  runId: string,
  folder: string,
  onFile: (progress: ExportProgress) => void = () => undefined,
): Promise<readonly string[]> {
  const account = await readRunAccount(reader, runId);
  const target = await ExportFolder.open(folder);
  const texts = [
    ...(await telemetryIn(reader, account)),
    ["receipts.json", documentText(receiptsOf(account))] as const,
  ];
  const contents = [
    ...texts.map(([name, text]) => [name, () => Promise.resolve(text)] as const),
    // One at a time: together they may be more than fits in memory.
    ...account.artifacts.map(
      ({ name }) => [`artifacts/${name}`, () => reader.readArtifact(runId, name)] as const,
    ),
  ];
  const paths: string[] = [];
  for (const [i, [name, content]] of contents.entries()) {
    const bytes = await content();
    const path = bytes === null ? target.pathOf(name) : await target.write(name, bytes);
    if (bytes !== null) paths.push(path);
    onFile({
      path,
      bytes: bytes === null ? 0 : Buffer.byteLength(bytes),
      done: i + 1,
      total: contents.length,
      isMissing: bytes === null,
    });
  }
  return paths;
}
