// What another process sees of a run that waits for its model's provider: the store has it, with the refused request.

import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { formatTime, formatTimeOfDay } from "../../../src/cli/screen/format.ts";
import { agent, openStore, type RunEvent, Runner, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder } from "../sample-runs.ts";

type Failed = Extract<RunEvent, { readonly type: "model.failed" }>;

/** Refused, to be tried again in an hour; or not connected, to be tried again at once. */
function refusal(status: number | null): Error {
  if (status === null)
    return new TypeError("fetch failed", {
      cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    });
  return new APICallError({
    message: "not now",
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: { "retry-after": "3600" },
    isRetryable: true,
  });
}

const look = tool({
  description: "Look.",
  inputSchema: z.object({}),
  effect: "read_only",
  execute: () => "seen",
});

/** An agent whose second turn is refused. */
function refusedWorker(status: number | null) {
  const model = scriptedModel(({ turn }) => {
    if (turn === 2) throw refusal(status);
    return { toolCalls: [{ name: "look", input: {} }] };
  });
  return agent({ name: "worker", model, tools: { look } });
}

/** Calls `during` while the run waits, and then releases it. */
async function whileWaiting(
  folder: CliFolder,
  status: number | null,
  during: (failed: Failed) => Promise<void>,
): Promise<void> {
  const store = await openStore(`file:${folder.file}`);
  const refused = Promise.withResolvers<Failed>();
  const stop = new AbortController();
  const onEvent = (event: RunEvent) => {
    if (event.type === "model.failed") refused.resolve(event);
  };
  const run = new Runner(refusedWorker(status), { store, onEvent }).run("Go", {
    runId: "q-1",
    release: stop.signal,
  });
  run.catch(refused.reject);
  try {
    await during(await refused.promise);
  } finally {
    stop.abort();
    await run;
    await store.close();
  }
}

describe("an outage of the model's provider", () => {
  it.each([429, 503, 529])("that answers %i is shown with its start and the next request", async (status) => {
    const folder = cliFolder();
    await whileWaiting(folder, status, async ({ outageSince }) => {
      const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 160 });
      const since = formatTime(Number(outageSince));
      expect(stdout).toMatch(/^q-1 {2}running\n/);
      expect(stdout).toMatch(
        new RegExp(
          ` {2}provider +unavailable since ${since} \\([\\d.]+ s, HTTP ${status}\\); next request at [-\\d]+ [:\\d]+, in (1 h 00|59) min`,
        ),
      );
      const { document } = await pawlJson<{ outage: Record<string, unknown> }>(["show", "q-1"], folder);
      expect(document.outage).toEqual({
        since: new Date(Number(outageSince)).toISOString(),
        retryAt: expect.stringMatching(/^\d{4}-.*Z$/),
        status,
        isAsking: false,
      });
      const waitMs = Date.parse(String(document.outage.retryAt)) - Number(outageSince);
      expect([waitMs >= 3_600_000, waitMs < 3_660_000]).toEqual([true, true]);
      const { stdout: log } = await pawl(["tail", "q-1"], folder);
      const next = formatTimeOfDay(Date.parse(String(document.outage.retryAt)));
      expect(log).toContain(`provider unavailable: next request at ${next}`);
      expect(log).not.toContain("outage=");
    });
  });

  it("is shown as one without a connection if there is none", async () => {
    const folder = cliFolder();
    await whileWaiting(folder, null, async () => {
      const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 160 });
      expect(stdout).toMatch(/provider +unavailable since .*, no connection\); /);
    });
  });

  it("is shown while the next request is on its way", async () => {
    const folder = cliFolder();
    const [asked, shown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let requests = 0;
    const model = scriptedModel(async () => {
      requests += 1;
      if (requests === 1) throw refusal(null);
      asked.resolve();
      await shown.promise;
      return { text: "Done." };
    });
    await folder.withStore(async (store) => {
      const onEvent = () => undefined;
      const run = new Runner(agent({ name: "worker", model }), { store, onEvent }).run("Go", {
        runId: "q-1",
      });
      await asked.promise;
      const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 160 });
      expect(stdout).toMatch(/provider +unavailable since .*, no connection\); it is asked again now\n/);
      shown.resolve();
      await run;
    });
    expect((await pawlJson(["show", "q-1"], folder)).document).toMatchObject({ outage: null });
  });

  it("is in the past once its worker has stopped", async () => {
    const folder = cliFolder();
    await whileWaiting(folder, 503, () => Promise.resolve());
    const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 160 });
    expect(stdout).toMatch(/^q-1 {2}queued\n/);
    expect(stdout).toMatch(/provider +unavailable from .* \(HTTP 503\) until its worker stopped\n/);
  });

  it("is not shown any more after the provider has answered", async () => {
    const folder = cliFolder();
    await whileWaiting(folder, 503, () => Promise.resolve());
    const answers = [
      { toolCalls: [{ name: "look", input: {} }] },
      { toolCalls: [{ name: "ask", input: {} }] },
    ];
    const ask = tool({
      description: "Ask.",
      inputSchema: z.object({}),
      approval: true,
      execute: () => "asked",
    });
    const worker = agent({ name: "worker", model: scriptedModel(answers), tools: { look, ask } });
    await folder.withStore((store) =>
      new Runner(worker, { store }).resume("q-1", { acceptDivergence: "new tool" }),
    );
    const { document } = await pawlJson<{ run: { status: string }; outage: unknown }>(
      ["show", "q-1"],
      folder,
    );
    expect([document.run.status, document.outage]).toEqual(["waiting", null]);
  });
});
