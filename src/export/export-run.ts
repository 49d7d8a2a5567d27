import type { FileContent } from "../store/guarded-folder.ts";
import type { StoreReader } from "../store/store.ts";
import { ExportFolder } from "./export-folder.ts";
import { receiptsOf } from "./receipts.ts";
import { readRunOutline } from "./run-outline.ts";
import { documentText, telemetryIn } from "./run-telemetry.ts";

/** Reported after each file, in order. */
export type ExportProgress = {
  readonly path: string;
  readonly bytes: number;
  /** This one included. */
  readonly done: number;
  readonly total: number;
  /** The bytes of this artifact are no longer in the store: there is no file. */
  readonly isMissing: boolean;
};

/**
 * Writes `trace.json`, `transcript.md`, `run.log`, `receipts.json` and, under `artifacts/`, the artifacts of the run. All
 * files cover the same part of the run's log, and the same state results in the same bytes. Resolves to the paths of the
 * files.
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
  const outline = await readRunOutline(reader, runId);
  const target = await ExportFolder.open(folder, (path) => reader.isOwnFile(path));
  const contents: readonly (readonly [name: string, content: () => Promise<FileContent | null>])[] = [
    ...[
      ...telemetryIn(reader, outline),
      ["receipts.json", documentText(receiptsOf(reader, outline))] as const,
    ].map(([name, text]) => [name, () => Promise.resolve(text)] as const),
    // One at a time: together they may not fit into memory.
    ...outline.artifacts.map(
      ({ name }) => [`artifacts/${name}`, () => reader.readArtifact(runId, name)] as const,
    ),
  ];
  const paths: string[] = [];
  for (const [i, [name, content]] of contents.entries()) {
    const given = await content();
    const path = target.pathOf(name);
    const bytes = given === null ? 0 : await target.write(name, given);
    if (given !== null) paths.push(path);
    onFile({ path, bytes, done: i + 1, total: contents.length, isMissing: given === null });
  }
  return paths;
}
