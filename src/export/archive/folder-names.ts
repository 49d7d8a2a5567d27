import { artifactNameProblem } from "../../core/artifact-name.ts";

/** What a run id can have, and the name of a folder can have on every system. */
const UNSAFE = /[^A-Za-z0-9._@=+-]|\.(?=\.*$)/g;
const MAX_CHARACTERS = 128;

/** The folder of a run in an archive: its id, with another character for each that some system does not allow. */
export function folderName(runId: string): string {
  const name = runId.slice(0, MAX_CHARACTERS).replaceAll(UNSAFE, "_");
  // Such as the name of a device.
  return artifactNameProblem(name) === null ? name : `run_${name}`;
}

/** Names for the folders of several runs. Some systems do not tell `A` from `a`. */
export class FolderNames {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set(reserved.map((name) => name.toLowerCase()));
  }

  take(runId: string): string {
    const first = folderName(runId);
    let name = first;
    for (let i = 2; this.#taken.has(name.toLowerCase()); i++) name = `${first}_${i}`;
    this.#taken.add(name.toLowerCase());
    return name;
  }
}
