// A request that is longer than the model's context: what the error advises works.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, ModelCallError, Runner, Step, type Store, tool } from "../../../src/index.ts";
import {
  answer,
  type Behaviour,
  FakeOpenAiServer,
  refusal,
} from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

/** The longest request that the model takes, in characters. */
const CONTEXT = 20_000;

let server: FakeOpenAiServer;
let store: Store;
beforeEach(async () => {
  server = await FakeOpenAiServer.start();
  store = await memoryStore();
});
afterEach(() => server.close());

const unlessTooLong = (then: Behaviour): Behaviour => ({
  kind: "choose",
  choose: ({ body }) =>
    JSON.stringify(body.messages).length > CONTEXT
      ? refusal(400, "This model's maximum context length is 5000 tokens.")
      : then,
});

const read = (page: number) =>
  unlessTooLong(answer({ text: "", toolCalls: [{ name: "read", arguments: { page } }] }));

/** A run of an agent that reads pages of this length. */
function reading(length: number, options: { maxResultTokens?: number; historyMaxTokens?: number } = {}) {
  const page = tool({
    name: "read",
    description: "Reads a page.",
    inputSchema: z.object({ page: z.number() }),
    effect: "read_only",
    execute: () => "word ".repeat(length / 5),
  });
  const reader = agent({ name: "reader", model: openAiModel(server.baseUrl), tools: { read: page } });
  return new Runner(Step.granular("reader", reader, options), { store });
}

describe("a request that is too long", () => {
  it("because of a long result is accepted after a resume with a lower maxResultTokens", async () => {
    server.next(read(1), unlessTooLong(answer("Done.")), unlessTooLong(answer("Done.")));
    const error = await failureAs(ModelCallError, reading(50_000).run("Go", { runId: "r-1" }));
    expect(error.message).toContain("lower maxResultTokens of the agent or its step");
    expect((await reading(50_000, { maxResultTokens: 500 }).resume("r-1")).output).toBe("Done.");
  });

  it("because of a long conversation is accepted with a lower historyMaxTokens", async () => {
    server.next(read(1), read(2), read(3), read(4), unlessTooLong(answer("Done.")));
    const error = await failureAs(ModelCallError, reading(6_000).run("Go", { runId: "r-1" }));
    expect(error.message).toContain("lower historyMaxTokens of its step (Step.granular)");
    server.replaceScript(unlessTooLong(answer("Done.")));
    const acceptDivergence = "The model has a short context.";
    const shorter = reading(6_000, { historyMaxTokens: 3_000 });
    expect((await shorter.resume("r-1", { acceptDivergence })).output).toBe("Done.");
  });
});
