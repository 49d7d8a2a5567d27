// Runs of the real engine that have a text of an attack wherever a model, a tool, a person or a file can set one.

import { z } from "zod";
import {
  agent,
  askHuman,
  conversation,
  type Json,
  Pipeline,
  Runner,
  Step,
  type Store,
  type Tool,
  tool,
  type WiredStep,
} from "../../../src/index.ts";
import { type ScriptedResponse, scriptedModel } from "../../../src/testing/index.ts";
import { type AttackText, asArtifactName, asStepName, objectOf } from "./attack-texts.ts";

/** The addresses of what was planted. */
export type Planted = { readonly runIds: readonly string[]; readonly waitIds: readonly string[] };

/** Where runs are planted. */
type Ground = { readonly store: Store; readonly workspaceRoot: string };

/** Plants a text in runs that have succeeded, failed, were cancelled, wait, and talk. */
export async function plantText(ground: Ground, { id, text }: AttackText): Promise<Planted> {
  const { store } = ground;
  const person = { by: text };
  const given = objectOf(text);
  const plant = new Planting(ground, text);

  await plant.run(`${id}-done`, [
    {
      text,
      toolCalls: [
        { name: "look", input: given },
        { name: "break", input: given },
        // A model may name what does not exist.
        { name: text, input: given },
      ],
    },
    { text },
  ]);
  const asked = await plant.run(`${id}-asked`, [
    { text, toolCalls: [{ name: "ask_human", input: { question: text } }] },
    { text },
  ]);
  await Promise.all(asked.map((waitId) => store.answer(waitId, given, person)));
  await plant.work(`${id}-asked`);
  const denied = await plant.run(`${id}-denied`, [{ toolCalls: [{ name: "pay", input: given }] }, { text }]);
  await Promise.all(denied.map((waitId) => store.deny(waitId, text, person)));
  await plant.work(`${id}-denied`);
  await plant.fail(`${id}-failed`);
  const choices = [text, `${text} too`];
  const asks = await plant.run(`${id}-asks`, [
    { text, toolCalls: [{ name: "ask_human", input: { question: text, choices } }] },
  ]);
  const pays = await plant.run(`${id}-pays`, [{ text, toolCalls: [{ name: "pay", input: given }] }]);
  await plant.run(`${id}-ended`, [{ toolCalls: [{ name: "pay", input: given }] }]);
  await store.requestCancel(`${id}-ended`, person);
  await plant.talk(`${id}-chat`);

  const endings = ["done", "asked", "denied", "failed", "asks", "pays", "ended", "chat"];
  return { runIds: endings.map((ending) => `${id}-${ending}`), waitIds: [...asks, ...pays] };
}

/** Plants values as the input and the results, and as the arguments that a person is asked to approve. */
export async function plantValues(
  ground: Ground,
  runId: string,
  { value, argument }: { readonly value: Json; readonly argument: Json },
): Promise<Planted> {
  const plant = new Planting(ground, runId, value);
  const input = { value: argument };
  const calls = [
    { name: "look", input: {} },
    { name: "pay", input },
  ];
  return { runIds: [runId], waitIds: await plant.run(runId, [{ toolCalls: calls }], value) };
}

class Planting {
  readonly #store: Store;
  readonly #workspaceRoot: string;
  readonly #text: string;
  readonly #result: Json;
  readonly #runners = new Map<string, Runner>();

  constructor({ store, workspaceRoot }: Ground, text: string, result: Json = objectOf(text)) {
    this.#store = store;
    this.#workspaceRoot = workspaceRoot;
    this.#text = text;
    this.#result = result;
  }

  /** Works on a run of this script, and returns what it waits for. */
  async run(runId: string, script: readonly ScriptedResponse[], input: Json = this.#text) {
    const text = this.#text;
    const keep = Step.run("keep", async (given: Json, context) => {
      await context.artifact(asArtifactName(text), `<script>window.pwned=1</script>${text}`);
      return given;
    });
    const phase = { phase: asStepName(text) };
    const talk = Step.granular(asStepName(text), this.#agent(script), phase);
    return this.#start(runId, Pipeline.of(asStepName(text), keep, talk), input);
  }

  /** A run that has failed with the text. */
  async fail(runId: string): Promise<void> {
    const failing = Step.run(asStepName(this.#text), (): Json => {
      throw new Error(this.#text);
    });
    await this.#start(runId, Pipeline.of(asStepName(this.#text), failing), this.#text);
  }

  /** A chat in which both say the text. */
  async talk(runId: string): Promise<void> {
    const chat = conversation(this.#agent(() => ({ text: this.#text })));
    const runner = this.#runner(runId, chat);
    await runner.send(runId, this.#text, { by: this.#text, orStart: {} });
    await this.work(runId);
    await runner.send(runId, this.#text, { by: this.#text });
    await this.work(runId);
  }

  async work(runId: string): Promise<void> {
    const runner = this.#runners.get(runId);
    if (runner === undefined) throw new Error(`No run ${runId} was planted.`);
    for (;;) {
      const { next } = await runner.advance(runId, { turns: 10 });
      if (next !== "now") return;
    }
  }

  async #start(runId: string, pipeline: WiredStep, input: Json): Promise<string[]> {
    const text = this.#text;
    const runner = this.#runner(runId, pipeline);
    await runner.enqueue(input, {
      runId,
      startedBy: { by: text },
      queue: text,
      concurrencyKey: text,
      address: `${runId} ${text}`,
      metadata: { customer: text, [text]: [text, text] },
      context: objectOf(text),
    });
    await this.work(runId);
    return (await this.#store.listWaits(runId, { open: true })).map(({ waitId }) => waitId);
  }

  #runner(runId: string, pipeline: WiredStep): Runner {
    const runner = new Runner(pipeline, { store: this.#store, workspaceRoot: this.#workspaceRoot });
    this.#runners.set(runId, runner);
    return runner;
  }

  #agent(script: Parameters<typeof scriptedModel>[0]) {
    const text = this.#text;
    const model = scriptedModel(script, { modelId: text, provider: text });
    const named = { inputSchema: z.record(z.string(), z.unknown()), description: text, namespace: text };
    const look = tool({
      ...named,
      effect: "external",
      execute: async (_, call) => {
        await call.correlate(text);
        return this.#result;
      },
    });
    const broken = tool({
      ...named,
      effect: "external",
      execute: (): Json => {
        throw new Error(text);
      },
    });
    const pay = tool({ ...named, effect: "external", approval: true, execute: () => this.#result });
    const tools: Record<string, Tool> = { look, break: broken, pay, ask_human: askHuman };
    return agent({ name: asStepName(text), instructions: text, model, tools });
  }
}
