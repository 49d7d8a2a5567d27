import { afterAll, it } from "vitest";
import { makeBundleFolder } from "../../../patched-sources.ts";
import { loadPatched } from "../mutants/bundle-mutant.ts";
import { firstViolation } from "../mutants/first-violation.ts";
import { MUTANTS } from "../mutants/index.ts";

const { folder, remove } = makeBundleFolder();
afterAll(remove);
it("tries", async () => {
  const word = process.env.WORD ?? "";
  const mutant = MUTANTS.find(({ what }) => what.includes(word));
  if (mutant === undefined) throw new Error("none");
  const bundle = await loadPatched(folder, "m", mutant.patches);
  const names = process.env.SCEN?.split(",") ?? Object.keys(bundle.SCENARIOS);
  const modes = (process.env.MODES?.split(",") ?? ["crash", "pause"]) as ("crash" | "pause")[];
  for (const scenario of names)
    for (const mode of modes)
      for (const breaks of (process.env.BREAKS ?? mutant.breaks).split(",")) {
        try {
          const found = await firstViolation(bundle, { breaks, scenario, mode });
          console.log(
            scenario,
            mode,
            breaks,
            found === null ? "-" : `${bundle.scheduleText(found.schedule)}: ${found.problems[0]}`,
          );
        } catch (error) {
          console.log(scenario, mode, breaks, String(error));
        }
      }
}, 600_000);
