// Conversations: people write while the agent works, waits or has nothing to do.

import { ModelCallError } from "../../../../src/core/errors.ts";
import { readUserMessage } from "../../../../src/core/run/sent-message.ts";
import { conversationStep } from "../../../../src/engine/definition/conversation-step.ts";
import type { RunResult } from "../../../../src/engine/ports/run-result.ts";
import type { MessageMode, NewMessage } from "../../../../src/store/store.ts";
import {
  type ExecuteStandIn,
  modelStandIn,
  type ProcessTools,
  RUN_ID,
  type Scenario,
  sleepUntilDue,
} from "../../../../src/testing/crash/scenario.ts";
import type { Script, ScriptedTurn } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, charge, errandAgent, lookUp, STAND_INS } from "./errand-tools.ts";
import { say, streamed } from "./streamed-answers.ts";

const HOUR_MS = 3_600_000;

function text(id: string, mode: MessageMode = "queue", by = "ann"): NewMessage {
  return { id, event: null, body: `Text ${id}.`, mode, by: { by } };
}

/** The last thing that a user has said, and how many answers have come since. */
function lastSaid({ options: { prompt } }: ScriptedTurn): { readonly said: string; readonly turn: number } {
  const at = prompt.findLastIndex(({ role }) => role === "user");
  const said = JSON.stringify(prompt[at]?.content ?? "");
  return { said, turn: prompt.slice(at).filter(({ role }) => role === "assistant").length + 1 };
}

/** Charges for what was said first, and answers then. */
const charging: Script = (turn) => {
  const { said, turn: since } = lastSaid(turn);
  const order = /Text (?<id>[a-z]+)/.exec(said)?.groups?.id ?? "input";
  return since === 1 ? asks(["charge", order]) : { text: `Charged for ${order}.` };
};

const TOOLS = { charge, look_up: lookUp };

/** `streams`: its answers are written piece by piece. */
function talking(streams = false, script: Script = charging, options: TalkOptions = {}) {
  const model = { ...scriptedPort(script), streams };
  const agent = errandAgent(script, TOOLS, undefined, model);
  return conversationStep("talk", agent, { closesAfterMs: HOUR_MS, ...options });
}

type TalkOptions = Parameters<typeof conversationStep>[2];

/** What a scenario whose answers are streamed has besides, with three viewers. */
function watched(streams: boolean, script: Script = charging): Partial<Scenario> {
  return streams ? { viewers: 3, runner: { live: true }, model: streamed(scriptedPort(script)) } : {};
}

/** Works until the conversation is over. Each of these texts is sent when it waits and has not got it. */
async function workAndSay(tools: ProcessTools, ...texts: readonly NewMessage[]): Promise<RunResult<unknown>> {
  const { runner, store } = tools;
  let result = await runner.run(null, { runId: RUN_ID, wait: true });
  while (result.status === "waiting") {
    const known = new Set((await store.listMessages(RUN_ID)).map(({ id }) => id));
    const next = texts.find(({ id }) => !known.has(id));
    if (next === undefined) await sleepUntilDue(tools, result.waits);
    else {
      await store.sendMessage(RUN_ID, next);
      await store.sendMessage(RUN_ID, next);
    }
    result = await runner.resume(RUN_ID, { wait: true });
  }
  return result;
}

/** A tool that has its effect, while somebody writes. */
function writing(...texts: readonly NewMessage[]): ExecuteStandIn {
  return async ({ order }: { readonly order: string }, { idempotencyKey }, outside) => {
    for (const each of texts) if (order === "one") await outside.store.sendMessage(RUN_ID, each);
    return `${order}: done with a key of ${idempotencyKey.length} characters`;
  };
}

/** Texts that come while the agent is at work each begin an exchange of their own. */
export function conversationQueue(streams = false): Scenario {
  return {
    name: "conversation-queue",
    pipeline: talking(streams),
    ...watched(streams),
    input: null,
    tools: { ...STAND_INS, charge: writing(text("two"), text("three")) },
    act: (tools) => workAndSay(tools, text("one")),
  };
}

/** A text that comes while a tool is at work is taken by the next turn of the same exchange. */
export function conversationSteer(streams = false): Scenario {
  return {
    name: "conversation-steer",
    pipeline: talking(streams),
    ...watched(streams),
    input: null,
    tools: { ...STAND_INS, charge: writing(text("two", "steer")) },
    act: (tools) => workAndSay(tools, text("one"), text("three")),
  };
}

function withFiles(id: string, mode: MessageMode, ...files: readonly string[]): NewMessage {
  const sent = readUserMessage({
    parts: [
      { type: "text", text: `Text ${id}.` },
      ...files.map((content) => ({
        type: "file",
        mediaType: "image/png",
        data: Buffer.from(content.repeat(40)),
        filename: `${content}.png`,
      })),
    ],
  });
  return { ...text(id, mode), ...sent };
}

/** Pictures come with the first text, and with one that joins it. The same picture twice is one blob. */
export function conversationFiles(): Scenario {
  return {
    name: "conversation-files",
    pipeline: talking(),
    input: null,
    tools: { ...STAND_INS, charge: writing(withFiles("two", "steer", "cat", "dog")) },
    act: async (tools) => {
      const result = await workAndSay(tools, withFiles("one", "queue", "cat", "cat"), text("three"));
      // No blob is old enough to be collected.
      await tools.store.collectBlobs({ olderThanMs: 24 * HOUR_MS, maxBytes: 1_000_000 });
      return result;
    },
  };
}

/** The model refuses the first text: it answers the next ones, without it. */
export function conversationRefused(): Scenario {
  const answer = modelStandIn(scriptedPort(charging));
  return {
    name: "conversation-refused",
    pipeline: talking(),
    input: null,
    model: (request, place, outside) => {
      if (!JSON.stringify(request.messages).includes("Text one.")) return answer(request, place, outside);
      throw new ModelCallError("The model refuses what was said.", {
        kind: "rejected",
        status: 400,
        retryAfterMs: null,
        retryable: false,
      });
    },
    tools: STAND_INS,
    act: (tools) => workAndSay(tools, text("one"), text("two"), text("three")),
  };
}

/** Two people write at once: each has an exchange of their own. */
export function conversationTwoSenders(): Scenario {
  return {
    name: "conversation-two-senders",
    pipeline: talking(),
    input: null,
    tools: {
      ...STAND_INS,
      charge: writing(text("two", "steer", "ben"), text("three", "steer"), text("four", "interrupt", "ben")),
    },
    act: (tools) => workAndSay(tools, text("one")),
  };
}

/** The model takes its time, and a text interrupts it: the same turn is asked again with it. */
export function conversationInterrupt(streams = false): Scenario {
  const scenario: Scenario = {
    name: "conversation-interrupt",
    pipeline: talking(streams, (turn) => ({ text: `Heard: ${lastSaid(turn).said}` })),
    ...watched(streams),
    input: null,
    tools: STAND_INS,
    model: async (request, { turnIndex }, outside, live) => {
      const heard = request.messages.flatMap(({ role, content }) =>
        role === "user" && typeof content === "string" ? [content] : [],
      );
      const isFirst = turnIndex === 1 && !heard.join().includes("Text two.");
      if (isFirst) {
        if (streams) await say("Let me see, ", request, outside, live);
        await outside.store.sendMessage(RUN_ID, text("two", "interrupt"));
        await outside.take(60_000, request.signal);
      }
      const answer = `Heard ${heard.length}: ${heard.at(-1)}`;
      if (streams) await say(answer, request, outside, live);
      if (streams) outside.finish(answer);
      return {
        content: [{ type: "text", text: answer }],
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 },
        invalidCalls: {},
        responseId: null,
      };
    },
    act: (tools) => workAndSay(tools, text("one"), text("three")),
  };
  return scenario;
}

/** A person stops the exchange while a tool is at work; the next text is answered. */
export function conversationStop(streams = false): Scenario {
  const stopping: ExecuteStandIn = async (
    { order }: { readonly order: string },
    { idempotencyKey },
    outside,
  ) => {
    if (order === "one") await outside.store.requestStop(RUN_ID, { by: "ben" });
    return `${order}: done with a key of ${idempotencyKey.length} characters`;
  };
  return {
    name: "conversation-stop",
    pipeline: talking(streams),
    ...watched(streams),
    input: null,
    tools: { ...STAND_INS, charge: stopping },
    act: (tools) => workAndSay(tools, text("one"), text("two")),
  };
}

/** It begins with an input, is idle for hours, and closes when nobody writes. */
export function conversationIdle(): Scenario {
  return {
    name: "conversation-idle",
    pipeline: talking(false, charging, { maxTurns: 1 }),
    input: "Text input.",
    tools: STAND_INS,
    act: async (tools) => {
      const { runner, store } = tools;
      let result = await runner.run("Text input.", { runId: RUN_ID, wait: true });
      while (result.status === "waiting") {
        const known = (await store.listMessages(RUN_ID)).length;
        if (known === 0) await store.sendMessage(RUN_ID, text("one"));
        else await sleepUntilDue(tools, result.waits);
        result = await runner.resume(RUN_ID, { wait: true });
      }
      return result;
    },
  };
}

/** Between two exchanges another version of the agent is deployed. */
export function conversationDeploy(): Scenario {
  const other = conversationStep("talk", errandAgent(charging, TOOLS, "Run the errands fast."), {
    closesAfterMs: HOUR_MS,
  });
  return {
    name: "conversation-deploy",
    pipeline: talking(),
    input: null,
    tools: STAND_INS,
    act: async (tools) => {
      const exchanges = async () =>
        (await tools.store.getRun(RUN_ID)) === null ? [] : tools.store.listExchanges(RUN_ID);
      const hasAnswered = (await exchanges()).some(({ outcome }) => outcome === "complete");
      if (!hasAnswered) {
        let result = await tools.runner.run(null, { runId: RUN_ID, wait: true });
        while ((await exchanges()).every(({ outcome }) => outcome !== "complete")) {
          await tools.store.sendMessage(RUN_ID, text("one"));
          result = await tools.runner.resume(RUN_ID, { wait: true });
        }
        void result;
      }
      return workAndSay({ ...tools, runner: tools.runnerOf(other) }, text("one"), text("two"));
    },
  };
}

/** Names what was charged for, by the conversation in the request or by the summary before it. */
const summarizing: Script = (turn) => {
  const [system] = turn.options.prompt;
  if (!JSON.stringify(system?.content ?? "").includes("summarize"))
    return typeof charging === "function" ? charging(turn) : { text: "" };
  const orders = [...lastSaid(turn).said.matchAll(/charged for (?<order>[a-z]+)/gi)];
  return {
    text: `We charged for ${[...new Set(orders.map(({ groups }) => groups?.order))].join(", charged for ")}.`,
  };
};

/** The history is replaced by a summary before each exchange but the first. */
export function conversationCompaction(): Scenario {
  return {
    name: "conversation-compaction",
    pipeline: talking(false, summarizing, { compaction: { atTokens: 60 } }),
    input: null,
    tools: STAND_INS,
    act: (tools) => workAndSay(tools, text("one"), text("two"), text("three")),
  };
}

/** The step goes back to its beginning while an exchange waits for a person: its messages wait again. */
export function conversationMilestone(): Scenario {
  const agent = errandAgent(
    (turn) => {
      const { said, turn: since } = lastSaid(turn);
      if (since === 1 && said.includes("Text one")) return asks(["charge", "one"]);
      return { text: `Heard: ${said}` };
    },
    { charge: { ...charge, approval: true } },
  );
  return {
    name: "conversation-milestone",
    pipeline: conversationStep("talk", agent, { closesAfterMs: HOUR_MS }),
    input: null,
    tools: STAND_INS,
    act: async (tools) => {
      const { runner, store, answer } = tools;
      let result = await runner.run(null, { runId: RUN_ID, wait: true });
      while (result.status === "waiting") {
        const known = new Set((await store.listMessages(RUN_ID)).map(({ id }) => id));
        const hasGoneBack = (await store.listLineages(RUN_ID)).length > 0;
        const isAsking = result.waits.some(({ kind }) => kind === "approval");
        if (isAsking && !hasGoneBack) {
          result = await runner.resume(RUN_ID, { wait: true, from: "beginning" });
          continue;
        }
        if (isAsking) await answer(result.waits);
        else if (!known.has("one")) await store.sendMessage(RUN_ID, text("one"));
        else await sleepUntilDue(tools, result.waits);
        result = await runner.resume(RUN_ID, { wait: true });
      }
      return result;
    },
  };
}
