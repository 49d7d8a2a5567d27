// `pawl enqueue`, `pawl worker` and `pawl send`, with workers in real processes.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WHOLE_LOG, WORKING_CONFIG } from "../working-config.ts";

type RunDocument = { readonly run: { readonly status: string } };

function here(folder: CliFolder, ...argv: readonly string[]) {
  return pawl(argv, { cwd: folder.path });
}

async function reaches(folder: CliFolder, runId: string, status: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const { document } = await pawlJson<RunDocument>(["show", runId], { cwd: folder.path });
      expect(document.run.status).toBe(status);
    },
    { timeout: 15_000, interval: 100 },
  );
}

/** A worker that is killed when the test ends, if it still runs. */
function workerIn(folder: CliFolder, ...argv: readonly string[]) {
  const command = folder.start("worker", ...argv);
  onTestFinished(async () => {
    command.signal("SIGKILL");
    await command.ended();
  });
  return command;
}

describe("a run that is enqueued", () => {
  it("is taken by a worker, continues after an answer, and ends", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const queued = await here(folder, "enqueue", "asks", "--input", "Go", "--run-id", "q-1");
    expect([queued.exitCode, queued.stdout]).toEqual([
      0,
      "Run q-1 is queued.\nA worker takes it:\n  pawl worker\nFollow it:\n  pawl tail q-1 --follow\n",
    ]);
    const worker = workerIn(folder);
    await reaches(folder, "q-1", "waiting");
    await here(folder, "approve", "q-1~1");
    await vi.waitFor(() => expect(folder.log).toEqual(["mail to ada@example.com"]), { timeout: 10_000 });
    await vi.waitFor(async () => expect((await here(folder, "answer", "q-1~2", "yes")).exitCode).toBe(0), {
      timeout: 10_000,
    });
    await reaches(folder, "q-1", "succeeded");
    worker.signal("SIGTERM");
    const { exitCode, stderr } = await worker.ended();
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/takes runs of worker, asks, fails, echo from default in file:/);
    expect(stderr).toMatch(/q-1 claimed: asks, ready for/);
    expect(stderr).toMatch(/q-1 waiting\n/);
    expect(stderr).toMatch(/q-1 succeeded\n/);
    expect(folder.log).toEqual(["mail to ada@example.com"]);
  });

  it("is handed back by a worker that is stopped, and finished by the next one", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("hold-one");
    await here(folder, "enqueue", "worker", "--input", "Go", "--run-id", "q-2");
    const first = workerIn(folder);
    await folder.logged("one begins");
    first.signal("SIGTERM");
    await first.waitForStderr("hands 1 run back");
    folder.remove("hold-one");
    expect(await first.ended()).toMatchObject({ exitCode: 0 });
    const { document } = await pawlJson<RunDocument>(["show", "q-2"], { cwd: folder.path });
    expect(document.run.status).toBe("queued");
    workerIn(folder);
    await reaches(folder, "q-2", "succeeded");
    expect(folder.log).toEqual(WHOLE_LOG);
  });

  it("is taken over from a worker that was killed", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("hold-two");
    await here(folder, "enqueue", "worker", "--input", "Go", "--run-id", "q-3");
    const first = workerIn(folder);
    await folder.logged("two begins");
    first.signal("SIGKILL");
    await first.ended();
    folder.remove("hold-two");
    const second = workerIn(folder);
    await reaches(folder, "q-3", "succeeded");
    second.signal("SIGTERM");
    expect((await second.ended()).stderr).toMatch(/q-3 claimed: worker, left by another worker/);
    expect(folder.log.filter((line) => line === "one begins")).toHaveLength(1);
  });

  it("is the same run for the same key, and says what is wrong with an option", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const enqueue = (...more: readonly string[]) => here(folder, "enqueue", "echo", "--input", "Go", ...more);
    const first = await pawlJson<{ runId: string; existed: boolean }>(
      ["enqueue", "echo", "--input", "Go", "--key", "k", "--meta", "tenant=acme", "--in", "3h"],
      { cwd: folder.path },
    );
    expect(first).toMatchObject({ exitCode: 0, document: { existed: false, status: "queued" } });
    expect((await enqueue("--key", "k")).stdout).toMatch(/was there already: it is queued/);
    const mistakes: readonly (readonly [readonly string[], RegExp])[] = [
      [["--in", "soon"], /--in is "soon": give a whole number of days, hours or minutes/],
      [["--in", "3h", "--not-before", "2026-12-24T18:00Z"], /both say when it begins/],
      [["--not-before", "tomorrow"], /write a time such as 2026-12-24T18:00Z/],
      [["--meta", "acme"], /write --meta tenant=acme/],
      [["--priority", "high"], /give a whole number/],
      [["--context", "{"], /not valid JSON/],
      [["--run-id", "a", "--key", "b"], /--run-id and --key both name the run/],
      [["--queue", ""], /--queue is blank: give a name/],
      [["--address", " "], /--address is blank: give a name/],
    ];
    for (const [argv, message] of mistakes) {
      const { exitCode, stderr } = await enqueue(...argv);
      expect([exitCode, stderr.replaceAll("\n", " ")]).toEqual([2, expect.stringMatching(message)]);
    }
    expect(await here(folder, "enqueue", "ecko", "--input", "Go")).toMatchObject({ exitCode: 2 });
    expect((await enqueue("--not-before", "2020-01-01T00:00Z")).stdout).toMatch(/is queued\.\n/);
  });
});

describe("send", () => {
  it("puts a message into the mailbox of a run, once", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    await here(folder, "enqueue", "echo", "--input", "Go", "--run-id", "q-4", "--address", "invoice:7");
    const send = (...more: readonly string[]) => here(folder, "send", "invoice:7", ...more);
    const sent = await send('{"amount":40}', "--event", "paid", "--id", "m-1");
    expect(sent).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("The message is in the mailbox of run q-4") as string,
    });
    expect((await send('{"amount":40}', "--event", "paid", "--id", "m-1")).stdout).toMatch(
      /It was sent before/,
    );
    expect(await send('{"amount":41}', "--event", "paid", "--id", "m-1")).toMatchObject({ exitCode: 1 });
    expect(await send("40")).toMatchObject({ exitCode: 1 });
    expect(await send()).toMatchObject({ exitCode: 2 });
    for (const [argv, message] of [
      [['{"amount":', "--event", "paid"], /The value of data is not valid JSON/],
      [["40", "--event", "paid", "--id", ""], /--id is blank/],
      [["40", "--event", "paid", "--by", " "], /--by is blank/],
    ] as const) {
      const { exitCode, stderr } = await send(...argv);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
    expect((await here(folder, "send", "invoice:8", "--event", "paid")).stderr).toMatch(
      /No run of this store has the id or the address invoice:8/,
    );
    expect(await here(folder, "send", "invoice:8", "--event", "paid")).toMatchObject({ exitCode: 1 });
    await here(folder, "cancel", "q-4");
    const late = await pawlJson(["send", "q-4", "--event", "paid"], { cwd: folder.path });
    expect(late).toMatchObject({ exitCode: 1, document: { status: "returned", reason: "cancelled" } });
  });
});

describe("worker", () => {
  it("says what it needs, where there are no pipelines", async () => {
    const folder = new CliFolder("export default {};");
    const { exitCode, stderr } = await here(folder, "worker");
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/has no pipelines: add at least one/)]);
    expect(await here(folder, "worker", "--concurrency", "0")).toMatchObject({ exitCode: 2 });
    expect(existsSync(join(folder.path, ".pawl"))).toBe(false);
    const { exitCode: code, stderr: said } = await here(
      new CliFolder(WORKING_CONFIG),
      "worker",
      "--queue",
      "",
    );
    expect([code, said]).toEqual([2, expect.stringMatching(/--queue is "": give the name of a queue/)]);
  });
});
