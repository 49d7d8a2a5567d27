import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { textOf } from "../../../../src/core/message.ts";
import type { CrashPoint } from "../../../../src/engine/ports/crash-points.ts";
import { openStore } from "../../../../src/index.ts";
import { databaseFile } from "../../../engine/run-fixture.ts";
import { IS_FULL_TEST } from "../../../full-test.ts";
import { bundlePatched, makeBundleFolder } from "../../../patched-sources.ts";
import { PATIENCE } from "../../../patience.ts";

// The explorer kills a runner's own processes, and its invariants read a store. Here the caller is the SDK, and what it has
// shown and run is seen from outside: so these processes are killed for real.

const script = fileURLToPath(new URL("./children/streams.ts", import.meta.url));

/** Makes the call in a process of its own. Returns what the SDK has shown, or null if the process was killed. */
function call(program: string, ...args: string[]): unknown {
  const { stdout, stderr, signal } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  if (signal === "SIGKILL") return null;
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

/** What the store has of the run: each turn with its results, and how often its calls were dispatched. */
async function stored(file: string) {
  const store = await openStore(`file:${file}`, { readOnly: true });
  onTestFinished(() => store.close());
  const turns = await store.listTurns("c-1");
  expect((await store.verify("c-1")).problems).toEqual([]);
  return {
    turns: turns.map(({ response, calls }) => ({
      text: textOf(response.content),
      results: calls.map(({ receipt }) => receipt?.output.value),
    })),
    dispatched: turns.flatMap(({ calls }) => calls).reduce((sum, { attempt }) => sum + attempt, 0),
  };
}

const timesRun = (file: string) => readFileSync(`${file}.ran`, "utf8").trim().split("\n").length;

const POINTS: readonly (CrashPoint | "shown")[] = IS_FULL_TEST
  ? [
      ...(["run:created", "turn:opened", "model:answered", "turn:journaled"] as const),
      ...(["tool:executed", "turn:committed", "run:before-finish", "shown"] as const),
    ]
  : ["tool:executed", "shown"];

const CASES = POINTS.map((dies, i) => ({ dies, kind: i % 2 === 0 ? "conversation" : "agent" }));

describe("a process that is killed in the middle of agent.stream()", () => {
  it.each(CASES)(
    "loses nothing at $dies ($kind): the same call shows the transcript",
    PATIENCE,
    async ({ dies, kind }) => {
      const file = databaseFile();
      const first = call(script, file, kind, dies);
      // A conversation is created by a message, and does not finish.
      if (!dies.startsWith("run:")) expect(first).toBe(null);
      const shown = call(script, file, kind);
      const { turns, dispatched } = await stored(file);
      // mirror-equals-transcript
      expect(shown).toEqual(turns);
      expect(turns.map(({ text }) => text)).toEqual(["I pay.", "Paid."]);
      // mirror-runs-no-tool
      expect(timesRun(file)).toBeLessThanOrEqual(dispatched);
      expect(dispatched).toBe(dies === "tool:executed" || dies === "turn:journaled" ? 2 : 1);
    },
  );

  it("is noticed if the SDK runs a tool by itself", PATIENCE, async () => {
    const { folder, remove } = makeBundleFolder();
    onTestFinished(remove);
    const bundle = join(folder, "streams.mjs");
    const source = "adapters/ai-sdk/mirror/mirrored-tools.ts";
    await bundlePatched("test/adapters/ai-sdk/mirror/children/streams.ts", bundle, [
      { file: source, right: "[key, { name, description }]", wrong: "[key, { name, description, execute }]" },
      {
        file: source,
        right: "mirrored(description, resultOf),\n",
        wrong:
          "mirrored(description, async (id) => (await execute({ order: 7 } as never, {} as never), resultOf(id))),\n",
      },
    ]);
    const file = databaseFile();
    call(bundle, file, "conversation");
    const { dispatched } = await stored(file);
    expect(timesRun(file)).toBeGreaterThan(dispatched);
  });
});
