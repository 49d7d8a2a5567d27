// The cases of operations about many runs, the house they are in, and chats.

import { expect } from "vitest";
import type { RunOperation } from "../../../src/server/handlers/make-handlers.ts";
import { ACME_OPERATOR, failCall, failRun, type SampleWorld } from "./sample-world.ts";
import type { Answered } from "./server-world.ts";

const CLERK = { params: { runId: "clerk-1" } };

export const houseAnswerCases = {
  compareRuns: async (world) => {
    await world.call("forkRun", { ...CLERK, body: { atTurn: 1, runId: "fork-1" } });
    const answer = await world.call("compareRuns", { query: { a: "clerk-1", b: "fork-1" } });
    expect(answer.body).toMatchObject({ samePrefix: 1, hasSameInput: true });
    return answer;
  },
  getSpend: async ({ call }) => {
    const answer = await call("getSpend", { query: { by: "pipeline" } });
    expect(answer.body.total.tokens).toBeGreaterThan(0);
    return answer;
  },
  listErrors: async (world) => {
    await failRun(world, "running");
    const answer = await world.call("listErrors");
    const { since, bucketMs, asOf, items } = answer.body;
    expect(24 * bucketMs).toBeGreaterThan(Date.parse(asOf) - Date.parse(since));
    const buckets = [{ at: new Date(Date.parse(since) + 23 * bucketMs).toISOString(), count: 1 }];
    expect(items).toMatchObject([{ code: "broken", count: 1, newestRunId: "report-1", buckets }]);
    return answer;
  },
  listToolErrors: async (world) => {
    await failCall(world);
    const answer = await world.call("listToolErrors");
    expect(answer.body.items).toEqual([{ tool: "search", runs: 1 }]);
    const of = async (toolError: string) =>
      (await world.call("listRuns", { query: { toolError } })).body.items;
    const found = [{ runId: "report-1", failedCalls: 1 }];
    expect([await of("*"), await of("search"), await of("send")]).toMatchObject([found, found, []]);
    return answer;
  },
  listPipelines: async ({ call }) => {
    const answer = await call("listPipelines");
    expect(answer.body.items).toEqual([
      { name: "clerk", isKnown: true, isConversation: false },
      { name: "report", isKnown: false, isConversation: false },
      { name: "talk", isKnown: true, isConversation: true },
    ]);
    return answer;
  },
  getActivity: async ({ call }) => {
    const answer = await call("getActivity");
    expect(answer.body).toMatchObject({ held: [{ runId: "report-1", isInterrupted: true }] });
    const scoped = await call("getActivity", { as: ACME_OPERATOR });
    expect({ ...scoped.body, asOf: "" }).toMatchObject({
      held: [{ runId: "report-1" }],
      sleeping: [{ sleeping: 1 }],
      waits: [
        { kind: "approval", open: 1 },
        { kind: "message", open: 1 },
      ],
    });
    return answer;
  },
  listWorkers: ({ call }) => notEmpty(call("listWorkers")),
  listSchedules: ({ call }) => notEmpty(call("listSchedules")),
  listFirings: async ({ call }) => {
    await call("fireSchedule", { params: { name: "nightly" } });
    return notEmpty(call("listFirings", { params: { name: "nightly" } }));
  },
  pauseSchedule: async ({ call }) => {
    const answer = await call("pauseSchedule", { params: { name: "nightly" } });
    expect((await call("listSchedules")).body.items).toMatchObject([{ pausedBy: "ann" }]);
    return answer;
  },
  resumeSchedule: ({ call }) => call("resumeSchedule", { params: { name: "nightly" } }),
  fireSchedule: async ({ call }) => {
    const answer = await call("fireSchedule", { params: { name: "nightly" } });
    expect(answer.body).toMatchObject({ outcome: "started" });
    return answer;
  },
  getServer: ({ call }) => call("getServer"),
  getDoctor: async ({ call }) => {
    const both = await Promise.allSettled([call("getDoctor"), call("getDoctor")]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const answer = await call("getDoctor");
    expect(answer.body.checks).toContainEqual(expect.objectContaining({ name: "leases", status: "warn" }));
    return answer;
  },
  checkIntegrity: async ({ call }) => {
    const answer = await call("checkIntegrity");
    expect(answer.body.problems).toEqual([]);
    return answer;
  },
  stream: async ({ call }) => {
    const answer = await call("stream");
    await answer.response?.body?.cancel();
    return answer;
  },
  chat: async ({ call }) => {
    const message = { id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const answer = await call("chat", {
      params: { pipeline: "talk" },
      body: { id: "c-1", messages: [message], trigger: "submit-message" },
    });
    await answer.response?.body?.cancel();
    return answer;
  },
  streamChat: ({ call }) => call("streamChat", { params: { pipeline: "talk", chatId: "c-none" } }),
  listChatMessages: async (world) => {
    await chatted(world);
    return world.call("listChatMessages", { params: { pipeline: "talk", chatId: "c-1" } });
  },
  sendChatMessage: (world) => chatted(world),
  stopChat: async (world) => {
    await chatted(world);
    return world.call("stopChat", { params: { pipeline: "talk", chatId: "c-1" } });
  },
} satisfies { readonly [Id in RunOperation]?: (world: SampleWorld) => Promise<Answered | undefined> };

function chatted({ call }: SampleWorld): Promise<Answered> {
  const body = { id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] };
  return call("sendChatMessage", { params: { pipeline: "talk", chatId: "c-1" }, body });
}
export async function notEmpty(answer: Promise<Answered>): Promise<Answered> {
  const { body } = await answer;
  expect(body.items).not.toHaveLength(0);
  return answer;
}
