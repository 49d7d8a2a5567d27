import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJobFile } from "../../src/cli/job/job-file.ts";
import { checkCitations } from "../../src/core/citations.ts";
import type { Json } from "../../src/core/json.ts";
import { jobPipeline, jobStopConditions, PHASES } from "../../src/demo/job-pipeline.ts";
import { emailTool, fetchPage, notificationTool, uploadTool } from "../../src/demo/job-tools.ts";
import { jsonAnswer, listenOnLoopback } from "../../src/demo/loopback-server.ts";
import type { DemoServices } from "../../src/demo/outside.ts";
import { sourcesSlice } from "../../src/demo/research.ts";
import { scriptedResearcher } from "../../src/demo/scripted-researcher.ts";
import { SITE_PAGES } from "../../src/demo/site-pages.ts";
import type { CodeStepContext } from "../../src/engine/definition/code-step-context.ts";
import { Step } from "../../src/engine/definition/step.ts";
import { Runner } from "../../src/engine/runner/runner.ts";
import { openStore } from "../../src/store/open-store.ts";
import { jobFolder, testFolder, testOutside } from "./demo-fixture.ts";

const RECIPIENT = "reader@pawl.example";

test("the job finishes in one process, and does everything once", async () => {
  const outside = await testOutside();
  const folder = jobFolder(outside);
  const { spec } = await readJobFile(join(folder, "job.yaml"));
  const store = await openStore(":memory:");
  const runner = new Runner(jobPipeline(scriptedResearcher(), outside.addresses, RECIPIENT), {
    store,
    workspaceRoot: folder,
    stopConditions: jobStopConditions,
  });
  const result = await runner.run(spec.input, { runId: "job-1", spec });

  expect(result).toMatchObject({ status: "succeeded", waits: [] });
  expect(outside.site.requests.toSorted()).toEqual(SITE_PAGES.map(({ path }) => path).toSorted());
  expect([...outside.uploads.objects.values()].map(({ name }) => name).toSorted()).toEqual([
    "report.html",
    "report.pdf",
  ]);
  expect(outside.mail.accepted.map(({ to }) => to)).toEqual([[RECIPIENT]]);
  expect(outside.mail.lookUps).toEqual([]);
  expect(outside.notifications.shown.size).toBe(1);

  const steps = await store.listSteps("job-1");
  expect(steps.map(({ phase }) => phase)).toEqual(PHASES);
  expect((await store.verify("job-1")).problems).toEqual([]);
  for (const { name, hash } of await store.listArtifacts("job-1"))
    expect(
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ).toBe(hash);
  // The Message-ID is in the receipt, so that the mail can be found at the provider.
  const calls = await store.listToolCalls("job-1");
  const mail = calls.find(({ tool }) => tool === "send_email");
  expect(mail?.receipt?.correlationId).toBe(outside.mail.accepted[0]?.messageId);
  await store.close();
});

test("the script cites each page that it draws on, which its first draft does not", async () => {
  const outside = await testOutside();
  const folder = jobFolder(outside);
  const { spec } = await readJobFile(join(folder, "job.yaml"));
  const store = await openStore(":memory:");
  const pipeline = jobPipeline(scriptedResearcher(), outside.addresses, RECIPIENT);
  const options = { store, workspaceRoot: folder, stopConditions: jobStopConditions };
  await new Runner(pipeline, options).run(spec.input, { runId: "job-1", spec });

  const html = readFileSync(join(folder, "report.html"), "utf8");
  const pages = SITE_PAGES.map(({ path, paragraphs }) => ({
    url: new URL(path, outside.site.url).href,
    text: paragraphs.join("\n"),
  }));
  expect(checkCitations(html, pages)).toMatchObject({ uncited: [], unfetched: [] });
  for (const { path, paragraphs } of SITE_PAGES.filter((page) => page.path !== "/")) {
    expect(html).toContain(new URL(path, outside.site.url).href);
    expect(html).toContain(paragraphs[0]?.split(" ").slice(0, 8).join(" "));
  }
  const checks = (await store.listToolCalls("job-1")).filter(({ tool }) => tool === "check_citations");
  expect(checks.map(({ receipt }) => receipt?.output.value)).toMatchObject([
    { uncited: expect.arrayContaining([new URL("/fusee", outside.site.url).href]) },
    { uncited: [], unfetched: [] },
  ]);
  await store.close();
});

describe("a tool of the job", () => {
  /** A run of one step of code that calls one tool. */
  async function callOnce(
    outside: DemoServices,
    call: (ctx: CodeStepContext) => Promise<Json>,
    allowedDomains = ["127.0.0.1:*"],
  ) {
    const store = await openStore(":memory:");
    try {
      const step = Step.run("act", async (_: string, ctx) => {
        await ctx.artifact("report.pdf", "a report");
        return call(ctx);
      });
      const runner = new Runner(step, {
        store,
        workspaceRoot: testFolder(),
        slices: [sourcesSlice],
        constraints: { allowedDomains },
        maxRetriesPerToolCall: 0,
      });
      const result = await runner.run("go", { runId: "act-1" });
      return { result, calls: await store.listToolCalls("act-1"), outside };
    } finally {
      await store.close();
    }
  }

  const mail = { subject: "Report", text: "Here.", attachment: { name: "report.pdf", hash: "h" } };

  test("asks a person if a mail has not exactly one recipient, and sends nothing", async () => {
    const outside = await testOutside();
    const to = "reader@pawl.example, writer@pawl.example";
    const { result } = await callOnce(outside, (ctx) =>
      ctx.call(emailTool(outside.addresses), { ...mail, to }),
    );
    expect(result.status).toBe("waiting");
    expect(result.waits).toMatchObject([{ kind: "escalation" }]);
    expect(outside.mail.accepted).toEqual([]);
  });

  test.for([
    { tool: "upload_file", service: "uploads" },
    { tool: "send_notification", service: "notifications" },
  ] as const)("asks a person where its service does not let it in ($tool)", async ({ tool, service }) => {
    const outside = await testOutside();
    const closed = await listenOnLoopback(() => jsonAnswer(403, { error: "Who are you?" }));
    const addresses = { ...outside.addresses, [service]: closed.url };
    const { result } = await callOnce(outside, (ctx) =>
      tool === "upload_file"
        ? ctx.call(uploadTool(addresses), { name: "report.pdf", hash: "h" })
        : ctx.call(notificationTool(addresses), { text: "Done." }),
    );
    await closed.close();
    expect(result.status).toBe("waiting");
    expect(result.waits[0]?.question).toContain("403");
  });

  test("reads a missing page as one without text", async () => {
    const outside = await testOutside();
    const { result } = await callOnce(outside, (ctx) =>
      ctx.call(fetchPage, { url: `${outside.site.url}hourglass` }),
    );
    expect(result.output).toMatchObject({ title: "Not found", text: "", links: [] });
  });

  test("reaches no host that the job does not allow", async () => {
    const outside = await testOutside();
    const { calls } = await callOnce(
      outside,
      (ctx) => ctx.call(fetchPage, { url: outside.site.url }).catch(() => "refused"),
      ["pawl.example"],
    );
    expect(calls).toMatchObject([{ tool: "fetch_page", status: "cancelled" }]);
    expect(outside.site.requests).toEqual([]);
  });
});

test("a report that does not cite what it draws on is not rendered, let alone sent", async () => {
  const outside = await testOutside();
  const folder = jobFolder(outside);
  const { spec } = await readJobFile(join(folder, "job.yaml"));
  const store = await openStore(":memory:");
  const { writer, ...others } = scriptedResearcher();
  const careless: typeof writer = {
    ...writer,
    respond: async (request) => {
      const response = await writer.respond(request);
      // The first draft, given as the answer immediately.
      const [part] = response.content;
      const draft = part?.type === "tool-call" ? (part.input as { report: object }).report : {};
      return {
        ...response,
        content: [{ type: "text", text: JSON.stringify(draft) }],
        finishReason: "stop",
      };
    },
  };
  const pipeline = jobPipeline({ ...others, writer: careless }, outside.addresses, RECIPIENT);
  const options = { store, workspaceRoot: folder, stopConditions: jobStopConditions };
  const run = new Runner(pipeline, options).run(spec.input, { runId: "job-1", spec });
  await expect(run).rejects.toThrow(/must cite its sources.*fusee/);
  expect(existsSync(join(folder, "report.pdf"))).toBe(false);
  expect(outside.mail.accepted).toEqual([]);
  await store.close();
});
