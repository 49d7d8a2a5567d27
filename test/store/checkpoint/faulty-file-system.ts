import * as plain from "node:fs/promises";
import type {
  CheckpointFile,
  CheckpointFileStatus,
  CheckpointFileSystem,
} from "../../../src/store/checkpoint/checkpoint-file-system.ts";

/** "dies": from then on everything is refused. An error code: that one operation fails, and later ones work. */
export type FaultKind = "dies before" | "dies half-way" | "dies after" | "ENOSPC" | "EIO" | "EACCES";

/** At the n-th operation, counted from 0. */
export type Fault = { readonly kind: FaultKind; readonly at: number };

/** The real file system with one fault in it. */
export class FaultyFileSystem implements CheckpointFileSystem {
  /** The names of the operations since it was last armed. */
  operations: string[] = [];
  #fault: Fault | null = null;
  readonly #open = new Set<plain.FileHandle>();
  #isDead = false;

  /** Counts from here on; the fault, if there is one, is still to come. */
  arm(fault: Fault | null): void {
    this.operations = [];
    this.#fault = fault;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  async open(path: string, flags: string | number, mode?: number): Promise<CheckpointFile> {
    const file = await this.#perform("open", async () => {
      const opened = await plain.open(path, flags, mode);
      this.#open.add(opened);
      return opened;
    });
    return {
      readFile: () => this.#perform("readFile", () => file.readFile()),
      writeFile: (text) => this.#write(file, text),
      sync: () => this.#perform("sync", () => file.sync()),
      close: () => this.#perform("close", () => this.#close(file)),
    };
  }

  rename(from: string, to: string): Promise<void> {
    return this.#perform("rename", () => plain.rename(from, to));
  }

  unlink(path: string): Promise<void> {
    return this.#perform("unlink", () => plain.unlink(path));
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.#perform("chmod", () => plain.chmod(path, mode));
  }

  lstat(path: string): Promise<CheckpointFileStatus> {
    return this.#perform("lstat", () => plain.lstat(path));
  }

  readdir(path: string): Promise<readonly string[]> {
    return this.#perform("readdir", () => plain.readdir(path));
  }

  mkdir(path: string, options: { recursive: true; mode: number }): Promise<string | undefined> {
    return this.#perform("mkdir", () => plain.mkdir(path, options));
  }

  #write(file: plain.FileHandle, text: string): Promise<void> {
    return this.#perform(
      "writeFile",
      () => file.writeFile(text),
      () => file.writeFile(text.slice(0, text.length / 2)),
    );
  }

  async #perform<T>(name: string, work: () => Promise<T>, halfOfIt?: () => Promise<unknown>): Promise<T> {
    if (this.#isDead) throw new Error("A dead process does nothing.");
    const index = this.operations.push(name) - 1;
    const kind = this.#fault?.at === index ? this.#fault.kind : null;
    if (kind === null) return work();
    if (kind === "dies half-way") await halfOfIt?.();
    if (kind === "dies after") await work().catch(() => undefined);
    if (!kind.startsWith("dies")) throw Object.assign(new Error(`${kind}: ${name}`), { code: kind });
    this.#isDead = true;
    await this.finish();
    throw new Error(`${kind}: ${name}`);
  }

  /** Closes open files, as the system does for a process that has ended. */
  async finish(): Promise<void> {
    for (const file of this.#open) await this.#close(file);
  }

  async #close(file: plain.FileHandle): Promise<void> {
    this.#open.delete(file);
    await file.close();
  }
}
