// A prompt that is rendered from the session: anew in every turn, paid for as it is, and known by its template alone.

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

/** Shows what was said so far. */
const progress = (render = (all: readonly string[]) => `So far: ${all.join(", ") || "nothing"}.`) =>
  dynamic({
    key: "progress",
    title: "Progress",
    slices: [words],
    render: (session) => render(session.query(words).all()),
  });

/** What the model was told in each request. */
const told = (prompts: readonly Prompt[]) =>
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
  it("is rendered anew in every turn, from the session as the commit before has left it", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, template(rules("Be brief."), progress()), [
      saying("one"),
      saying("two"),
      END,
    ]);
    await runner.run("Go", { runId: "r-1" });
    const prompt = (all: string) => `## Rules\n\nBe brief.\n\n## Progress\n\nSo far: ${all}.`;
    expect(told(prompts)).toEqual([prompt("nothing"), prompt("one"), prompt("one, two")]);
  });

  it("brings the slices that it reads", async () => {
    const store = await memoryStore();
    await make(store, template(progress()), [saying("one"), END]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("is rendered by the next process as it was by the one before", async () => {
    const store = await memoryStore();
    const turns = [saying("one"), saying("two"), END];
    await runUntilFailure(make(store, template(progress()), turns, { probe: stopsBefore(2) }).runner);
    const { runner, prompts } = make(store, template(progress()), turns);
    await runner.resume("r-1");
    expect(told(prompts)[0]).toContain("So far: one.");
  });

  it("shows what an observer made of the last commit", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, template(progress()), [saying("one"), END], {
      onSession: (session) =>
        void session.observe(words, (all) => {
          if (all.length === 1) session.dispatch({ type: "Said", word: "echo" });
        }),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(told(prompts)[1]).toContain("So far: one, echo.");
  });

  it("takes its parameters from the run's input, or from what it is bound to", async () => {
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
      expect(told(prompts)).toEqual(["## Topic\n\nAbout pawls."]);
    }
  });

  it("fails the run where a parameter is missing, with an error that names it, before anything is asked", async () => {
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

  it("whose tools have the name of one of the agent's is refused when the agent is made", () => {
    const closed = dynamic({ key: "d", title: "D", visibility: "summary", summary: "S", render: () => "" });
    const { say } = sayTool();
    const taken = () =>
      scriptedAgent([END], { instructions: template(closed), tools: { open_sections: say } });
    expect(taken).toThrow(/has a tool open_sections, and its prompt brings one of that name/);
  });
});

describe("the fingerprint of a prompt", () => {
  /** Whether a run begun under one prompt goes on under the other by turn. */
  async function goesOn(before: Instructions, after: Instructions): Promise<boolean> {
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
      "what a section made of the session shows",
      base,
      template(
        rules("Be brief."),
        progress(() => "New."),
      ),
    ],
    ["nothing, though the session has changed and with it the rendering", base, base],
    ["nothing, and is made again", bound("pawls"), bound("pawls")],
  ])("does not see %s", async (_, before, after) => {
    expect(await goesOn(before, after)).toBe(true);
  });

  it.each<[string, Instructions, Instructions]>([
    ["the text of a section", base, template(rules("Be long."), progress())],
    ["a section that is gone", base, template(rules("Be brief."))],
    ["the order of its sections", base, template(progress(), rules("Be brief."))],
    ["a title", base, template({ ...rules("Be brief."), title: "Laws" }, progress())],
    ["what it is bound to", bound("pawls"), bound("claws")],
    [
      "its version",
      base,
      promptTemplate({ namespace: "t", key: "k", version: 2, sections: [rules("Be brief."), progress()] }),
    ],
    ["that it was a plain text before", "Be brief.", base],
  ])("sees %s: a turn does not go on with it", async (_, before, after) => {
    expect(await goesOn(before, after)).toBe(false);
  });
});

describe("a rendering that throws", () => {
  const brittle = (failsAt: string) =>
    template(
      progress((all) => {
        if (all.includes(failsAt)) throw new Error("Too much.");
        return all.join(" ");
      }),
    );

  it("at the commit has the receipt stored first, and a mended one goes on without asking again", async () => {
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

  it("of a history that is left does not keep it from being left", async () => {
    const store = await memoryStore();
    const turns = [saying("one"), saying("two"), END];
    await runUntilFailure(make(store, brittle("two"), turns).runner);
    const { runner } = make(store, brittle("two"), [saying("three"), END]);
    expect((await runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect(await storedSlice(store)).toEqual(["three"]);
  });
});

describe("the reservation for a turn", () => {
  it("covers the prompt as it will be rendered", async () => {
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

describe("a section that is shown as a summary", () => {
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
    expect(told(first.prompts).map((text) => text.includes("The whole manual."))).toEqual([false, true]);
    expect(told(first.prompts)[0]).toMatch(/There is a manual.+call open_sections with "manual"/s);
    const second = make(store, manual, turns, { slices: [words] });
    await second.runner.resume("r-1");
    expect(told(second.prompts)[0]).toContain("The whole manual.");
    expect(await storedSlice(store, "open_sections")).toEqual(["manual"]);
  });

  it("that does not exist is refused with those that do", async () => {
    const store = await memoryStore();
    const { runner, prompts } = make(store, manual, [open("annual"), END]);
    await runner.run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toEqual([
      { type: "error-text", value: 'There is no section "annual" to open: use manual.' },
    ]);
  });
});
