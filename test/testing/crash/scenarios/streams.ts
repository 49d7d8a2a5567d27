// Answers that are written piece by piece, while viewers in other processes watch.

import { aiSdkModel } from "../../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import { type Script, scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";
import {
  conversationInterrupt,
  conversationQueue,
  conversationSteer,
  conversationStop,
} from "./conversations.ts";
import { asks, charge, errandAgent, lookUp, STAND_INS } from "./errand-tools.ts";
import { type ProviderStream, providerStreams, streamed } from "./streamed-answers.ts";

const VIEWERS = 3;

function streaming(name: string, script: Script): Scenario {
  const port = scriptedPort(script);
  const tools = { charge, look_up: lookUp };
  return {
    name,
    pipeline: errandAgent(script, tools, undefined, { ...port, streams: true }),
    input: "Go.",
    model: streamed(port),
    tools: STAND_INS,
    viewers: VIEWERS,
    runner: { live: true },
  };
}

/** One answer in several pieces. */
export function streamAnswer(): Scenario {
  return streaming("stream-answer", [{ text: "All of it is done." }]);
}

/**
 * The provider does not notice that it is to stop. A worker that wakes after it has lost the run is given more of the
 * answer, and writes it beside that of its successor.
 */
export function streamDeaf(): Scenario {
  const script = [{ text: "This is said word by word to the end." }];
  return { ...streaming("stream-deaf", script), model: streamed(scriptedPort(script), { isDeaf: true }) };
}

/** It streams because somebody watches, and not because it always does. */
export function streamWatched(): Scenario {
  const { runner: _, ...scenario } = streaming("stream-watched", [
    { text: "First a look.", ...asks(["look_up", "a"]) },
    { text: "That is all." },
  ]);
  return scenario;
}

/** Answers with texts and calls, each in several pieces. */
export function streamTools(): Scenario {
  return streaming("stream-tools", [
    { text: "I charge first.", ...asks(["charge", "a"]) },
    { text: "Now I look.", ...asks(["look_up", "a"]) },
    { text: "Both are done." },
  ]);
}

/**
 * The first stream of each turn breaks off, after another text than that of the next: at first without the provider's end,
 * and then with an error. The adapter of the AI SDK reads them.
 */
export function streamCut(): Scenario {
  const answers = [{ text: "I charge now.", ...asks(["charge", "a"]) }, { text: "It is done." }];
  const streamOf = (turn: number, attempt: number): ProviderStream => {
    const response = answers[turn - 1] ?? {};
    if (attempt > 1) return { response, end: "finished" };
    return { response: { text: `Half of turn ${turn}, and` }, end: turn === 1 ? "cut" : "error" };
  };
  return {
    name: "stream-cut",
    pipeline: errandAgent([], { charge, look_up: lookUp }, undefined, aiSdkModel(scriptedModel([]))),
    input: "Go.",
    model: providerStreams(streamOf),
    tools: STAND_INS,
    viewers: VIEWERS,
    runner: { live: true },
  };
}

/** Conversations with streamed answers, by name. */
export const WATCHED_CONVERSATIONS: { readonly [name: string]: () => Scenario } = {
  "watched-queue": () => ({ ...conversationQueue(true), name: "watched-queue" }),
  "watched-steer": () => ({ ...conversationSteer(true), name: "watched-steer" }),
  "watched-interrupt": () => ({ ...conversationInterrupt(true), name: "watched-interrupt" }),
  "watched-stop": () => ({ ...conversationStop(true), name: "watched-stop" }),
};
