import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Laboratory } from "../../../src/testing/crash/perform.ts";
import { PATIENCE } from "../../patience.ts";
import { IS_WHOLE } from "../../whole.ts";
import { type FaultTrial, IoFaults, whyNoFaults } from "./io-faults.ts";
import { KilledChildren, makeLaboratory } from "./killed-children.ts";
import { together } from "./killed-sample.ts";

const SEED = 3;
const FAULTS = IS_WHOLE ? 20 : 10;

/** Each is first run once to count its calls; the command `node scripts/killed.ts --faults 200` has all of them. */
const SOME = ["parallel-mixed", "blob", "approval", "planning", "loop", "artifacts-and-spec"];

const reason = whyNoFaults();
if (reason !== null) console.log(`The tests of a failing disk are skipped: ${reason}.`);

describe.skipIf(reason !== null)("a disk that fails", () => {
  let laboratory: Laboratory;
  let children: KilledChildren;

  beforeAll(async () => {
    laboratory = await makeLaboratory();
    children = await KilledChildren.make();
  });

  afterAll(() => {
    children.remove();
    rmSync(laboratory.folder, { recursive: true, force: true });
  });

  test(
    "is told of in a sentence, and costs nothing that was promised once it works again",
    PATIENCE,
    async () => {
      const faults = new IoFaults(laboratory, children);
      const tasks = faults.tasks(SOME, SEED);
      const trials: FaultTrial[] = [];
      let begun = 0;
      await together(
        2,
        async () => (begun++ < FAULTS ? (await tasks.next()).value : null),
        async (task) => void trials.push(await faults.trial(task)),
      );
      expect(trials.flatMap(({ problems }) => problems)).toEqual([]);
      expect(trials.filter(({ wasMade }) => wasMade)).toHaveLength(FAULTS);
      // Some ended the process, and some it could tell of.
      const ends = trials.map(({ evidence }) => evidence.lives[0]?.end);
      expect(ends.filter((end) => end?.kind === "died").length).toBeGreaterThan(0);
      expect(
        ends.filter((end) => end?.kind === "threw" && end.name === "StoreUnavailableError").length,
      ).toBeGreaterThan(0);
    },
  );
});
