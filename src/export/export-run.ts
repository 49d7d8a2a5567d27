import type { FileContent } from "../store/guarded-folder.ts";
import type { StoreReader } from "../store/store.ts";
import { ExportFolder } from "./export-folder.ts";
import { receiptsOf } from "./receipts.ts";
import { type RunOutline, readRunOutline } from "./run-outline.ts";
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

/** A file of an export. */
export type ExportedFile = {
  /** Its path in the export: `artifacts/report.pdf`. */
  readonly name: string;
  /** In milliseconds since 1970: when it was made, or last could have changed. */
  readonly at: number;
  /** Resolves to null if the bytes of this artifact are no longer in the store. */
  readonly read: () => Promise<FileContent | null>;
};

/**
 * The files of an export: `trace.json`, `transcript.md`, `run.log`, `receipts.json` and, under `artifacts/`, the artifacts of
 * the run. All files cover the same part of the run's log, and the same state results in the same bytes.
 */
export function exportedFiles(reader: StoreReader, outline: RunOutline): readonly ExportedFile[] {
  const { run, artifacts } = outline;
  const texts = [
    ...telemetryIn(reader, outline),
    ["receipts.json", documentText(receiptsOf(reader, outline))] as const,
  ];
  return [
    ...texts.map(([name, text]) => ({ name, at: run.updatedAt, read: () => Promise.resolve(text) })),
    // One at a time: together they may not fit into memory.
    ...artifacts.map(({ name, at }) => ({
      name: `artifacts/${name}`,
      at,
      read: () => reader.readArtifact(run.runId, name),
    })),
  ];
}

/**
 * Writes the files of an export into a folder. Resolves to their paths.
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
  const files = exportedFiles(reader, outline);
  const paths: string[] = [];
  for (const [i, { name, read }] of files.entries()) {
    const content = await read();
    const path = target.pathOf(name);
    const bytes = content === null ? 0 : await target.write(name, content);
    if (content !== null) paths.push(path);
    onFile({ path, bytes, done: i + 1, total: files.length, isMissing: content === null });
  }
  return paths;
}
