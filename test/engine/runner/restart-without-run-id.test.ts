// A process that a supervisor restarts repeatedly, each time with the same input and no run id.

import { expect, it } from "vitest";
import { z } from "zod";
import {
  agent,
  ConfigurationError,
  type Json,
  PausedError,
  PawlError,
  ResumeError,
  RunNotBegunError,
  Runner,
  Step,
  StepFailedError,
  tool,
  type WiredStep,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

/** An agent with an opaque tool that is interrupted in its first call and not in the next. */
function cardAgent(charges: string[], instructions = "Charge it.") {
  const charge = tool({
    description: "Charge a card.",
    inputSchema: z.object({ amount: z.number() }),
    execute: (_, call) => {
      charges.push(call.runId);
      // Its row stays `running`, as after a kill.
      if (charges.length === 1) throw new PausedError();
      return "charged";
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "charge", input: { amount: 5 } }] }, { text: "Done." }]);
  return agent({ name: "card", model, instructions, tools: { charge } });
}

it("is refused while the run sleeps, with what it waits for", async () => {
  const store = await memoryStore();
  const refusal = async (step: WiredStep<unknown, string>, input: string) => {
    await new Runner(step, { store }).run(input);
    return (await failureAs(RunNotBegunError, new Runner(step, { store }).run(input))).message;
  };
  expect(await refusal(Step.sleep<string>("nap", 3_600_000), "a")).toMatch(
    /^No new run was begun: run \S+ of the same input waits until \d{4}-\S+Z; continue it then, with this call/,
  );
  expect(await refusal(Step.receive<Json, string>("paid", { event: "paid" }), "b")).toMatch(
    /run \S+ of the same input waits for paid; send it the message with `send`/,
  );
  expect(await refusal(Step.human<string>("ask", { question: "Is it right?" }), "c")).toMatch(
    /waits for a person; answer what it asks/,
  );
});

it("does not repeat a call in doubt, however often it is started", async () => {
  const store = await memoryStore();
  const charges: string[] = [];
  const runner = new Runner(cardAgent(charges), { store });
  await failureAs(PausedError, runner.run("Charge the card.", { runId: "first" }));
  expect((await runner.resume("first")).status).toBe("waiting");

  for (let start = 1; start <= 2; start++) {
    const error = await failureAs(RunNotBegunError, runner.run("Charge the card."));
    expect(error.details).toEqual({ why: "waiting", runIds: ["first"] });
  }
  expect(charges).toEqual(["first"]);

  const fresh = await runner.run("Charge the card.", { fresh: true });
  expect(fresh.status).toBe("succeeded");
  expect(charges).toEqual(["first", fresh.runId]);
});

it("does not start a new run under a changed prompt, and resumes once the prompt is restored", async () => {
  const store = await memoryStore();
  const [first, changed] = ["Say it.", "Shout it."].map((instructions) => {
    const model = scriptedModel(({ turn }) => ({ text: turn < 3 ? "wait" : "DONE" }));
    const speaker = agent({ name: "speaker", model, instructions: `${instructions} Say DONE at the end.` });
    return (maxTurns: number) => new Runner(Step.granular("speak", speaker, { maxTurns }), { store });
  });
  if (first === undefined || changed === undefined) throw new Error("There must be two runners.");
  await failureAs(PawlError, first(1).run("Hello", { runId: "speech" }));
  await failureAs(ResumeError, changed(5).resume("speech"));

  expect((await failureAs(ResumeError, changed(5).run("Hello"))).runId).toBe("speech");
  expect((await failureAs(ResumeError, first(5).run("Hello"))).runId).toBe("speech");
  expect((await first(5).resume("speech")).output).toBe("DONE");
});

it("names the run in every error, the first time and when it is thrown again", async () => {
  const store = await memoryStore();
  const runner = new Runner(
    Step.run("boom", () => {
      throw new Error("It broke.");
    }),
    { store },
  );
  for (let time = 1; time <= 2; time++) {
    expect((await failureAs(StepFailedError, runner.run(null, { runId: "r-1" }))).runId).toBe("r-1");
  }
  expect((await failureAs(StepFailedError, runner.resume("r-1"))).runId).toBe("r-1");
});

it("refuses a budget in money if the model has no price, and a budget with an unknown unit", async () => {
  const store = await memoryStore();
  const model = scriptedModel([{ text: "Hello" }], { modelId: "priced" });
  const speaker = agent({ name: "speaker", model });
  const budget = { microDollars: 1_000_000 };
  await failureAs(ConfigurationError, new Runner(speaker, { store }).run("Go", { runId: "r-1", budget }));
  const pricing = { id: "plan", models: { priced: { inputPerMillion: 1, outputPerMillion: 1 } } };
  const priced = new Runner(speaker, { store, pricing });
  expect((await priced.run("Go", { runId: "r-2", budget })).output).toBe("Hello");
  const misspelt = { token: 5 } as never;
  await failureAs(ConfigurationError, priced.run("Go", { runId: "r-3", budget: misspelt }));
});

it.each([
  ["no input schema", { inputSchema: undefined }, "needs an inputSchema"],
  ["an unknown effect", { effect: "readonly" }, 'effect "readonly": use external, memory, local, read_only'],
  ["an unknown recovery", { recovery: "again" }, "use repeat, keyed, reconcile, opaque"],
  ["no execute function", { execute: undefined }, "needs an execute function"],
  ["no description", { description: undefined }, "needs a description"],
  ["a schema without a JSON Schema", { inputSchema: z.object({ when: z.date() }) }, "no JSON Schema"],
])("refuses a tool with %s when it is made", (_, wrong, sentence) => {
  const right = { description: "d", inputSchema: z.object({}), execute: () => 1 };
  expect(() => tool({ ...right, ...wrong } as never)).toThrow(sentence);
});
