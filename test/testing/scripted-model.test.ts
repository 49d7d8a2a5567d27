import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { aiSdkModel } from "../../src/adapters/ai-sdk/ai-sdk.ts";
import type { RequestMessage as Message } from "../../src/engine/ports/model-port.ts";
import { ModelCallError } from "../../src/index.ts";
import { type Script, scriptedModel } from "../../src/testing/index.ts";
import { requestOf, sendMail } from "../adapters/ai-sdk/model-request.ts";

const respond = (model: ReturnType<typeof scriptedModel>, answers: number, more: object = {}) =>
  aiSdkModel(model).respond(requestOf({ messages: conversation(answers), ...more }));

/** A conversation with this many answers. */
function conversation(answers: number): Message[] {
  const given = Array.from({ length: answers }, (_, i): Message[] => [
    { role: "assistant", content: [{ type: "text", text: `answer ${i + 1}` }] },
    { role: "user", content: "Continue." },
  ]);
  return [{ role: "user", content: "Hello" }, ...given.flat()];
}

describe("a scripted model", () => {
  it("gives the answer that comes next in the conversation, however often it is asked", async () => {
    const model = scriptedModel([{ text: "one" }, { text: "two" }, { text: "three" }]);
    const given = [];
    for (const answers of [2, 0, 1, 1]) given.push((await respond(model, answers)).content);
    expect(given).toMatchObject(["three", "one", "two", "two"].map((text) => [{ text }]));
  });

  it("answers from a function of the turn, which sees the request", async () => {
    const seen: unknown[] = [];
    const script: Script = async ({ turn, options }) => {
      seen.push([turn, options.maxOutputTokens]);
      return { text: `turn ${turn}` };
    };
    expect((await respond(scriptedModel(script), 3)).content).toEqual([{ type: "text", text: "turn 4" }]);
    expect(seen).toEqual([[4, 100]]);
  });

  it("asks for tools, with ids that are the same each time", async () => {
    const toolCalls = [
      { name: "send_mail", input: { to: "ann" } },
      { name: "send_mail", input: { to: "bob" }, id: "own" },
    ];
    const model = scriptedModel([{ text: "first" }, { text: "Sending.", toolCalls }]);
    const [once, again] = [1, 1].map((answers) => respond(model, answers, { tools: [sendMail] }));
    expect(await once).toEqual(await again);
    expect(await once).toMatchObject({
      finishReason: "tool-calls",
      content: [
        { type: "text", text: "Sending." },
        { type: "tool-call", toolCallId: "call-2-1", toolName: "send_mail", input: { to: "ann" } },
        { type: "tool-call", toolCallId: "own", input: { to: "bob" } },
      ],
    });
  });

  it("reports its usage: 15 tokens by default, or none at all", async () => {
    const usage = { inputTokens: 7, outputTokens: 2 };
    const model = scriptedModel([{ text: "a" }, { text: "b", usage }, { text: "c", usage: null }]);
    expect((await respond(model, 0)).usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    expect((await respond(model, 1)).usage).toMatchObject(usage);
    expect((await respond(model, 2)).usage).toBeNull();
  });

  it("writes one line per call to its witness, before it answers or fails", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-witness-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const witness = join(folder, "witness.log");
    const model = scriptedModel([{ text: "one" }], { witness });
    await respond(model, 0);
    await respond(model, 0);
    await expect(respond(model, 1)).rejects.toThrow(ModelCallError);
    expect(readFileSync(witness, "utf8")).toBe("model 1\nmodel 1\nmodel 2\n");
  });

  it("names the turn for which its script has no answer", async () => {
    await expect(respond(scriptedModel([{ text: "one" }]), 1)).rejects.toThrow("no answer for turn 2");
  });

  it("has a default name or the given one, which is part of a run's fingerprint", () => {
    expect(scriptedModel([])).toMatchObject({ provider: "scripted", modelId: "scripted-model" });
    expect(scriptedModel([], { provider: "p", modelId: "m" })).toMatchObject({ provider: "p", modelId: "m" });
  });
});
