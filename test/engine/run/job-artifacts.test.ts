// The artifacts of a run: stored before there is a file, and restored from the store when the file is missing.

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CodeStepContext,
  Pipeline,
  Step,
  StepFailedError,
  type Store,
  StoreUnavailableError,
  tool,
  WorkspaceError,
} from "../../../src/index.ts";
import { asking, crashAt } from "../call/call-fixture.ts";
import { filesIn, jobRunner, jobSpec, temporaryFolder, warnings } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, must, scriptedAgent } from "../run-fixture.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A run whose step does this, in a folder that a second runner of it uses too. */
async function stepDoing(work: (ctx: CodeStepContext) => unknown) {
  const store = await memoryStore();
  const root = temporaryFolder();
  const folder = join(root, "pawl-runs", "r-1");
  const make = (options: Parameters<typeof jobRunner>[2] = {}) =>
    jobRunner(
      Step.run("make", (_input, ctx) => work(ctx) as Promise<string>),
      store,
      { workspaceRoot: root, ...options },
    );
  return { store, root, folder, make };
}

async function stored(store: Store, name: string): Promise<string> {
  return Buffer.from(must(await store.readArtifact("r-1", name))).toString("utf8");
}

describe("an artifact", () => {
  it("of a code step is in the store with its size, hash and step, and in the workspace as a file", async () => {
    const { store, folder, make } = await stepDoing(async (ctx) => {
      expect(ctx.workspace).toBe(join(folder));
      return (await ctx.artifact("pages/one.txt", "Grüße")).hash;
    });

    const { output } = await make().run("Go", { runId: "r-1" });

    expect(output).toBe(sha256("Grüße"));
    expect(await store.listArtifacts("r-1")).toEqual([
      { name: "pages/one.txt", size: 7, hash: sha256("Grüße"), stepPath: "make", at: expect.any(Number) },
    ]);
    expect(await stored(store, "pages/one.txt")).toBe("Grüße");
    expect(readFileSync(join(folder, "pages", "one.txt"), "utf8")).toBe("Grüße");
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("of a tool is stored for the step that called it", async () => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const paint = tool({
      name: "paint",
      description: "Paints.",
      inputSchema: z.object({}),
      effect: "local",
      execute: async (_input, call) => {
        const { name } = await call.artifact("picture.png", new Uint8Array([137, 80, 78, 71]));
        return [name, call.workspace, (await call.readArtifact("picture.png"))?.length];
      },
    });
    const { agent } = scriptedAgent([asking(["paint", {}]), { text: "Painted." }], { tools: { paint } });

    await jobRunner(agent, store, { workspaceRoot: root }).run("Go", { runId: "r-1" });

    const folder = join(root, "pawl-runs", "r-1");
    const [call] = await store.listToolCalls("r-1");
    expect(call?.receipt?.output.value).toEqual(["picture.png", folder, 4]);
    expect(await store.listArtifacts("r-1")).toMatchObject([
      { name: "picture.png", size: 4, stepPath: "worker" },
    ]);
    expect(readFileSync(join(folder, "picture.png"))).toEqual(Buffer.from([137, 80, 78, 71]));
  });

  it("is in the store even if its file cannot be written, with a warning", async () => {
    const { store, make, root } = await stepDoing((ctx) => ctx.artifact("report.md", "One"));
    // A file in place of the folder for all runs: no copy can be written.
    const workspaceRoot = join(root, "runs");
    writeFileSync(workspaceRoot, "in the way");
    const { messages, onEvent } = warnings();
    await make({ onEvent, workspaceRoot }).run("Go", { runId: "r-1" });
    expect(await stored(store, "report.md")).toBe("One");
    expect(messages[0]).toMatch(/^The file of artifact report\.md could not be written: /);
  });

  it("has no file before it is in the store: if the store refuses it, there is none", async () => {
    const { store, folder } = await stepDoing(() => undefined);
    const refusing = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name === "keepArtifact")
          return () => Promise.reject(new StoreUnavailableError("Full.", { reason: "full" }));
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const step = Step.run("make", (_input, ctx) => ctx.artifact("report.md", "One"));
    const runner = jobRunner(step, refusing, { workspaceRoot: join(folder, "..", "..") });
    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));
    expect(existsSync(join(folder, "report.md"))).toBe(false);
  });

  it("of the same name is one artifact, the last", async () => {
    const { store, folder, make } = await stepDoing(async (ctx) => {
      await ctx.artifact("report.md", "One");
      await ctx.artifact("report.md", "Two");
      await ctx.artifact("report.md", "Two");
    });
    await make().run("Go", { runId: "r-1" });
    expect(await store.listArtifacts("r-1")).toMatchObject([{ name: "report.md", hash: sha256("Two") }]);
    expect(readFileSync(join(folder, "report.md"), "utf8")).toBe("Two");
    const kept = (await store.listEvents("r-1")).filter(({ type }) => type === "artifact.kept");
    expect(kept).toHaveLength(2);
  });

  it("of a step that is entered again is one artifact", async () => {
    const { store, make } = await stepDoing((ctx) => ctx.artifact("report.md", "One"));
    await failureOf(make({ probe: crashAt("step:before-finish") }).run("Go", { runId: "r-1" }));
    await make().resume("r-1");
    expect(await store.listArtifacts("r-1")).toHaveLength(1);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("that is made again after its bytes were collected is stored again", async () => {
    let broken = true;
    const { store, folder, make } = await stepDoing(async (ctx) => {
      await ctx.artifact("report.md", "One");
      if (broken) throw new Error("The process crashed.");
    });
    await failureAs(StepFailedError, make().run("Go", { runId: "r-1" }));
    await store.collectBlobs({ olderThanMs: -1, maxBytes: 0 });
    expect(await store.readArtifact("r-1", "report.md")).toBeNull();
    broken = false;
    rmSync(folder, { recursive: true });
    await make().resume("r-1");
    expect(await stored(store, "report.md")).toBe("One");
    expect(readFileSync(join(folder, "report.md"), "utf8")).toBe("One");
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("that is written concurrently has the last content in the store and in its file", async () => {
    const { store, folder, make } = await stepDoing(async (ctx) => {
      await ctx.artifact("back.md", "A");
      const texts = Array.from({ length: 12 }, (_, i) => `${i} ${"x".repeat(i % 3 === 0 ? 50_000 : 1)}`);
      await Promise.all([
        ...texts.map((text) => ctx.artifact("report.md", text)),
        ctx.artifact("back.md", "B"),
        ctx.artifact("back.md", "A"),
      ]);
    });
    await make().run("Go", { runId: "r-1" });
    for (const [name, text] of [
      ["report.md", "11 x"],
      ["back.md", "A"],
    ] as const) {
      expect(await stored(store, name)).toBe(text);
      expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    }
  });

  it("that could not be stored does not block the next one", async () => {
    const { store, make } = await stepDoing(async (ctx) => {
      const kept = await Promise.allSettled([
        ctx.artifact("../out.md", "x"),
        ctx.artifact("report.md", "One"),
      ]);
      return kept.map(({ status }) => status).join();
    });
    expect((await make().run("Go", { runId: "r-1" })).output).toBe("rejected,fulfilled");
    expect(await stored(store, "report.md")).toBe("One");
  });

  it("is read from the store, whatever happened to its file", async () => {
    const { store, make } = await stepDoing(async (ctx) => {
      await ctx.artifact("report.md", "One");
      rmSync(ctx.workspace, { recursive: true });
      const gone = await ctx.readArtifact("report.md");
      mkdirSync(ctx.workspace, { recursive: true });
      writeFileSync(join(ctx.workspace, "report.md"), "forged");
      const forged = await ctx.readArtifact("report.md");
      return [gone, forged, await ctx.readArtifact("other.md")].map((bytes) =>
        bytes === null ? null : Buffer.from(bytes).toString("utf8"),
      );
    });
    expect((await make().run("Go", { runId: "r-1" })).output).toEqual(["One", "One", null]);
    expect(await stored(store, "report.md")).toBe("One");
  });
});

describe("the file of an artifact", () => {
  /** An interrupted run that has made two artifacts in one step. */
  async function interrupted() {
    const store = await memoryStore();
    const root = temporaryFolder();
    const seen: string[][] = [];
    const pipeline = Pipeline.of(
      "p",
      Step.run("make", async (_input, ctx) => {
        await ctx.artifact("one.md", "One");
        await ctx.artifact("two.md", "Two");
      }),
      Step.run("look", (_input, ctx) => {
        seen.push(filesIn(ctx.workspace).map((name) => readFileSync(join(ctx.workspace, name), "utf8")));
        if (seen.length === 1) throw new Error("The process crashed.");
      }),
    );
    const make = (workspaceRoot = root) => jobRunner(pipeline, store, { workspaceRoot });
    await failureAs(StepFailedError, make().run("Go", { runId: "r-1" }));
    for (const name of ["trace.json", "transcript.md", "run.log"])
      rmSync(join(root, "pawl-runs", "r-1", name));
    return { make, seen, folder: join(root, "pawl-runs", "r-1") };
  }

  it("is restored on resume if it is missing or changed", async () => {
    const { make, seen, folder } = await interrupted();
    rmSync(join(folder, "one.md"));
    writeFileSync(join(folder, "two.md"), "changed");
    await make().resume("r-1");
    expect(seen).toEqual([
      ["One", "Two"],
      ["One", "Two"],
    ]);
  });

  it("is restored if the run is resumed on another machine", async () => {
    const { make, seen } = await interrupted();
    await make(temporaryFolder()).resume("r-1");
    expect(seen.at(-1)).toEqual(["One", "Two"]);
  });

  it("is restored in place of a symbolic link, which is not followed", async () => {
    const { make, seen, folder } = await interrupted();
    const elsewhere = join(temporaryFolder(), "elsewhere.md");
    writeFileSync(elsewhere, "untouched");
    rmSync(join(folder, "one.md"));
    symlinkSync(elsewhere, join(folder, "one.md"));
    await make().resume("r-1");
    expect(seen.at(-1)).toEqual(["One", "Two"]);
    expect(readFileSync(elsewhere, "utf8")).toBe("untouched");
  });

  it.each<[string, (file: string, outside: string) => void]>([
    ["a folder", (file) => mkdirSync(join(file, "in-the-way"), { recursive: true })],
    ["a link in place of its folder", (file, outside) => symlinkSync(outside, dirname(file))],
  ])(
    "that cannot be restored because of %s leads to a warning, and the run continues",
    async (_what, block) => {
      const store = await memoryStore();
      const [root, outside] = [temporaryFolder(), temporaryFolder()];
      let broken = true;
      const pipeline = Pipeline.of(
        "p",
        Step.run("make", (_input, ctx) => ctx.artifact("pages/one.md", "One")),
        Step.run("end", () => {
          if (broken) throw new Error("The process crashed.");
          return "End.";
        }),
      );
      const { messages, onEvent } = warnings();
      const runner = jobRunner(pipeline, store, { workspaceRoot: root, onEvent });
      await failureAs(StepFailedError, runner.run("Go", { runId: "r-1" }));
      const pages = join(root, "pawl-runs", "r-1", "pages");
      rmSync(pages, { recursive: true });
      block(join(pages, "one.md"), outside);
      broken = false;
      expect((await runner.resume("r-1")).output).toBe("End.");
      expect(messages).toEqual([
        expect.stringMatching(
          /^The file of artifact pages\/one\.md could not be restored: .* The store has it\.$/,
        ),
      ]);
      expect(await stored(store, "pages/one.md")).toBe("One");
      expect(readdirSync(outside)).toEqual([]);
    },
  );
});

describe("the name of an artifact", () => {
  it.each(["../escaped.md", "/tmp/escaped.md", "a/../../escaped.md", "a\\b.md", "a\0b.md", "", "trace.json"])(
    "that is no file of the workspace is refused, and nothing is stored or written: %j",
    async (name) => {
      const { store, root, make } = await stepDoing((ctx) => ctx.artifact(name, "x"));
      const error = await failureAs(WorkspaceError, make().run("Go", { runId: "r-1" }));
      expect(error.details).toEqual({ name });
      expect(await store.listArtifacts("r-1")).toEqual([]);
      expect(readdirSync(root)).toEqual([]);
    },
  );

  it("that leads through a symbolic link is refused, and the run can resume once the link is removed", async () => {
    const outside = temporaryFolder();
    const { folder, make, store } = await stepDoing((ctx) => ctx.artifact("pages/one.md", "One"));
    mkdirSync(folder, { recursive: true });
    symlinkSync(outside, join(folder, "pages"));
    await failureAs(WorkspaceError, make().run("Go", { runId: "r-1" }));
    await failureAs(WorkspaceError, make().resume("r-1"));
    expect(readdirSync(outside)).toEqual([]);

    rmSync(join(folder, "pages"));
    expect((await make().resume("r-1")).status).toBe("succeeded");
    expect(readFileSync(join(folder, "pages", "one.md"), "utf8")).toBe("One");
    expect(await store.listArtifacts("r-1")).toHaveLength(1);
  });
});

describe("an artifact in place of another one's folder", () => {
  it.each([
    ["out", "out/a.txt"],
    ["out/a.txt", "out"],
    ["a/b/c.txt", "a/b"],
  ])("is refused, and the run resumes once its code is fixed: %s beside %s", async (first, second) => {
    const store = await memoryStore();
    const root = temporaryFolder();
    let name = second;
    const pipeline = Pipeline.of(
      "p",
      Step.run("one", (_input, ctx) => ctx.artifact(first, "One")),
      Step.run("two", (_input, ctx) => ctx.artifact(name, "Two").then(() => "End.")),
    );
    const runner = jobRunner(pipeline, store, { workspaceRoot: root });
    const error = await failureAs(WorkspaceError, runner.run("Go", { runId: "r-1" }));
    expect(error.message).toContain(`Artifact ${second} cannot be stored with ${first}`);
    expect((await store.listArtifacts("r-1")).map((each) => each.name)).toEqual([first]);

    name = "other.txt";
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(readFileSync(join(root, "pawl-runs", "r-1", first), "utf8")).toBe("One");
  });

  it("is no conflict if only the first letters are the same", async () => {
    const { store, make } = await stepDoing(async (ctx) => {
      await ctx.artifact("out", "1");
      await ctx.artifact("out.txt", "2");
      await ctx.artifact("output/a.txt", "3");
    });
    await make().run("Go", { runId: "r-1" });
    expect(await store.listArtifacts("r-1")).toHaveLength(3);
  });
});

describe("the workspace of a run", () => {
  it("is the folder of its spec, with the run id inserted", async () => {
    const { root, make } = await stepDoing((ctx) => ctx.workspace);
    const spec = jobSpec({ artifacts: { workspaceDir: "out/session_<id>" } });
    const { output } = await make().run("Go", { runId: "r-1", spec });
    expect(output).toBe(join(root, "out", "session_r-1"));
  });

  it("is not created for a run without a contract and without artifacts", async () => {
    const { root, make } = await stepDoing(() => "nothing");
    await make().run("Go", { runId: "r-1" });
    expect(existsSync(join(root, "pawl-runs"))).toBe(false);
  });
});
