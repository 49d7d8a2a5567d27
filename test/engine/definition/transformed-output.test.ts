// An output schema with transforms: its result is stored as JSON, or refused if JSON cannot hold it.

import { expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, Runner } from "../../../src/index.ts";
import { failureAs, memoryStore, scriptedAgent } from "../run-fixture.ts";

class Price {
  readonly amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
  doubled(): number {
    return this.amount * 2;
  }
}

/** The output of a run whose agent answers `{"n":["5"]}`, and whose schema makes this of the 5. */
async function outputOf(transform: (text: string) => unknown): Promise<unknown> {
  const output = z.object({ n: z.array(z.string().transform(transform)) });
  const { agent } = scriptedAgent<unknown>([{ text: '{"n":["5"]}' }], { output });
  return (await new Runner(agent, { store: await memoryStore() }).run("Go")).output;
}

it.each<[string, (text: string) => unknown, unknown]>([
  ["a number", Number, 5],
  ["a date, as its text", () => new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an address, as its text", () => new URL("https://example.com"), "https://example.com/"],
  ["an instance, as its fields", (text) => new Price(Number(text)), { amount: 5 }],
  ["an object, without what is undefined", () => ({ a: undefined, b: 1 }), { b: 1 }],
  ["a text with half a character, replaced", () => "\ud83d", "\ufffd"],
])("a schema may make %s", async (_, transform, stored) => {
  expect(await outputOf(transform)).toStrictEqual({ n: [stored] });
});

it.each<[string, (text: string) => unknown, string]>([
  ["a Map", (text) => new Map([[text, 1]]), "$.n[0] is an instance of Map"],
  ["a Set", (text) => ({ "the set": new Set([text]) }), '$.n[0]["the set"] is an instance of Set'],
  ["bytes", () => new Uint8Array(2), "$.n[0] is an instance of Uint8Array"],
  ["an error", () => new Error("No."), "$.n[0] is an instance of Error"],
  ["a function", () => ({ read: () => 1 }), "$.n[0].read is a function"],
  ["a number that JSON lacks", () => Number.NaN, "$.n[0] is NaN"],
  ["a big number", () => 5n, "BigInt"],
])("a schema that makes %s is refused, with the path", async (_, transform, problem) => {
  const { message } = await failureAs(ConfigurationError, outputOf(transform));
  expect(message).toContain(
    `The output schema of agent worker turns an answer into something that is not JSON (`,
  );
  expect(message).toContain(problem);
  expect(message).toContain("): change its transforms.");
});
