// What is looked at when the steps of a job are through: effects that were to be once, sources, and files.

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  artifactKept,
  type CodeStepContext,
  type Json,
  Pipeline,
  type RunnerOptions,
  Step,
  type StepNode,
  tool,
  UnmetConditionsError,
} from "../../../src/index.ts";
import { asking, crashAt } from "../call/call-fixture.ts";
import { callsOf, fetchTool, jobRunner, jobSpec, type SpecParts, temporaryFolder } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, scriptedAgent } from "../run-fixture.ts";

/** What a job of this step, with this contract, has not come to. */
async function unmetOf(
  step: StepNode,
  spec: SpecParts,
  options: RunnerOptions = {},
): Promise<readonly string[]> {
  const store = await memoryStore();
  const run = jobRunner(step, store, options).run("Go", { runId: "r-1", spec: jobSpec(spec) });
  return run.then(
    () => [],
    (error: unknown) => {
      if (!(error instanceof UnmetConditionsError)) throw error;
      return error.details.unmet;
    },
  );
}

describe("no_duplicate_external_actions", () => {
  const constraints = { noDuplicateExternalActions: true };

  /** A tool with an effect outside, which says so unless it is told not to. */
  function postTool(more: { effect?: "external"; dedupe?: "call" } = { effect: "external" }) {
    const posted: string[] = [];
    const post = tool({
      name: "announce",
      description: "Announces.",
      inputSchema: z.object({ text: z.string() }),
      ...more,
      execute: ({ text }) => {
        posted.push(text);
        return `announced ${posted.length}`;
      },
    });
    return { post, posted };
  }

  it("has each effect once, whichever steps ask for it", async () => {
    const store = await memoryStore();
    const { post, posted } = postTool();
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    const { agent, prompts } = scriptedAgent([asking(["announce", { text: "Hello" }]), { text: "End." }], {
      tools: { announce: post },
    });
    const pipeline = Pipeline.of("p", step("a"), step("b"), Step.granular("talk", agent));
    const result = await jobRunner(pipeline, store).run("Go", {
      runId: "r-1",
      spec: jobSpec({ constraints }),
    });
    expect([result.output, posted, prompts.length]).toEqual(["End.", ["Hello"], 2]);
    expect(await callsOf(store)).toEqual([
      "r-1/a#0.1 announce succeeded",
      "r-1/b#0.1 announce deduplicated",
      "r-1/talk#1.1 announce deduplicated",
    ]);
  });

  it("has it as often as it is asked for without that", async () => {
    const { post, posted } = postTool();
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetOf(Pipeline.of("p", step("a"), step("b")), {})).toEqual([]);
    expect(posted).toHaveLength(2);
  });

  it("has it once also for a tool that says that each of its calls is one of its own", async () => {
    const { post, posted } = postTool({ effect: "external", dedupe: "call" });
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetOf(Pipeline.of("p", step("a"), step("b")), { constraints })).toEqual([]);
    expect(posted).toHaveLength(1);
  });

  it("leaves a tool alone that nobody knows to be external: it may be one that looks", async () => {
    const { post, posted } = postTool({});
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetOf(Pipeline.of("p", step("a"), step("b")), { constraints })).toEqual([]);
    expect(posted).toHaveLength(2);
  });

  it("is checked against the ledger itself at the end", async () => {
    const store = await memoryStore();
    const { post } = postTool();
    const forged = new Proxy(store, {
      get: (target, name) =>
        name === "listToolCalls"
          ? async (runId: string) => {
              const calls = await target.listToolCalls(runId);
              return [...calls, ...calls];
            }
          : (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target),
    });
    const step = Step.run("a", (_input, ctx) => ctx.call(post, { text: "Hello" }));
    const error = await failureAs(
      UnmetConditionsError,
      jobRunner(step, forged).run("Go", { runId: "r-1", spec: jobSpec({ constraints }) }),
    );
    expect(error.details.unmet).toEqual([
      "no_duplicate_external_actions: announce had the same effect twice, in r-1/a#0.1 and r-1/a#0.1",
    ]);
  });
});

describe("must_cite_sources", () => {
  const PAGE = "https://a.example/page";
  const OTHER = "https://b.example/other";
  const TEXT = "The quick brown fox jumps over the lazy dog every single morning before breakfast.";
  const constraints = { mustCiteSources: true };

  /** A step that reads these pages, and then does what the test says. */
  const reading = (pages: { readonly [url: string]: string }, write: (ctx: CodeStepContext) => unknown) =>
    Step.run("report", async (_input, ctx) => {
      const { fetchPage } = fetchTool(pages);
      for (const url of Object.keys(pages)) await ctx.call(fetchPage, { url });
      return write(ctx);
    });

  it("is met by a report that cites what it uses, and does without what it does not", async () => {
    const pages = { [PAGE]: TEXT, [OTHER]: "Nothing of use." };
    const report = `${TEXT} ([source](${PAGE}))`;
    const step = reading(pages, (ctx) => ctx.artifact("report.md", report));
    expect(await unmetOf(step, { constraints })).toEqual([]);
  });

  it("is not met by one that uses a page and does not cite it", async () => {
    const step = reading({ [PAGE]: TEXT, [OTHER]: "Other words." }, (ctx) =>
      ctx.artifact("report.html", `<p>${TEXT}</p><a href="${OTHER}">Other</a>`),
    );
    expect(await unmetOf(step, { constraints })).toEqual([
      `must_cite_sources: report.html uses ${PAGE} and does not cite it`,
    ]);
  });

  it("is not met by one that cites a page which was never fetched", async () => {
    const step = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", `See ${PAGE} and ${OTHER}.`));
    expect(await unmetOf(step, { constraints })).toEqual([
      `must_cite_sources: report.md cites ${OTHER}, which was never fetched`,
    ]);
  });

  it("is not met by one that cites nothing at all of what was fetched", async () => {
    const step = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", "In my own words."));
    expect(await unmetOf(step, { constraints })).toEqual([
      "must_cite_sources: report.md cites none of the sources that were fetched",
    ]);
  });

  it("does not look at pages that could not be fetched, or at what was not asked for", async () => {
    const failing = tool({
      name: "fetch_page",
      description: "Fails.",
      inputSchema: z.object({ url: z.string() }),
      effect: "read_only",
      execute: () => {
        throw new Error("404");
      },
    });
    const step = Step.run("report", async (_input, ctx) => {
      await ctx.call(failing, { url: PAGE }).catch(() => "gone");
      return ctx.artifact("report.md", "In my own words.");
    });
    expect(await unmetOf(step, { constraints }, { maxRetriesPerToolCall: 0 })).toEqual([]);
    const cites = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", "In my own words."));
    expect(await unmetOf(cites, {})).toEqual([]);
  });

  it("looks at the whole of a page that is kept as a blob", async () => {
    const long = `${"Filler words that nobody uses anywhere else. ".repeat(1_000)}${TEXT}`;
    expect(long.length).toBeGreaterThan(20_000);
    const step = reading({ [PAGE]: long, [OTHER]: "Other words." }, (ctx) =>
      ctx.artifact("report.md", `${TEXT} See ${OTHER}.`),
    );
    expect(await unmetOf(step, { constraints })).toEqual([
      `must_cite_sources: report.md uses ${PAGE} and does not cite it`,
    ]);
  });

  it.each<[string, (pages: readonly (readonly [string, string])[]) => Json]>([
    ["in a list", (pages) => pages.map(([address, text]) => ({ address, text }))],
    ["by their addresses", (pages) => ({ pages: Object.fromEntries(pages) })],
  ])("tells pages apart that were fetched at once, and came %s", async (_how, result) => {
    const crawl = tool({
      name: "crawl_parallel",
      description: "Fetches pages.",
      inputSchema: z.object({ urls: z.array(z.string()) }),
      effect: "read_only",
      execute: () =>
        result([
          [PAGE, TEXT],
          [OTHER, "Other words."],
        ]),
    });
    const citing = (url: string) =>
      Step.run("report", async (_input, ctx) => {
        await ctx.call(crawl, { urls: [PAGE, OTHER] });
        await ctx.artifact("report.md", `${TEXT} See ${url}.`);
      });
    expect(await unmetOf(citing(PAGE), { constraints })).toEqual([]);
    expect(await unmetOf(citing(OTHER), { constraints })).toEqual([
      `must_cite_sources: report.md uses ${PAGE} and does not cite it`,
    ]);
  });

  it("looks at the output of a run that makes no text", async () => {
    const step = reading({ [PAGE]: TEXT }, async (ctx) => {
      await ctx.artifact("picture.png", "no text");
      return `See ${OTHER} and ${PAGE}.`;
    });
    expect(await unmetOf(step, { constraints })).toEqual([
      `must_cite_sources: the output cites ${OTHER}, which was never fetched`,
    ]);
  });

  it("looks at the expected texts where there are some, and not at notes beside them", async () => {
    const artifacts = { expectedOutputs: ["report.md", "transcript.md"] };
    const step = reading({ [PAGE]: TEXT }, async (ctx) => {
      await ctx.artifact("notes.md", `Try ${OTHER} some day.`);
      await ctx.artifact("report.md", `See ${PAGE}.`);
    });
    expect(await unmetOf(step, { constraints, artifacts })).toEqual([]);
    expect(await unmetOf(step, { constraints })).toContain(
      `must_cite_sources: notes.md cites ${OTHER}, which was never fetched`,
    );
  });

  it("looks at an expected text that the step has written by itself", async () => {
    const artifacts = { expectedOutputs: ["report.md"] };
    const step = reading({ [PAGE]: TEXT }, (ctx) => {
      mkdirSync(ctx.workspace, { recursive: true });
      writeFileSync(join(ctx.workspace, "report.md"), `See ${OTHER} and ${PAGE}.`);
    });
    expect(await unmetOf(step, { constraints, artifacts })).toEqual([
      `must_cite_sources: report.md cites ${OTHER}, which was never fetched`,
    ]);
  });
});

describe("expected outputs", () => {
  const artifacts = (...expectedOutputs: string[]) => ({ artifacts: { expectedOutputs } });

  it("that are missing are named, and the job is done once they are there", async () => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const runner = jobRunner(
      Step.run("a", () => "done"),
      store,
      { workspaceRoot: root },
    );
    const spec = jobSpec(artifacts("report.md", "pages/one.html"));
    const error = await failureAs(UnmetConditionsError, runner.run("Go", { runId: "r-1", spec }));
    expect(error.details.unmet).toEqual([
      "expected output report.md is missing",
      "expected output pages/one.html is missing",
    ]);
    // A person mends it by hand: what they write is kept like anything else.
    mkdirSync(join(root, "pawl-runs", "r-1", "pages"), { recursive: true });
    writeFileSync(join(root, "pawl-runs", "r-1", "report.md"), "By hand");
    writeFileSync(join(root, "pawl-runs", "r-1", "pages", "one.html"), "");
    expect((await runner.resume("r-1")).output).toBe("done");
    const kept = await store.listArtifacts("r-1");
    expect(kept.map(({ name, size, stepPath }) => [name, size, stepPath])).toEqual([
      ["pages/one.html", 0, ""],
      ["report.md", 7, ""],
    ]);
  });

  it("that a step has written by itself are artifacts, for the stop conditions too", async () => {
    const step = Step.run("a", (_input, ctx) => {
      mkdirSync(ctx.workspace, { recursive: true });
      writeFileSync(join(ctx.workspace, "report.pdf"), "%PDF");
    });
    const stopConditions = { report_pdf_created: artifactKept("report.pdf") };
    const spec = { ...artifacts("report.pdf"), stopConditions: ["report_pdf_created"] };
    expect(await unmetOf(step, spec, { stopConditions })).toEqual([]);
  });

  it("whose file is gone or changed are there again: the store has them", async () => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const step = Step.run("a", async (_input, ctx) => {
      await ctx.artifact("one.md", "One");
      await ctx.artifact("two.md", "Two");
      rmSync(join(ctx.workspace, "one.md"));
      writeFileSync(join(ctx.workspace, "two.md"), "forged");
    });
    const runner = jobRunner(step, store, { workspaceRoot: root });
    await runner.run("Go", { runId: "r-1", spec: jobSpec(artifacts("one.md", "two.md")) });
    const files = ["one.md", "two.md"].map((name) =>
      readFileSync(join(root, "pawl-runs", "r-1", name), "utf8"),
    );
    expect(files).toEqual(["One", "Two"]);
  });

  it("may be what Pawl writes itself, and are there when the run is done", async () => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const names = ["trace.json", "transcript.md", "run.log"];
    const seen: boolean[] = [];
    const runner = jobRunner(
      Step.run("a", () => "done"),
      store,
      {
        workspaceRoot: root,
        probe: (point) => {
          if (point === "run:before-finish")
            seen.push(...names.map((name) => existsSync(join(root, "pawl-runs", "r-1", name))));
        },
      },
    );
    await runner.run("Go", { runId: "r-1", spec: jobSpec(artifacts(...names)) });
    expect(seen).toEqual([true, true, true]);
    expect(await store.listArtifacts("r-1")).toEqual([]);
  });

  it("are not what a symbolic link leads to, or a folder", async () => {
    const secret = join(temporaryFolder(), "secret.txt");
    writeFileSync(secret, "secret");
    const step = Step.run("a", (_input, ctx) => {
      mkdirSync(join(ctx.workspace, "folder.md"), { recursive: true });
      symlinkSync(secret, join(ctx.workspace, "linked.md"));
    });
    expect(await unmetOf(step, artifacts("linked.md", "folder.md"))).toEqual([
      "expected output linked.md is missing",
      "expected output folder.md is missing",
    ]);
  });

  it("are looked at once the steps are through, by whoever goes on with the run too", async () => {
    const store = await memoryStore();
    const options = { workspaceRoot: temporaryFolder() };
    const step = Step.run("a", (_input, ctx) => ctx.artifact("report.md", "One"));
    const spec = jobSpec(artifacts("report.md", "other.md"));
    const dying = jobRunner(step, store, { ...options, probe: crashAt("step:finished") });
    await failureOf(dying.run("Go", { runId: "r-1", spec }));
    const error = await failureAs(UnmetConditionsError, jobRunner(step, store, options).resume("r-1"));
    expect(error.details.unmet).toEqual(["expected output other.md is missing"]);
  });
});
