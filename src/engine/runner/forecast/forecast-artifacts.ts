import { existsSync } from "node:fs";
import { TELEMETRY_FILES } from "../../../core/artifact-name.ts";
import type { ArtifactRecord, Fence, Store } from "../../../store/store.ts";
import { RunArtifacts } from "../../run/run-artifacts.ts";
import type { RunFolder } from "../../run/workspace.ts";

/** The artifacts of a run, read-only: no file or folder is made or changed. */
export class ForecastArtifacts extends RunArtifacts {
  readonly #store: Store;
  readonly #fence: Fence;

  /** New artifacts go to `store`, which is a `ForecastStore`'s and remembers them in memory. */
  constructor(store: Store, fence: Fence, folder: RunFolder) {
    super(store, fence, folder, () => undefined);
    this.#store = store;
    this.#fence = fence;
  }

  override list(): Promise<readonly ArtifactRecord[]> {
    return this.#store.listArtifacts(this.#fence.runId);
  }

  override restore(): Promise<void> {
    return Promise.resolve();
  }

  override async hasOutput(name: string): Promise<boolean> {
    if (TELEMETRY_FILES.includes(name) || (await this.read(name)) !== null) return true;
    const known = (await this.list()).find((each) => each.name === name);
    const bytes = await this.#fileOf(name);
    if (bytes === null) return false;
    const { hash } = await this.#store.keepArtifact(this.#fence, { stepKey: null, name, bytes });
    return known === undefined || known.hash === hash;
  }

  /** Null if the workspace does not exist: reading from it would create it. */
  #fileOf(name: string): Promise<Uint8Array | null> {
    if (!existsSync(this.workspace.folder)) return Promise.resolve(null);
    return this.workspace.read(name).catch(() => null);
  }
}
