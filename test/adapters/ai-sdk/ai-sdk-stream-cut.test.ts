// The packages of real providers against a server whose connection breaks at every byte of a streamed answer: the result
// is the whole answer or a failed call, and never a part of the answer.

import { describe, expect, it, onTestFinished } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { ModelCallError } from "../../../src/core/errors.ts";
import type { LivePart } from "../../../src/core/turn/live-part.ts";
import type { ModelPort, ModelResponse } from "../../../src/engine/ports/model-port.ts";
import { sampled } from "../../full-test.ts";
import { type ConnectionEnd, CuttingServer } from "./cutting-server.ts";
import { requestOf, sendMail } from "./model-request.ts";
import { REASONED, RECORDED, type RecordedStream, SAID } from "./recorded-streams.ts";

type Cut = { readonly bytes: number; readonly by: ConnectionEnd };

/** A server of this answer, and a model for each cut: its number is in the address. */
async function cutting({ body, modelAt }: RecordedStream): Promise<(cut: Cut) => ModelPort> {
  const server = await CuttingServer.start(Buffer.from(body), (path) => {
    const [, by = "end", bytes = "0"] = path.split("/");
    return { by: by === "reset" ? "reset" : "end", bytes: Number(bytes) };
  });
  onTestFinished(() => server.close());
  return ({ bytes, by }) => aiSdkModel(modelAt(`${server.url}/${by}/${bytes}`));
}

type Outcome =
  | { readonly response: ModelResponse; readonly live: readonly LivePart[] }
  | { readonly failure: ModelCallError; readonly live: readonly LivePart[] };

async function outcomeOf(port: ModelPort): Promise<Outcome> {
  const live: LivePart[] = [];
  try {
    const response = await port.respond(requestOf({ tools: [sendMail] }), (part) => live.push(part));
    return { response, live };
  } catch (failure) {
    if (failure instanceof ModelCallError) return { failure, live };
    throw failure;
  }
}

const bytesOf = ({ body }: RecordedStream) => Buffer.byteLength(body);
/** The bytes up to the event with which the provider says that the answer is whole. */
const bytesToEnd = ({ body, end }: RecordedStream) => Buffer.byteLength(body.slice(0, body.indexOf(end)));

const textHeard = (live: readonly LivePart[], kind: LivePart["kind"]) =>
  live
    .filter((part) => part.kind === kind)
    .map(({ delta }) => delta)
    .join("");

/** At once: more than a few would wait for each other. */
const AT_ONCE = 8;

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

describe.each(RECORDED)("a streamed answer of $name", (recorded) => {
  it("has its text, its calls and its usage, and all of it is heard", async () => {
    const port = (await cutting(recorded))({ bytes: bytesOf(recorded), by: "end" });
    const outcome = await outcomeOf(port);
    if ("failure" in outcome) throw outcome.failure;
    const { response, live } = outcome;
    const reasoning = { type: "reasoning", text: REASONED };
    expect(response.content).toMatchObject([
      ...(recorded.reasons ? [reasoning] : []),
      { type: "text", text: SAID },
      { type: "tool-call", toolCallId: "call_0", toolName: "send_mail", input: { to: "ann@x.org" } },
      { type: "tool-call", toolCallId: "call_1", toolName: "send_mail", input: { to: "zoë@x.org" } },
    ]);
    expect(response).toMatchObject({
      finishReason: "tool-calls",
      usage: { inputTokens: 20, outputTokens: 9 },
      invalidCalls: {},
    });
    expect(textHeard(live, "text")).toBe(SAID);
    expect(textHeard(live, "reasoning")).toBe(recorded.reasons ? REASONED : "");
    expect(textHeard(live, "tool_input")).toBe('{"to":"ann@x.org"}{"to":"zoë@x.org"}');
  });

  it.each<ConnectionEnd>(["end", "reset"])(
    "is whole or none, wherever the connection breaks (%s)",
    async (by) => {
      const modelFor = await cutting(recorded);
      const whole = await outcomeOf(modelFor({ bytes: bytesOf(recorded), by: "end" }));
      if ("failure" in whole) throw whole.failure;
      const all = Array.from({ length: bytesOf(recorded) + 1 }, (_, bytes) => bytes);
      // More of them where an answer may be taken for whole: around the end, and after it.
      const near = all
        .filter((bytes) => bytes > bytesToEnd(recorded) - 20)
        .filter((_, index, { length }) => index % 7 === (length - 1) % 7);
      const counts = { whole: 0, none: 0, heardInVain: 0 };
      await eachOf([...new Set([...sampled(all, 53), ...near])], async (bytes) => {
        const outcome = await outcomeOf(modelFor({ bytes, by }));
        if ("failure" in outcome) {
          expect(outcome.failure.details.kind).toMatch(/^(no_answer|server_error)$/);
          counts.none++;
          if (outcome.live.length > 0) counts.heardInVain++;
          return;
        }
        counts.whole++;
        expect(bytes).toBeGreaterThan(bytesToEnd(recorded));
        // The figures may come after the end.
        expect({ ...outcome.response, usage: null }).toEqual({ ...whole.response, usage: null });
        expect([null, whole.response.usage]).toContainEqual(outcome.response.usage);
      });
      expect(counts.none).toBeGreaterThan(10);
      expect(counts.heardInVain).toBeGreaterThan(5);
      if (by === "end") expect(counts.whole).toBeGreaterThan(0);
    },
    300_000,
  );
});
