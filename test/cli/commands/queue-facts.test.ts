// What `pawl show`, `pawl waits` and `pawl doctor` say about queues and mailboxes.

import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { workerReport } from "../../../src/testing/store/runs/live-workers.ts";
import { queuedRun } from "../../../src/testing/store/runs/queue.ts";
import { SampleRun, sha256 } from "../../../src/testing/store/sample-run.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, runSamples, SEARCHING } from "../sample-runs.ts";

const PLACE = {
  queue: "mail",
  concurrencyKey: "ann",
  priority: 3,
  metadata: { tenant: "acme", tag: ["new", "old"] },
} as const;

describe("show", () => {
  it("shows where a run waits for a worker, and its mailbox", async () => {
    const folder = cliFolder();
    await folder.withStore(async (store) => {
      await store.enqueueRun(queuedRun("r-1", PLACE));
      for (const id of ["m-1", "m-2", "m-3"]) await store.sendMessage("r-1", { id, event: "paid", body: 1 });
      await store.withdrawMessage("r-1", "m-2");
      await store.enqueueRun(queuedRun("r-2", { notBefore: Date.now() + 3_600_000 }));
    });
    const { stdout } = await pawl(["show", "r-1"], folder);
    expect(stdout).toMatch(/\n {2}queue +mail, limited with others by ann\n/);
    expect(stdout).toMatch(/\n {2}priority +3\n/);
    expect(stdout).toMatch(/\n {2}metadata +tag=new, tag=old, tenant=acme\n|tenant=acme, tag=new, tag=old\n/);
    expect(stdout).toMatch(/\n {2}ready +since \d\d:\d\d\n/);
    expect(stdout).toMatch(/\n {2}mailbox +2 waiting, 1 withdrawn\n/);
    expect(stdout).not.toMatch(/stalls|version/);
    expect((await pawl(["show", "r-2"], folder)).stdout).toMatch(/\n {2}wakes +[\d -]*\d\d:\d\d\n/);
    const { document } = await pawlJson<object>(["show", "r-1"], folder);
    expect(document).toMatchObject({
      run: { ...PLACE, readyAt: expect.stringMatching(/Z$/) as string, wakeAt: null },
      messages: [{ id: "m-1", status: "waiting" }, { status: "withdrawn" }, { status: "waiting" }],
    });
  });

  it("says nothing about a queue for a run that never was in one", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { stdout } = await pawl(["show", "q-1"], folder);
    expect(stdout).not.toMatch(/\n {2}(queue|priority|metadata|ready|wakes|mailbox|stalls) /);
  });
});

describe("waits", () => {
  it("shows the queue and the metadata of the run, and when the wait is due", async () => {
    const folder = cliFolder();
    await folder.withStore(async (store) => {
      const run = await SampleRun.create(store, "r-1", { queue: "mail", metadata: { tenant: "acme" } });
      await run.journaled(1, ["prepared"]);
      const approval = run.approval(1, 1, sha256("arguments").toString("hex"));
      const onDue = { action: "deny", why: "Too late." } as const;
      await run.waiting({ ...approval, due: { inMs: 3_600_000 }, onDue });
    });
    const { stdout } = await pawl(["waits"], folder);
    expect(stdout).toMatch(/\n {2}due +[\d -]*\d\d:\d\d\n/);
    expect(stdout).toMatch(/\n {2}queue +mail\n {2}metadata +tenant=acme\n/);
    const { document } = await pawlJson<object>(["waits"], folder);
    expect(document).toMatchObject({ waits: [{ queue: "mail", metadata: { tenant: "acme" } }] });
  });
});

describe("doctor", () => {
  it("warns about ready runs that no living worker takes, and about runs that nobody wakes", async () => {
    const folder = cliFolder();
    const line = async () => {
      const { stdout } = await pawl(["doctor"], { ...folder, columns: 200 });
      return /\n(\w+) +queues +(.*)\n(?: +→ (.*))?/.exec(stdout)?.slice(1, 4);
    };
    await folder.withStore((store) => store.enqueueRun(queuedRun("r-1", { queue: "mail" })));
    expect(await line()).toEqual([
      "warn",
      "1 run ready that no living worker takes: report in mail",
      "start one that has the pipeline: pawl worker --queue mail",
    ]);
    await folder.withStore((store) => store.reportWorker(workerReport("w-1")));
    expect(await line()).toEqual(["ok", "1 run ready, 1 worker, nothing is overdue", undefined]);
    const anHourAgo = await openStore(`file:${folder.file}`, { now: () => Date.now() - 3_600_000 });
    await anHourAgo.enqueueRun(queuedRun("r-2", { notBefore: Date.now() - 1_800_000 }));
    await anHourAgo.close();
    expect(await line()).toEqual([
      "warn",
      "a run of default should have been woken 30 min 0 s ago",
      "any worker wakes runs of all queues: start one with pawl worker",
    ]);
  });
});
