import { describe, expect, it } from "vitest";
import { phaseAt } from "../../../src/cli/screen/progress-phase.ts";
import { rootOf } from "../../../src/engine/definition/pipeline-root.ts";
import { Pipeline, Step } from "../../../src/index.ts";
import { scriptedAgent } from "../../engine/run-fixture.ts";

const { agent } = scriptedAgent([]);
const pass = Pipeline.of(
  "pass",
  Step.run("draft", () => 1),
  Step.run("proof", () => 1, { phase: "proofread" }),
);
const root = rootOf(
  Pipeline.of(
    "report",
    Step.run("plan", () => 1),
    Step.granular("research", agent, { phase: "crawl" }),
    Step.loop("polish", pass, { until: () => true, maxIterations: 3, phase: "write" }),
  ),
);

describe("the phase of a step", () => {
  it.each([
    ["plan", null],
    ["research", "crawl"],
    ["polish", "write"],
    ["polish[2]/pass/draft", "write"],
    ["polish[2]/pass/proof", "proofread"],
    ["somewhere/else", null],
  ])("%s is %s", (path, phase) => {
    expect(phaseAt(root, path)).toBe(phase);
  });
});
