import { artifactNameProblem } from "../../core/artifact-name.ts";
import type { StoreReader } from "../../store/store.ts";
import { ExportError } from "../export-folder.ts";
import { type ExportedFile, exportedFiles } from "../export-run.ts";
import { readRunOutline, requireRun } from "../run-outline.ts";
import { FolderNames } from "./folder-names.ts";
import { type ZipFile, zipArchive } from "./zip-archive.ts";

type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

/** The list of the runs, in an archive of several. */
const LIST_FILE = "export.json";

/** A run that is about to be archived. */
export type RunExport = {
  readonly files: readonly ExportedFile[];
  /** Rejects if the run was deleted while it was read: its lists have just been shorter then. */
  readonly assertWhole: () => Promise<unknown>;
};

/** Refuses a run with a name that would lead out of the folder that it is unpacked in. */
export async function openExport(reader: StoreReader, runId: string): Promise<RunExport> {
  const files = exportedFiles(reader, await readRunOutline(reader, runId));
  for (const { name } of files) {
    const problem = artifactNameProblem(name);
    if (problem === null) continue;
    const path = JSON.stringify(name);
    throw new ExportError(
      `Run ${runId} was not exported, because ${path} cannot be a file of an export: ${problem}.`,
      { path: name },
    );
  }
  return { files, assertWhole: () => requireRun(reader, runId) };
}

/** The ZIP archive of one run: a folder with the files that `pawl export` writes. */
export function archiveRun(folder: string, run: RunExport): Pieces {
  return zipArchive(filesIn(folder, run, () => undefined));
}

/** A run of an archive. It is opened when its turn has come. */
export type ArchivedRun = {
  readonly runId: string;
  readonly open: () => Promise<OpenedRun>;
};

/** What is in the archive of it, or why nothing is. */
export type OpenedRun = RunExport | { readonly problem: { readonly code: string; readonly detail: string } };

/** The same for several runs, and `export.json`, which lists them: which folder is whose, and what is not there. */
export function archiveRuns(runs: readonly ArchivedRun[]): Pieces {
  return zipArchive(filesOfRuns(runs));
}

async function* filesOfRuns(runs: readonly ArchivedRun[]): AsyncGenerator<ZipFile, void, undefined> {
  const folders = new FolderNames([LIST_FILE]);
  const listed: object[] = [];
  let latest = 0;
  for (const { runId, open } of runs) {
    const opened = await open();
    if ("problem" in opened) {
      listed.push({ runId, folder: null, missing: [], problem: opened.problem });
      continue;
    }
    const folder = folders.take(runId);
    const missing: string[] = [];
    yield* filesIn(folder, opened, (name) => missing.push(name));
    listed.push({ runId, folder, missing, problem: null });
    for (const { at } of opened.files) latest = Math.max(latest, at);
  }
  // Last: only now is it known what has become of each.
  yield { name: LIST_FILE, at: latest, content: `${JSON.stringify({ runs: listed }, null, 1)}\n` };
}

/** One file at a time: its content is read when the ones before it are in the archive. */
async function* filesIn(
  folder: string,
  { files, assertWhole }: RunExport,
  onMissing: (name: string) => void,
): AsyncGenerator<ZipFile, void, undefined> {
  for (const { name, at, read } of files) {
    const content = await read();
    if (content === null) onMissing(name);
    else yield { name: `${folder}/${name}`, at, content };
  }
  await assertWhole();
}
