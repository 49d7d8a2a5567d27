import { jsonSchema, tool, zodSchema } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdkToolSchema } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { canonicalJson } from "../../../src/core/canonical-json.ts";

const mail = z.object({ to: z.email(), urgent: z.boolean().default(false) });

describe("the input of an AI SDK tool", () => {
  it.each([
    ["zod", mail],
    ["zod, wrapped by the SDK", zodSchema(mail)],
    ["a lazy schema", () => zodSchema(mail)],
  ])("may be written in %s", async (_name, schema) => {
    const { inputSchema, validate } = await aiSdkToolSchema(tool({ inputSchema: schema }));

    expect(inputSchema).toMatchObject({ type: "object", required: ["to"], additionalProperties: false });
    expect(() => canonicalJson(inputSchema)).not.toThrow();
    expect(await validate({ to: "ann@x.org" })).toEqual({
      ok: true,
      value: { to: "ann@x.org", urgent: false },
    });
    expect(await validate({ to: "ann", urgent: 3 })).toEqual({
      ok: false,
      error: expect.stringMatching(/^The arguments do not fit the schema: to: .+; urgent: .+/),
    });
  });

  it("may be a JSON Schema, with or without its own validation", async () => {
    const plain = await aiSdkToolSchema({ inputSchema: jsonSchema({ type: "object" }) });
    expect(plain.inputSchema).toEqual({ type: "object" });
    expect(await plain.validate({ any: "thing" })).toEqual({ ok: true, value: { any: "thing" } });

    const strict = jsonSchema(async () => ({ type: "object" as const }), {
      validate: () => ({ success: false, error: new Error("never good enough") }),
    });
    expect(await (await aiSdkToolSchema({ inputSchema: strict })).validate({})).toEqual({
      ok: false,
      error: "The arguments do not fit the schema: never good enough",
    });
  });

  it("may be checked asynchronously", async () => {
    const free = z.object({ name: z.string().refine(async (name) => name !== "taken", "is taken") });
    const { validate } = await aiSdkToolSchema({ inputSchema: free });
    expect(await validate({ name: "taken" })).toEqual({
      ok: false,
      error: "The arguments do not fit the schema: name: is taken",
    });
  });

  it("is refused if the schema's output cannot be stored", async () => {
    const { validate } = await aiSdkToolSchema({
      inputSchema: z.object({ on: z.string().transform((s) => new Date(s)) }),
    });
    await expect(validate({ on: "2030-01-01" })).rejects.toThrow("$.on is a Date");
  });
});
