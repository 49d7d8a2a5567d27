import type { ArtifactRecord } from "../../store/store.ts";

/** A step's or a tool's access to the artifacts and the workspace of its run. */
export interface ArtifactAccess {
  /** The absolute path of the run's folder. It may not exist before the first artifact. */
  readonly workspace: string;
  /**
   * The real path of the workspace, for comparing paths: `workspaceRoot` may be a symbolic link, nothing below it may.
   * Throws if the folder was replaced by another one.
   */
  realWorkspace(): Promise<string>;
  /**
   * Stores an output of the run: its bytes, size and hash in the store, and a copy as a file of that name in the
   * workspace. The same name again replaces it, so a step that runs again leaves one.
   */
  artifact(name: string, bytes: Uint8Array | string): Promise<ArtifactRecord>;
  /** The stored bytes, even if the file was changed or removed; null if there is no artifact of that name. */
  readArtifact(name: string): Promise<Uint8Array | null>;
  /**
   * True if a path leads to a file of the store: the database, or a file that belongs to it. A tool that opens files must not
   * open these: closing one releases the store's locks.
   */
  isStoreFile(path: string): Promise<boolean>;
}
