// Prompts rendered from the session: in every turn, charged as rendered, and fingerprinted by their template alone.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  dynamic,
  type Json,
  markdown,
  type PromptTemplate,
  promptTemplate,
  ResumeError,
  Runner,
  type RunnerOptions,
  type Section,
  type Store,
} from "../../../src/index.ts";
import { asking, crashAt } from "../call/call-fixture.ts";
import {
  collect,
  failureAs,
  memoryStore,
  must,
  type Prompt,
  scriptedAgent,
  toolResults,
} from "../run-fixture.ts";
import { runUntilFailure, saying, sayTool, stopsBefore, storedSlice, words } from "../session-fixture.ts";

type Instructions = NonNullable<Parameters<typeof scriptedAgent>[1]>["instructions"];

const template = (...sections: Section<never>[]): PromptTemplate =>
  promptTemplate({ namespace: "t", key: "k", version: 1, sections: sections as Section<unknown>[] });

const rules = (text: string) => markdown({ key: "rules", title: "Rules", template: text });

/** Shows the words said so far. */
const progress = (render = (all: readonly string[]) => `So far: ${all.join(", ") || "nothing"}.`) =>
  dynamic({
    key: "progress",
    title: "Progress",
    slices: [words],
    render: (session) => render(session.query(words).all()),
  });

/** The system prompt of each request. */
const systemPrompts = (prompts: readonly Prompt[]) =>
  prompts.map((prompt) => (prompt[0]?.role === "system" ? prompt[0].content : ""));

function make(
  store: Store,
  instructions: Instructions,
  turns: Parameters<typeof scriptedAgent>[0],
  options: RunnerOptions = {},
) {
  const { say, spoken } = sayTool();
  const { agent, prompts } = scriptedAgent(turns, { instructions: instructions ?? "", tools: { say } });
  return { runner: new Runner(agent, { store, random: () => 0, ...options }), prompts, spoken };
}

const END = { text: "End." };

describe("a prompt template", () => {
  it("is rendered in every turn from the session of the last commit", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, template(rules("Be brief."), progress()), [
      saying("one"),
      saying("two"),
      END,
    ]);
    await runner.run("Go", { runId: "r-1" });
    const prompt = (all: string) => `## Rules\n\nBe brief.\n\n## Progress\n\nSo far: ${all}.`;
    expect(systemPrompts(prompts)).toEqual([prompt("nothing"), prompt("one"), prompt("one, two")]);
  });

  it("registers the slices that it reads", async () => {
    const store = await memoryStore();
    await make(store, template(progress()), [saying("one"), END]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("is rendered the same by the next process", async () => {
    const store = await memoryStore();
    const turns = [saying("one"), saying("two"), END];
    await runUntilFailure(make(store, template(progress()), turns, { probe: stopsBefore(2) }).runner);
    const { runner, prompts } = make(store, template(progress()), turns);
    await runner.resume("r-1");
    expect(systemPrompts(prompts)[0]).toContain("So far: one.");
  });

  it("shows events that an observer dispatched after the last commit", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, template(progress()), [saying("one"), END], {
      onSession: (session) =>
        void session.observe(words, (all) => {
          if (all.length === 1) session.dispatch({ type: "Said", word: "echo" });
        }),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(systemPrompts(prompts)[1]).toContain("So far: one, echo.");
  });

  it("takes its parameters from the run's input or from its binding", async () => {
    const store = await memoryStore();
    const prompt = promptTemplate({
      namespace: "t",
      key: "k",
      version: 1,
      parameters: z.object({ topic: z.string() }),
      sections: [markdown({ key: "topic", title: "Topic", template: "About $topic." })],
    });
    const ways: [Instructions, Json][] = [
      [prompt, { topic: "pawls" }],
      [prompt.bind({ topic: "pawls" }), "Go"],
      [prompt.bind((input) => ({ topic: `p${JSON.stringify(input).slice(1, -1)}` })), "awls"],
    ];
    for (const [instructions, input] of ways) {
      const { runner, prompts } = make(store, instructions, [END]);
      await runner.run(input);
      expect(systemPrompts(prompts)).toEqual(["## Topic\n\nAbout pawls."]);
    }
  });

  it("fails the run before the model is asked if a parameter is missing, with an error that names it", async () => {
    const store = await memoryStore();
    const prompt = promptTemplate({
      namespace: "t",
      key: "k",
      version: 1,
      parameters: z.object({ topic: z.string() }),
      sections: [markdown({ key: "aim", title: "Aim", template: "About $topic." })],
    });
    const { runner, prompts } = make(store, prompt, [END]);
    const error = await failureAs(ConfigurationError, runner.run({ subject: "x" }, { runId: "r-1" }));
    expect(error.message).toMatch(/The parameter topic of section aim of prompt t:k@1 is missing/);
    expect(error.details).toMatchObject({ parameter: "topic", section: "aim" });
    expect(prompts).toEqual([]);
    expect((await store.getRun("r-1"))?.error?.code).toBe("configuration");
  });

  it("is refused when the agent is made if its tools clash with the agent's", () => {
    const closed = dynamic({ key: "d", title: "D", visibility: "summary", summary: "S", render: () => "" });
    const { say } = sayTool();
    const clashing = () =>
      scriptedAgent([END], { instructions: template(closed), tools: { open_sections: say } });
    expect(clashing).toThrow(/has a tool open_sections, and its prompt adds one of the same name/);
  });
});

describe("the fingerprint of a prompt", () => {
  /** True if a run begun with one prompt resumes by turn with the other. */
  async function resumesAfterChange(before: Instructions, after: Instructions): Promise<boolean> {
    const store = await memoryStore();
    const turns = [saying("one"), saying("two"), END];
    await runUntilFailure(make(store, before, turns, { probe: stopsBefore(3), slices: [words] }).runner);
    const { runner, prompts } = make(store, after, turns, { slices: [words] });
    try {
      return (await runner.resume("r-1")).status === "succeeded";
    } catch (error) {
      if (!(error instanceof ResumeError)) throw error;
      expect(error.details.changes.map(({ what }) => what.split(".")[0])).toEqual(["prompt"]);
      expect(prompts).toEqual([]);
      return false;
    }
  }

  const base = template(rules("Be brief."), progress());
  const bound = (topic: string) =>
    promptTemplate({
      namespace: "t",
      key: "k",
      version: 1,
      parameters: z.object({ topic: z.string() }),
      sections: [markdown({ key: "topic", title: "Topic", template: "$topic" })],
    }).bind({ topic });

  it.each<[string, Instructions, Instructions]>([
    [
      "a change of what a session section renders",
      base,
      template(
        rules("Be brief."),
        progress(() => "New."),
      ),
    ],
    ["a changed session with the same template", base, base],
    ["a template that is made again with the same binding", bound("pawls"), bound("pawls")],
  ])("ignores %s", async (_, before, after) => {
    expect(await resumesAfterChange(before, after)).toBe(true);
  });

  it.each<[string, Instructions, Instructions]>([
    ["the text of a section", base, template(rules("Be long."), progress())],
    ["a removed section", base, template(rules("Be brief."))],
    ["the order of its sections", base, template(progress(), rules("Be brief."))],
    ["a title", base, template({ ...rules("Be brief."), title: "Laws" }, progress())],
    ["its binding", bound("pawls"), bound("claws")],
    [
      "its version",
      base,
      promptTemplate({ namespace: "t", key: "k", version: 2, sections: [rules("Be brief."), progress()] }),
    ],
    ["a plain text that became a template", "Be brief.", base],
  ])("changes with %s, so the turn is not resumed", async (_, before, after) => {
    expect(await resumesAfterChange(before, after)).toBe(false);
  });
});

describe("a prompt that fails to render", () => {
  const brittle = (failsAt: string) =>
    template(
      progress((all) => {
        if (all.includes(failsAt)) throw new Error("Too much.");
        return all.join(" ");
      }),
    );

  it("at the commit fails after the receipt is stored, and a fixed one resumes without another model call", async () => {
    const store = await memoryStore();
    const turns = [saying("one"), END];
    const first = make(store, brittle("one"), turns);
    expect(String(await runUntilFailure(first.runner))).toMatch(/Too much/);
    expect(first.spoken).toEqual(["one"]);
    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded"]);
    expect((await store.listTurns("r-1")).map(({ committed }) => committed)).toEqual([false]);
    const second = make(store, brittle("never"), turns);
    expect((await second.runner.resume("r-1")).status).toBe("succeeded");
    expect([second.spoken, second.prompts.length]).toEqual([[], 1]);
  });

  it("for an abandoned lineage does not prevent a milestone resume", async () => {
    const store = await memoryStore();
    const turns = [saying("one"), saying("two"), END];
    await runUntilFailure(make(store, brittle("two"), turns).runner);
    const { runner } = make(store, brittle("two"), [saying("three"), END]);
    expect((await runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect(await storedSlice(store)).toEqual(["three"]);
  });
});

describe("the reservation for a turn", () => {
  it("covers the prompt of that turn as rendered", async () => {
    const reservedWith = async (render: (all: readonly string[]) => string) => {
      const store = await memoryStore();
      const { runner } = make(store, template(progress(render)), [saying("one"), END]);
      const events = await collect(runner.stream("Go", { runId: "r-1" }));
      return events.flatMap((event) => (event.type === "usage.settled" ? [event.reserved.tokens] : []));
    };
    const short = await reservedWith(() => "");
    const grown = await reservedWith((all) => "word ".repeat(1_000 * all.length));
    expect(grown).toHaveLength(2);
    expect(grown[0]).toBe(short[0]);
    expect(must(grown[1]) - must(short[1])).toBeGreaterThan(900);
  });
});

describe("a section shown as a summary", () => {
  const manual = template(
    markdown({
      key: "manual",
      title: "Manual",
      template: "The whole manual.",
      visibility: "summary",
      summary: "There is a manual.",
    }),
  );
  const open = (...keys: string[]) => asking(["open_sections", { keys }]);

  it("is opened by the agent, and stays open after a restart", async () => {
    const store = await memoryStore();
    const turns = [open("manual"), saying("one"), END];
    const first = make(store, manual, turns, {
      slices: [words],
      probe: crashAt("model:before-request", 3),
    });
    await runUntilFailure(first.runner);
    expect(systemPrompts(first.prompts).map((text) => text.includes("The whole manual."))).toEqual([
      false,
      true,
    ]);
    expect(systemPrompts(first.prompts)[0]).toMatch(/There is a manual.+call open_sections with "manual"/s);
    const second = make(store, manual, turns, { slices: [words] });
    await second.runner.resume("r-1");
    expect(systemPrompts(second.prompts)[0]).toContain("The whole manual.");
    expect(await storedSlice(store, "open_sections")).toEqual(["manual"]);
  });

  it("cannot be opened under an unknown name; the error lists the known ones", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, manual, [open("annual"), END]);
    await runner.run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toEqual([
      { type: "error-text", value: 'There is no section "annual" to open: use manual.' },
    ]);
  });
});
