import { expect, it } from "vitest";
import { eventText } from "../../../src/cli/screen/event-text.ts";
import { callColumns } from "../../../src/cli/screen/run-report-text.ts";
import { actTool, asking, runnerOf } from "../../engine/call/call-fixture.ts";
import { memoryStore } from "../../engine/run-fixture.ts";

it("a call that did not run, although its arguments were others, is marked in the ledger and in the log", async () => {
  const store = await memoryStore();
  const { act } = actTool(undefined, { identity: () => "same" });
  const turns = ["a", "a", "b"].map((what) => asking(["act", { what }]));
  await runnerOf(store, { act }, turns).runner.run("Go", { runId: "r-1" });

  const result = callColumns().find(({ title }) => title === "result");
  const calls = await store.listToolCalls("r-1");
  expect(calls.map((call) => result?.value(call))).toEqual([
    "done 1",
    "as worker#1.1",
    "not run, other arguments: as worker#1.1",
  ]);

  const events = await store.listEvents("r-1");
  const lines = await Promise.all(events.map((event) => eventText(store, "r-1", event)));
  const marked = lines.filter((line) => line.includes("act (not run, other arguments: as r-1/worker#1.1)"));
  expect(marked).toHaveLength(1);
  expect(marked[0]).toContain("worker turn 3");
});
