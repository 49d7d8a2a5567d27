import type { ArtifactRecord } from "../../store/store.ts";

/** What a step or a tool sees of the things that its run makes. */
export interface ArtifactAccess {
  /** The directory of the run, as an absolute path. It may not be there before the first artifact. */
  readonly workspace: string;
  /** Where that really is, for whoever compares: `workspaceRoot` may be a link, nothing below it. Throws where it is another folder than before. */
  realWorkspace(): Promise<string>;
  /**
   * Keeps something that the run has made: its bytes, size and hash in the store, and a copy as a file of that name in the
   * workspace. The same name again replaces it, so a step that is entered again leaves one.
   */
  artifact(name: string, bytes: Uint8Array | string): Promise<ArtifactRecord>;
  /** The bytes as they were kept, whatever became of the file; null where there is none of that name. */
  readArtifact(name: string): Promise<Uint8Array | null>;
  /**
   * Whether a path leads to a file of the store: the database, or one beside it. A tool that opens files leaves those alone:
   * opening one and closing it takes the store's locks away.
   */
  isStoreFile(path: string): Promise<boolean>;
}
