/** An open file, or an open directory of which only `sync` and `close` are used. */
export interface CheckpointFile {
  readFile(): Promise<Uint8Array>;
  /** Writes the whole text, or throws. */
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface CheckpointFileStatus {
  readonly uid: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** The part of a file system that a worker's files need; `node:fs/promises` provides it as it is. */
export interface CheckpointFileSystem {
  open(path: string, flags: string | number, mode?: number): Promise<CheckpointFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  lstat(path: string): Promise<CheckpointFileStatus>;
  readdir(path: string): Promise<readonly string[]>;
  /** Resolves to the first directory that it had to create. */
  mkdir(
    path: string,
    options: { readonly recursive: true; readonly mode: number },
  ): Promise<string | undefined>;
}
