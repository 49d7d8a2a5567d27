// The code of worker threads in the package. Its copy of zod is not whole: the build leaves out what no thread uses.

import { on } from "node:events";
import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkAnswer } from "../../src/adapters/net/off-thread.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { checkBySchema } from "../../src/core/json-schema-check.ts";
import { packedPackage } from "./packed-project.ts";

let thread: Worker;

beforeAll(async () => {
  const { folder } = await packedPackage();
  const files = globSync(join(folder, "dist/chunks/thread-code-*.js"));
  const texts = await Promise.all(
    files.map(async (file) => Object.values(await import(pathToFileURL(file).href))),
  );
  const [code] = texts.flat();
  if (typeof code !== "string") throw new Error("The package has no code of threads.");
  thread = new Worker(code, { eval: true, env: {}, execArgv: [] });
}, 120_000);

afterAll(() => thread.terminate());

async function checkOnThread(schema: JsonObject, value: Json): Promise<WorkAnswer> {
  const answers = on(thread, "message") as AsyncIterable<readonly [WorkAnswer]>;
  thread.postMessage({ job: "checkBySchema", input: { schema, value } });
  for await (const [answer] of answers) if (answer.kind !== "begun") return answer;
  throw new Error("The thread has ended.");
}

/** What the sources do, in the words of a thread. */
function checkHere(schema: JsonObject, value: Json): WorkAnswer {
  try {
    return { kind: "done", value: checkBySchema(schema, value) };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

const named = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

/** Every kind of schema that zod reads from a JSON Schema, and some that it refuses. */
const SCHEMAS: readonly JsonObject[] = [
  {},
  { type: "string", minLength: 2, maxLength: 3, pattern: "^a+$" },
  ...[
    "email",
    "uri",
    "uuid",
    "date-time",
    "date",
    "time",
    "duration",
    "ipv4",
    "ipv6",
    "base64",
    "unknown",
  ].map((format) => ({ type: "string", format })),
  { type: "number", minimum: 1, exclusiveMaximum: 7, multipleOf: 2 },
  { type: "integer" },
  { type: "boolean" },
  { type: "null" },
  { const: { a: 1 } },
  { enum: ["aaa", 4, null] },
  { type: ["string", "null"], default: "aa" },
  { ...named, additionalProperties: false },
  { ...named, additionalProperties: { type: "number" } },
  { type: "object", properties: { name: { type: "string", default: "aa" } } },
  { type: "object", patternProperties: { "^n": { type: "string" } }, propertyNames: { maxLength: 4 } },
  { type: "array", items: { type: "number" }, minItems: 1, maxItems: 2, uniqueItems: true },
  { type: "array", prefixItems: [{ type: "number" }, { type: "string" }], items: false },
  { anyOf: [{ type: "string" }, named] },
  { oneOf: [{ type: "number" }, { type: "integer" }] },
  { allOf: [named, { type: "object", properties: { name: { maxLength: 2 } } }] },
  { not: {} },
  { not: { type: "string" } },
  { $ref: "#/$defs/tree", $defs: { tree: { ...named, properties: { tree: { $ref: "#/$defs/tree" } } } } },
  { if: { type: "string" }, else: { type: "number" } },
  { type: "nothing" },
];

const VALUES: readonly Json[] = [
  ...[
    "aa",
    "",
    "aaaaaaaa",
    "a@example.com",
    "https://example.com/",
    "2026-01-01",
    "2026-01-01T10:00:00Z",
    "10.0.0.1",
  ],
  ...[0, 4, 5.5, true, null, [], [1], [1, "a"], [1, 1], [1, 2, 3]],
  ...[{}, { a: 1 }, { name: "aa" }, { name: "aaa", tree: { name: 1 } }, { name: "aa", more: "aa" }],
];

describe("the code of threads", () => {
  it("checks values against every kind of schema as the sources do", async () => {
    const outcomes = new Set<string>();
    for (const schema of SCHEMAS)
      for (const value of VALUES) {
        const here = checkHere(schema, value);
        outcomes.add(here.kind === "done" && (here.value as { ok: boolean }).ok ? "fits" : here.kind);
        expect([schema, value, await checkOnThread(schema, value)]).toEqual([schema, value, here]);
      }
    expect([...outcomes].sort()).toEqual(["done", "failed", "fits"]);
  });
});
