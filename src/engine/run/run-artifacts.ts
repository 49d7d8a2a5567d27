import { createHash } from "node:crypto";
import { artifactNameProblem, TELEMETRY_FILES } from "../../core/artifact-name.ts";
import { WorkspaceError } from "../../core/errors.ts";
import { replaceFile } from "../../store/guarded-folder.ts";
import type { ArtifactRecord, Fence, Store } from "../../store/store.ts";
import type { ArtifactAccess } from "../definition/artifact-access.ts";
import { type RunFolder, Workspace } from "./workspace.ts";

/** The artifacts of a run, while one worker holds it. The store is authoritative; the files are copies. */
export class RunArtifacts {
  readonly workspace: Workspace;
  readonly #store: Store;
  readonly #fence: Fence;
  readonly #warn: (message: string) => void;
  #known: readonly ArtifactRecord[] | null = null;
  #keeping: Promise<unknown> = Promise.resolve();
  #isClaimed = false;

  constructor(
    store: Store,
    fence: Fence,
    folder: RunFolder,
    warn: (message: string) => void,
    replace: typeof replaceFile = replaceFile,
  ) {
    this.workspace = new Workspace(folder, { replace, isStoreFile: (path) => store.isOwnFile(path) });
    this.#store = store;
    this.#fence = fence;
    this.#warn = warn;
  }

  accessOf(stepKey: number): ArtifactAccess {
    return {
      workspace: this.workspace.folder,
      realWorkspace: () => this.workspace.realPath(),
      artifact: (name, bytes) => this.keep(stepKey, name, bytes),
      readArtifact: (name) => this.read(name),
      isStoreFile: (path) => this.#store.isOwnFile(path),
    };
  }

  /** Stores an artifact. Calls are serialised, so that the store and the file end up with the same content. */
  keep(stepKey: number | null, name: string, given: Uint8Array | string): Promise<ArtifactRecord> {
    const kept = this.#keeping.then(() => this.#keep(stepKey, name, given));
    this.#keeping = kept.catch(() => undefined);
    return kept;
  }

  /** The store first: a missing file is restored from it, never the other way round. */
  async #keep(stepKey: number | null, name: string, given: Uint8Array | string): Promise<ArtifactRecord> {
    assertArtifactName(name);
    const bytes = typeof given === "string" ? Buffer.from(given, "utf8") : Buffer.from(given);
    assertSize(name, bytes);
    await this.workspace.assertFree(name);
    const all = await this.list();
    assertNoFolder(name, all);
    const known = all.find((each) => each.name === name);
    const isSame = known !== undefined && known.hash === sha256(bytes) && (await this.read(name)) !== null;
    const record = isSame ? known : await this.#store.keepArtifact(this.#fence, { stepKey, name, bytes });
    this.#known = null;
    await this.#copy(name, bytes);
    return record;
  }

  /** Writes a telemetry file, which is not an artifact. */
  async writeTelemetry(name: string, text: AsyncIterable<string>): Promise<void> {
    await this.#claimFolder();
    await this.workspace.write(name, text);
  }

  read(name: string): Promise<Uint8Array | null> {
    return this.#store.readArtifact(this.#fence.runId, name);
  }

  async list(): Promise<readonly ArtifactRecord[]> {
    this.#known ??= await this.#store.listArtifacts(this.#fence.runId);
    return this.#known;
  }

  /** Restores files that are missing or changed: this may be another machine. */
  async restore(): Promise<void> {
    for (const { name, hash } of await this.list()) {
      if ((await this.#hashOfFile(name)) === hash) continue;
      const bytes = await this.read(name);
      if (bytes === null)
        this.#warn(`The bytes of artifact ${name} were garbage-collected: its file is not restored.`);
      else await this.#copy(name, bytes, "restored");
    }
  }

  /**
   * True if the output exists; its file is restored if it changed. A file that a step wrote itself becomes an artifact now.
   * Telemetry files always count as present: they can be rendered from the store at any time.
   */
  async hasOutput(name: string): Promise<boolean> {
    if (TELEMETRY_FILES.includes(name)) return true;
    const known = (await this.list()).find((each) => each.name === name);
    if (known === undefined) {
      const written = await this.workspace.read(name).catch(() => null);
      if (written !== null) await this.keep(null, name, written);
      return written !== null;
    }
    if ((await this.#hashOfFile(name)) === known.hash) return true;
    const bytes = await this.read(name);
    if (bytes !== null) await this.#copy(name, bytes, "restored");
    return bytes !== null;
  }

  async #hashOfFile(name: string): Promise<string | null> {
    const bytes = await this.workspace.read(name).catch(() => null);
    return bytes === null ? null : sha256(bytes);
  }

  /** Writes the copy. A failure is only a warning, since the store has the content. */
  async #copy(name: string, bytes: Uint8Array, how: "written" | "restored" = "written"): Promise<void> {
    try {
      await this.#claimFolder();
      await this.workspace.write(name, bytes);
    } catch (error) {
      // The caller must learn of a name that cannot be written; a resume need not fail for it.
      if (WorkspaceError.isInstance(error) && how === "written") throw error;
      const why = error instanceof Error ? error.message : String(error);
      this.#warn(`The file of artifact ${name} could not be ${how}: ${why} The store has it.`);
    }
  }

  /** Marks the folder as this run's, so that no other run uses its files. */
  async #claimFolder(): Promise<void> {
    if (!this.#isClaimed) await this.workspace.mark(this.#fence.runId);
    this.#isClaimed = true;
  }
}

/** Just below the largest value that SQLite stores; other databases store no larger ones. */
const MAX_BYTES = 900_000_000;

function assertSize(name: string, { byteLength }: Uint8Array): void {
  if (byteLength <= MAX_BYTES) return;
  throw new WorkspaceError(
    `Artifact ${name} has ${byteLength} bytes, and the limit is ${MAX_BYTES}: store it in parts, or elsewhere and only its address here.`,
    { name },
  );
}

/** A name cannot be a file and also the folder of another artifact. */
function assertNoFolder(name: string, all: readonly ArtifactRecord[]): void {
  const other = all.find((each) => each.name.startsWith(`${name}/`) || name.startsWith(`${each.name}/`));
  if (other === undefined) return;
  throw new WorkspaceError(
    `Artifact ${name} cannot be stored with ${other.name}: one of them would be a folder and a file. Rename one.`,
    { name },
  );
}

function assertArtifactName(name: string): void {
  const problem = TELEMETRY_FILES.includes(name)
    ? "Pawl writes a file of that name itself"
    : artifactNameProblem(name);
  if (problem === null) return;
  throw new WorkspaceError(`${JSON.stringify(name)} cannot name an artifact: ${problem}.`, {
    name: String(name),
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
