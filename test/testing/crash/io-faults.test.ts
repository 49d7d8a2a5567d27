import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATIENCE } from "../../patience.ts";
import { type FaultTrial, IoFaults, whyFaultsUnavailable } from "./io-faults.ts";
import { KilledChildren, makeExplorerFolder, type RemovableFolder } from "./killed-children.ts";
import { runConcurrently } from "./killed-sample.ts";

const SEED = 3;
const FAULTS = 6;

/** Each runs once first, to count its calls; the command `node scripts/killed.ts --faults 200` takes all scenarios. */
const SOME = ["parallel-mixed", "blob", "approval", "planning", "loop", "artifacts-and-spec"];

const reason = whyFaultsUnavailable();
if (reason !== null) console.log(`The tests of a failing disk are skipped: ${reason}.`);

describe.skipIf(reason !== null)("a disk that fails", () => {
  let explorerFolder: RemovableFolder;
  let children: KilledChildren;

  beforeAll(async () => {
    explorerFolder = await makeExplorerFolder();
    children = await KilledChildren.make();
  });

  afterAll(async () => {
    children.remove();
    await explorerFolder.remove();
  });

  test("is reported in an error, and breaks no promise once it works again", PATIENCE, async () => {
    const faults = new IoFaults(explorerFolder, children);
    const tasks = faults.tasks(SOME, SEED);
    const trials: FaultTrial[] = [];
    let begun = 0;
    await runConcurrently(
      2,
      async () => (begun++ < FAULTS ? (await tasks.next()).value : null),
      async (task) => void trials.push(await faults.trial(task)),
    );
    expect(trials.flatMap(({ problems }) => problems)).toEqual([]);
    expect(trials.filter(({ wasMade }) => wasMade)).toHaveLength(FAULTS);
    // Some faults killed the process, and some it could report.
    const ends = trials.map(({ evidence }) => evidence.lives[0]?.end);
    expect(ends.filter((end) => end?.kind === "died").length).toBeGreaterThan(0);
    expect(
      ends.filter((end) => end?.kind === "threw" && end.name === "StoreUnavailableError").length,
    ).toBeGreaterThan(0);
  });
});
