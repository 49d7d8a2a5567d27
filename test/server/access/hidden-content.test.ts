import { describe, expect, it } from "vitest";
import { z } from "zod";
import { shapeOf, WRITTEN_TEXTS, withoutContent } from "../../../src/server/access/hidden-content.ts";
import { documentedSchemas, type Route, routes } from "../../../src/server/api/routes.ts";
import { call } from "../../../src/server/api/schemas/ledger.ts";
import { wait } from "../../../src/server/api/schemas/wait.ts";
import { bearer, testServer } from "../test-server.ts";

const SECRET = "the moon is made of cheese";

/** Texts that are names, ids, hashes, words and versions: nobody writes a sentence into them. */
const OTHER_TEXTS = new Set(
  `a act after answeredBy b before blobId budget by callId calls category code concurrencyKey correlationId createdBy cron
   currentStep deliveryId duplicateOf effect end endStatus entrypoint errorCode event finishReason forkedFrom forks from hash host id
   instance kind messageId name newestRunId nextCursor onDue outcome overlap owner path
   pausedBy people phase pipeline pipelines problems queue queues recovery requestId resumedFrom role row runId runIds scope secret
   sentBy skipped source startedBy status step stepPath stillNeeded storeName target timeZone to tool toolCallId traceParent type
   url version waitId webhookId workerId workerVersion`.split(/\s+/),
);

describe("a document without its contents", () => {
  it("shows that a call happened, and not what it said", () => {
    const shown = withoutContent(call, {
      toolCallId: "q/a#1.1",
      tool: "send_email",
      status: "succeeded",
      turnIndex: 1,
      request: { to: SECRET, tries: 3 },
      receipt: { status: "succeeded", output: [SECRET, 1], errorCode: null, source: "tool" },
      identityHash: "0123456789abcdef",
      undocumented: SECRET,
    });
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(shown).toEqual({
      toolCallId: "q/a#1.1",
      tool: "send_email",
      status: "succeeded",
      turnIndex: 1,
      request: `(hidden: an object of 2 fields, ${JSON.stringify({ to: SECRET, tries: 3 }).length} characters)`,
      receipt: {
        status: "succeeded",
        output: [shapeOf(SECRET), "(hidden: a number)"],
        errorCode: null,
        source: "tool",
      },
      // It would confirm a guess.
      identityHash: shapeOf("0123456789abcdef"),
    });
  });

  it("hides texts by their field, and what is described in the schema", () => {
    const shown = withoutContent(wait, {
      question: SECRET,
      choices: [SECRET],
      subject: SECRET,
      tool: "pay",
      answer: null,
    });
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(shown).toMatchObject({ tool: "pay", answer: null });
  });

  it("has every text of the API in one of two lists: those that are written, and names", () => {
    const names = new Set(
      schemas().flatMap((schema) => textNames(z.toJSONSchema(schema, { unrepresentable: "any" }))),
    );
    expect(names.size).toBeGreaterThan(60);
    const unsorted = [...names].filter((name) => !WRITTEN_TEXTS.has(name) && !OTHER_TEXTS.has(name));
    expect(unsorted).toEqual([]);
  });
});

describe("a server that hides contents from viewers", () => {
  const hidesContent = ({ role }: { readonly role: string }) => role === "viewer";
  const state = { status: 200 as const, body: { problems: [], checkedAt: "2026-01-01T00:00:00.000Z" } };

  it("sends them no bytes, and streams without texts", async () => {
    const log = {
      runId: "q",
      seq: 1,
      at: "2026-01-01T00:00:00.000Z",
      type: "turn.journaled",
      facts: { text: SECRET },
      hash: "ab",
    };
    const watched = {
      type: "turn.committed",
      runId: "q",
      at: 7,
      text: SECRET,
      content: [{ type: "text", text: SECRET }],
    };
    const stream = (name: string, data: unknown) =>
      new Response(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    const server = testServer({
      hidesContent,
      handlers: {
        getArtifact: async () => new Response(SECRET),
        stream: async () => stream("log", log),
        watchRun: async () => stream("turn.committed", watched),
        checkIntegrity: async () => state,
      },
    });
    const [viewer, operator] = [bearer(await server.token("viewer")), bearer(await server.token("operator"))];
    const text = async (path: string, headers: Record<string, string>) =>
      (await server.request(path, { headers })).text();
    expect((await server.request("/v1/runs/q/artifacts/a", { headers: viewer })).status).toBe(403);
    for (const path of ["/v1/runs/q/artifacts/a", "/v1/stream", "/v1/runs/q/watch"]) {
      expect(await text(path, viewer)).not.toContain(SECRET);
      expect(await text(path, operator)).toContain(SECRET);
    }
    expect(await text("/v1/stream", viewer)).toContain('"seq":1');
    expect(await text("/v1/runs/q/watch", viewer)).toContain('"type":"turn.committed"');
  });
});

function schemas(): readonly z.ZodType[] {
  const answers = Object.values(routes as { readonly [id: string]: Route }).flatMap((route) =>
    Object.values(route.answers),
  );
  return [...answers.filter((answer) => typeof answer !== "string"), documentedSchemas.liveEvent];
}

type JsonSchema = { readonly [name: string]: unknown };

/** The names of the fields that are plain texts, or lists of them. */
function textNames(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { readonly properties?: { readonly [name: string]: JsonSchema } };
  const own = Object.entries(properties).filter(([, field]) => isText(field));
  return [...own.map(([name]) => name), ...Object.values(schema).flatMap(textNames)];
}

function isText(field: JsonSchema): boolean {
  const { type, format, items, anyOf } = field as {
    [name: string]: unknown;
    anyOf?: JsonSchema[];
    items?: JsonSchema;
  };
  if (anyOf !== undefined) return anyOf.some(isText);
  if (field.enum !== undefined || field.const !== undefined || format !== undefined) return false;
  return type === "string" || (type === "array" && items !== undefined && isText(items));
}
