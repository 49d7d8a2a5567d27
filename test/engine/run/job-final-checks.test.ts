// Checks after the last step of a job: duplicate effects, citations and expected files.

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

/** The unmet conditions of a job with this step and contract. */
async function unmetConditions(
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

  /** A tool with an external effect, declared as such by default. */
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

  it("executes each effect once, whichever steps ask for it", async () => {
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

  it("executes it every time without the constraint", async () => {
    const { post, posted } = postTool();
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetConditions(Pipeline.of("p", step("a"), step("b")), {})).toEqual([]);
    expect(posted).toHaveLength(2);
  });

  it('executes it once even for a tool with dedupe "call"', async () => {
    const { post, posted } = postTool({ effect: "external", dedupe: "call" });
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetConditions(Pipeline.of("p", step("a"), step("b")), { constraints })).toEqual([]);
    expect(posted).toHaveLength(1);
  });

  it("does not apply to a tool that is not known to be external, which may be read-only", async () => {
    const { post, posted } = postTool({});
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(post, { text: "Hello" }));
    expect(await unmetConditions(Pipeline.of("p", step("a"), step("b")), { constraints })).toEqual([]);
    expect(posted).toHaveLength(2);
  });

  it("is checked against the ledger itself at the end", async () => {
    const store = await memoryStore();
    const { post } = postTool();
    const forged = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== "listToolCalls") return typeof value === "function" ? value.bind(target) : value;
        return async (runId: string) => {
          const calls = await target.listToolCalls(runId);
          return [...calls, ...calls];
        };
      },
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

  /** A step that reads these pages, and then writes. */
  const reading = (pages: { readonly [url: string]: string }, write: (ctx: CodeStepContext) => unknown) =>
    Step.run("report", async (_input, ctx) => {
      const { fetchPage } = fetchTool(pages);
      for (const url of Object.keys(pages)) await ctx.call(fetchPage, { url });
      return write(ctx);
    });

  it("accepts a report that cites the pages it uses and omits the others", async () => {
    const pages = { [PAGE]: TEXT, [OTHER]: "Nothing of use." };
    const report = `${TEXT} ([source](${PAGE}))`;
    const step = reading(pages, (ctx) => ctx.artifact("report.md", report));
    expect(await unmetConditions(step, { constraints })).toEqual([]);
  });

  it("refuses one that uses a page without citing it", async () => {
    const step = reading({ [PAGE]: TEXT, [OTHER]: "Other words." }, (ctx) =>
      ctx.artifact("report.html", `<p>${TEXT}</p><a href="${OTHER}">Other</a>`),
    );
    expect(await unmetConditions(step, { constraints })).toEqual([
      `must_cite_sources: report.html uses ${PAGE} and does not cite it`,
    ]);
  });

  it("refuses one that cites a page which was never fetched", async () => {
    const step = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", `See ${PAGE} and ${OTHER}.`));
    expect(await unmetConditions(step, { constraints })).toEqual([
      `must_cite_sources: report.md cites ${OTHER}, which was never fetched`,
    ]);
  });

  it("refuses one that cites none of the fetched pages", async () => {
    const step = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", "In my own words."));
    expect(await unmetConditions(step, { constraints })).toEqual([
      "must_cite_sources: report.md cites none of the sources that were fetched",
    ]);
  });

  it("ignores pages that could not be fetched, and is off by default", async () => {
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
      await ctx.call(failing, { url: PAGE }).catch(() => "missing");
      return ctx.artifact("report.md", "In my own words.");
    });
    expect(await unmetConditions(step, { constraints }, { maxRetriesPerToolCall: 0 })).toEqual([]);
    const cites = reading({ [PAGE]: TEXT }, (ctx) => ctx.artifact("report.md", "In my own words."));
    expect(await unmetConditions(cites, {})).toEqual([]);
  });

  it("reads the whole of a page that is stored as a blob", async () => {
    const long = `${"Filler words that are used nowhere else. ".repeat(1_000)}${TEXT}`;
    expect(long.length).toBeGreaterThan(20_000);
    const step = reading({ [PAGE]: long, [OTHER]: "Other words." }, (ctx) =>
      ctx.artifact("report.md", `${TEXT} See ${OTHER}.`),
    );
    expect(await unmetConditions(step, { constraints })).toEqual([
      `must_cite_sources: report.md uses ${PAGE} and does not cite it`,
    ]);
  });

  it.each<[string, (pages: readonly (readonly [string, string])[]) => Json]>([
    ["in a list", (pages) => pages.map(([address, text]) => ({ address, text }))],
    ["by their addresses", (pages) => ({ pages: Object.fromEntries(pages) })],
  ])("distinguishes pages that were fetched in one call and returned %s", async (_how, result) => {
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
    expect(await unmetConditions(citing(PAGE), { constraints })).toEqual([]);
    expect(await unmetConditions(citing(OTHER), { constraints })).toEqual([
      `must_cite_sources: report.md uses ${PAGE} and does not cite it`,
    ]);
  });

  it("checks the output of a run without text artifacts", async () => {
    const step = reading({ [PAGE]: TEXT }, async (ctx) => {
      await ctx.artifact("picture.png", "no text");
      return `See ${OTHER} and ${PAGE}.`;
    });
    expect(await unmetConditions(step, { constraints })).toEqual([
      `must_cite_sources: the output cites ${OTHER}, which was never fetched`,
    ]);
  });

  it("checks only the expected texts if there are any", async () => {
    const artifacts = { expectedOutputs: ["report.md", "transcript.md"] };
    const step = reading({ [PAGE]: TEXT }, async (ctx) => {
      await ctx.artifact("notes.md", `Try ${OTHER} some day.`);
      await ctx.artifact("report.md", `See ${PAGE}.`);
    });
    expect(await unmetConditions(step, { constraints, artifacts })).toEqual([]);
    expect(await unmetConditions(step, { constraints })).toContain(
      `must_cite_sources: notes.md cites ${OTHER}, which was never fetched`,
    );
  });

  it("checks an expected text that the step wrote to disk itself", async () => {
    const artifacts = { expectedOutputs: ["report.md"] };
    const step = reading({ [PAGE]: TEXT }, (ctx) => {
      mkdirSync(ctx.workspace, { recursive: true });
      writeFileSync(join(ctx.workspace, "report.md"), `See ${OTHER} and ${PAGE}.`);
    });
    expect(await unmetConditions(step, { constraints, artifacts })).toEqual([
      `must_cite_sources: report.md cites ${OTHER}, which was never fetched`,
    ]);
  });
});

describe("expected outputs", () => {
  const artifacts = (...expectedOutputs: string[]) => ({ artifacts: { expectedOutputs } });

  it("that are missing are named, and the job succeeds once they exist", async () => {
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
    // A person adds them by hand, and they are stored like any other artifact.
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

  it("that a step wrote to disk itself are artifacts, for the stop conditions too", async () => {
    const step = Step.run("a", (_input, ctx) => {
      mkdirSync(ctx.workspace, { recursive: true });
      writeFileSync(join(ctx.workspace, "report.pdf"), "%PDF");
    });
    const stopConditions = { report_pdf_created: artifactKept("report.pdf") };
    const spec = { ...artifacts("report.pdf"), stopConditions: ["report_pdf_created"] };
    expect(await unmetConditions(step, spec, { stopConditions })).toEqual([]);
  });

  it("whose file is missing or changed are restored from the store", async () => {
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

  it("may be files that Pawl writes itself, which exist when the run is done", async () => {
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

  it("cannot be a symbolic link or a folder", async () => {
    const secret = join(temporaryFolder(), "secret.txt");
    writeFileSync(secret, "secret");
    const step = Step.run("a", (_input, ctx) => {
      mkdirSync(join(ctx.workspace, "folder.md"), { recursive: true });
      symlinkSync(secret, join(ctx.workspace, "linked.md"));
    });
    expect(await unmetConditions(step, artifacts("linked.md", "folder.md"))).toEqual([
      "expected output linked.md is missing",
      "expected output folder.md is missing",
    ]);
  });

  it("are checked after the last step, also when another worker resumes the run", async () => {
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

describe("the final artifact of a run", () => {
  const step = Step.run("a", async (_input, ctx) => {
    await ctx.artifact("report.md", "Draft");
    await ctx.artifact("report.md", "Report");
    await ctx.artifact("notes.md", "Notes");
  });

  async function finalOf(artifacts: SpecParts["artifacts"]): Promise<string | null | undefined> {
    const store = await memoryStore();
    const spec = jobSpec(artifacts === undefined ? {} : { artifacts });
    await jobRunner(step, store).run("Go", { runId: "r-1", spec });
    const final = (await store.getRun("r-1"))?.finalArtifact;
    const kept = (await store.listArtifacts("r-1")).find(({ name }) => name === final?.name);
    expect(final?.hash).toBe(kept?.hash);
    return final?.name ?? null;
  }

  it("is the output that the contract names, or the only one that it expects", async () => {
    expect(await finalOf({ finalOutput: "report.md" })).toBe("report.md");
    expect(await finalOf({ expectedOutputs: ["notes.md"] })).toBe("notes.md");
    const expectedOutputs = ["notes.md", "report.md"];
    expect(await finalOf({ expectedOutputs, finalOutput: "report.md" })).toBe("report.md");
    expect(await finalOf({ expectedOutputs })).toBeNull();
    expect(await finalOf(undefined)).toBeNull();
  });

  it("must exist", async () => {
    expect(await unmetConditions(step, { artifacts: { finalOutput: "report.pdf" } })).toEqual([
      "expected output report.pdf is missing",
    ]);
  });
});
