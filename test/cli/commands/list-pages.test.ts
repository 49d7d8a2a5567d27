import { expect, it } from "vitest";
import { queuedRun } from "../../../src/testing/store/runs/queue.ts";
import { newReceipt, SampleRun, SUCCEEDED } from "../../../src/testing/store/sample-run.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder, runSamples, SEARCHING } from "../sample-runs.ts";

type Page = { readonly runs: readonly { readonly runId: string }[]; readonly next: string | null };

async function queuedFolder(): Promise<CliFolder> {
  const folder = cliFolder();
  await runSamples(folder, { "done-1": [SEARCHING] });
  await folder.withStore(async (store) => {
    for (const tenant of ["acme", "other", "acme"])
      await store.enqueueRun(
        queuedRun(`${tenant}-${Math.random()}`, { queue: "mail", metadata: { tenant } }),
      );
    const notBefore = Date.UTC(2100, 0, 1, 8);
    await store.enqueueRun(
      queuedRun("later-1", { notBefore, metadata: { tenant: "acme", tags: ["a", "b"] } }),
    );
  });
  return folder;
}

it("ls lists runs by queue and metadata, one page after the other", async () => {
  const folder = await queuedFolder();
  const page = async (...argv: readonly string[]) => {
    const { document } = await pawlJson<Page>(["ls", ...argv], folder);
    return { ids: document.runs.map(({ runId }) => runId), next: document.next };
  };
  expect((await page("--where", "tenant=acme")).ids).toHaveLength(3);
  expect((await page("--where", "tenant=acme", "--where", "tags=b")).ids).toEqual(["later-1"]);
  expect((await page("--queue", "mail", "--where", "tenant=other")).ids).toHaveLength(1);
  const all = await page();
  const first = await page("--limit", "3");
  expect([first.ids, all.next]).toEqual([all.ids.slice(0, 3), null]);
  const rest = await page("--limit", "3", "--after", first.next ?? "");
  expect([...first.ids, ...rest.ids]).toEqual(all.ids);
});

it("ls lists runs with a failed call, of one tool or of any", async () => {
  const folder = await queuedFolder();
  await folder.withStore(async (store) => {
    const run = await SampleRun.create(store, "broken-1");
    await run.committedWithCall(1, newReceipt(1, { status: "failed", errorCode: "tool_failed" }));
    await store.releaseRun(run.fence, SUCCEEDED);
  });
  const ids = async (tool: string) => {
    const { document } = await pawlJson<Page>(["ls", "--tool-error", tool], folder);
    return document.runs.map(({ runId }) => runId);
  };
  expect([await ids("*"), await ids("search"), await ids("send")]).toEqual([["broken-1"], ["broken-1"], []]);
  const { stdout } = await pawl(["ls", "--tool-error", "send"], { ...folder, columns: 300 });
  expect(stdout).toMatch(/^No run matches: leave out .*--tool-error/);
});

it("ls shows until when a run sleeps, and since when one waits for a worker", async () => {
  const { stdout } = await pawl(["ls"], { ...(await queuedFolder()), columns: 160 });
  expect(stdout).toMatch(/^run +status +queue +ready +pipeline/);
  expect(stdout).toMatch(/later-1 +queued +default +until 2100-01-01 \d\d:00 /);
  expect(stdout).toMatch(/acme-\S+ +queued +mail +since \d\d:\d\d /);
  expect(stdout).toMatch(/done-1 +succeeded +default +\w/);
});

it.each([
  [["--where", "tenant"], "such as tenant=acme"],
  [["--after", "yesterday"], "give the cursor"],
])("ls refuses %j", async (argv, said) => {
  const { exitCode, stderr } = await pawl(["ls", ...argv], { ...(await queuedFolder()), columns: 300 });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(said)]);
});
