// A server without HTTP: its handlers over a store, called as the HTTP side calls them.

import { expect } from "vitest";
import { z } from "zod";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { systemClock } from "../../../src/engine/ports/system-clock.ts";
import { agent, type Clock, conversation, Runner, type Store, tool } from "../../../src/index.ts";
import { OPERATIONS, type OperationId } from "../../../src/server/api/operations.ts";
import { type Route, routes } from "../../../src/server/api/routes.ts";
import { makeHandlers, type RunOperation } from "../../../src/server/handlers/make-handlers.ts";
import { heldResponse } from "../../../src/server/http/held-response.ts";
import type { AccessScope, Principal } from "../../../src/server/principal.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

export const ACME: AccessScope = { pipelines: null, labels: { tenant: "acme" } };
export const OTHER: AccessScope = { pipelines: null, labels: { tenant: "other" } };

export function principal(over: Partial<Principal> = {}): Principal {
  return {
    name: "ann",
    id: "token-1",
    role: "admin",
    scope: EVERYTHING,
    source: "token",
    expiresAt: null,
    ...over,
  };
}

/** What a request has, before it is checked. */
export type Asked = {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly body?: unknown;
  readonly as?: Principal;
};

export type Answered = {
  readonly status: number;
  readonly body: ReturnType<typeof JSON.parse>;
  readonly response: Response | null;
};

type HandlerResult = Response | { readonly status: number; readonly body: unknown };
type ResponseWithActs = { readonly response: Response };

export const RUN_OPERATIONS = (Object.keys(OPERATIONS) as OperationId[]).filter(
  (id): id is RunOperation => OPERATIONS[id].path.startsWith("/v1/") && !isOfRequests(id),
);

function isOfRequests(id: OperationId): boolean {
  return /^\/v1\/(session|me|tokens|webhooks|audit)/.test(OPERATIONS[id].path);
}

/** A clerk that finds an order, and refunds it if a person approves; and one to talk with. */
function clerks(store: Store) {
  const refunds: string[] = [];
  const find = tool({
    name: "find",
    description: "Finds an order.",
    inputSchema: z.object({ order: z.string() }),
    effect: "read_only",
    execute: ({ order }) => ({ order, notes: "x".repeat(300_000) }),
  });
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string() }),
    effect: "external",
    approval: true,
    execute: ({ order }) => {
      refunds.push(order);
      return { refunded: order };
    },
  });
  const model = scriptedModel([
    { text: "I look it up.", toolCalls: [{ name: "find", input: { order: "7" } }] },
    { text: "I refund it.", toolCalls: [{ name: "refund", input: { order: "7" } }] },
    { text: "It is refunded." },
  ]);
  const clerk = agent({ name: "clerk", instructions: "Help.", model, tools: { find, refund } });
  const talker = agent({
    name: "talk",
    instructions: "Talk.",
    model: scriptedModel(() => ({ text: "Hello." })),
  });
  const runner = new Runner(clerk, { store });
  const talk = new Runner(conversation(talker), { store });
  const pipelines = new Map<string, Runner>([
    ["clerk", runner],
    ["talk", talk],
  ]);
  return { refunds, runner, talk, pipelines };
}

export function serverWorld(store: Store, clock: Clock = systemClock) {
  const { refunds, runner, talk, pipelines } = clerks(store);
  const closing = new AbortController();
  const handlers = makeHandlers({
    store,
    pipelines,
    clock,
    version: "1.0.0",
    instance: "server-1",
    storeName: "pawl.db",
    workFolders: () => [],
    hasWorker: false,
    isReadOnly: false,
    openStreams: () => 0,
  });

  /** What a handler answers, without a look at the schema: chats have problems of their own. */
  const answer = async (id: RunOperation, asked: Asked = {}): Promise<HandlerResult> => {
    const route: Route & { readonly method: string } = routes[id];
    const input = {
      params: asked.params ?? {},
      query: route.query?.parse(asked.query ?? {}),
      headers: route.headers?.parse(asked.headers ?? {}),
      body: route.body?.parse(asked.body),
    };
    const request = new Request("http://127.0.0.1/v1", {
      method: route.method,
      headers: asked.headers ?? {},
    });
    const context = { principal: asked.as ?? principal(), request, requestId: "request-1" };
    const handler = handlers[id] as (
      input: unknown,
      context: unknown,
    ) => Promise<HandlerResult | ResponseWithActs>;
    const given = await handler(input, context);
    return "response" in given ? given.response : given;
  };

  const call = async (id: RunOperation, asked: Asked = {}): Promise<Answered> => {
    const result = await answer(id, asked);
    const described = (routes[id] as Route).answers[result.status];
    expect(described, `${id} may answer ${result.status}`).toBeDefined();
    if (result instanceof Response) {
      const response = heldResponse(result, { until: [closing.signal], release: () => undefined });
      return { status: result.status, body: null, response };
    }
    const body = JSON.parse(JSON.stringify(result.body));
    if (described instanceof z.ZodType) expect(described.parse(body), `the answer of ${id}`).toEqual(body);
    return { status: result.status, body, response: null };
  };

  /** Works on a run until it waits or has ended. */
  const work = async (runId: string, own: Pick<Runner, "advance"> = runner) => {
    for (;;) {
      const { next } = await own.advance(runId, { turns: 10 });
      if (next !== "now") return next;
    }
  };
  return { store, handlers, closing, answer, call, work, refunds, runner, talk };
}

export type ServerWorld = ReturnType<typeof serverWorld>;
