import { expect, test } from "vitest";
import { crashFolder } from "./harness/crash-folder.ts";

test("a process killed in a tool leaves the provider's id for the process that looks the call up", async () => {
  const folder = crashFolder();
  const wait = { tool: "place", at: "after-effect", turn: 1 } as const;
  const act = { do: "run", input: "buy", runId: "ordering-1" } as const;
  const worker = folder.start({ scenario: "ordering", act, wait, variant: {} });
  await folder.untilWaiting();
  process.kill(worker.pid, "SIGKILL");
  expect(await worker.end).toEqual({ kind: "killed" });

  const result = await folder.result({ scenario: "ordering", act: { do: "resume", runId: "ordering-1" } });
  expect(result).toMatchObject({ status: "succeeded", output: "Done: found." });
  expect(folder.lines("code").map(({ detail }) => detail)).toEqual(["prov-77"]);
  expect(folder.outside()).toEqual(["tea"]);
  const [calls, tries, { problems }] = await folder.withStore(async (store) => [
    await store.listToolCalls("ordering-1"),
    await store.listToolCallAttempts("ordering-1"),
    await store.verify("ordering-1"),
  ]);
  expect(calls).toMatchObject([{ receipt: { source: "reconciled", correlationId: "prov-77" } }]);
  expect(tries).toMatchObject([{ attempt: 1, outcome: "lost", correlationId: "prov-77" }]);
  expect(problems).toEqual([]);
});
