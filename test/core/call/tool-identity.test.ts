import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SideEffectClass } from "../../../src/core/call/tool-call-decision.ts";
import {
  builtInIdentity,
  type DedupedTool,
  dedupeOf,
  type IdentityScope,
  withoutVolatile,
} from "../../../src/core/call/tool-identity.ts";
import { tokensOf } from "../../../src/core/call/tool-name.ts";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { email, memory, namesOf, upload } from "./tool-identity-fixture.ts";

const someJson = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;

const KEYS = ["idempotencyKey", "idempotency_key", "Idempotency-Key", "IDEMPOTENCY_KEY", "X-Idempotency-Key"];
const REQUEST_IDS = [
  "requestId",
  "request_id",
  "requestID",
  "x-request-id",
  "X-Request-Id",
  "requestid",
  "reqId",
];
const TRACE_IDS = namesOf(`
    traceId trace_id TraceID spanId span-id parentSpanId traceparent traceParent tracestate
    correlationId x-correlation-id X-B3-TraceId X-Amzn-Trace-Id
  `);

describe("withoutVolatile", () => {
  const SMS = ["SEND", "SMS"];

  it.each([...KEYS, ...REQUEST_IDS, ...TRACE_IDS])("removes %s, at any depth", (name) => {
    expect(withoutVolatile(SMS, { to: "+1", [name]: "v" })).toEqual({ to: "+1" });
    expect(withoutVolatile(SMS, { to: "+1", headers: { [name]: "v" } })).toEqual({ to: "+1", headers: {} });
    expect(withoutVolatile(SMS, { a: { b: { [name]: 7, c: 1 } } })).toEqual({ a: { b: { c: 1 } } });
    expect(withoutVolatile(SMS, { list: [{ to: "+1", [name]: null }] })).toEqual({ list: [{ to: "+1" }] });
  });

  it.each([
    "",
    ...namesOf(`
    lastRequestIdentifier requestIdea request id lastRequestId requestIds key clientToken idempotency
    trace spanIdea parentId correlation baggage requestIdentity
  `),
  ])("keeps %j", (name) => {
    const args = { to: "+1", [name]: "v", deep: { [name]: "v" } };
    expect(withoutVolatile(SMS, args)).toEqual(args);
  });

  it("keeps a request id of a tool about requests, but not its other transport fields", () => {
    for (const token of ["REQUEST", "REQUESTS"])
      for (const name of REQUEST_IDS)
        expect(
          withoutVolatile(["APPROVE", token], { [name]: 1, idempotencyKey: 2, traceId: 3, x: 4 }),
        ).toEqual({
          [name]: 1,
          x: 4,
        });
  });

  it("keeps a trace id of a tool about traces, but not its other transport fields", () => {
    for (const token of ["TRACE", "TRACES", "SPAN", "SPANS", "CORRELATION"])
      for (const name of TRACE_IDS)
        expect(
          withoutVolatile(["DELETE", token], { [name]: 1, idempotencyKey: 2, requestId: 3, x: 4 }),
        ).toEqual({
          [name]: 1,
          x: 4,
        });
  });

  it("removes an idempotency key whatever the tool is about", () => {
    for (const name of KEYS)
      expect(withoutVolatile(["IDEMPOTENCY", "KEY", "REQUEST", "TRACE"], { [name]: 1, x: 2 })).toEqual({
        x: 2,
      });
  });

  it("removes nothing if nothing else would be left: the call is about that id", () => {
    for (const args of [{ requestId: "a" }, { requestId: "a", trace_id: "b", idempotencyKey: "c" }, {}])
      expect(withoutVolatile(["CANCEL"], args)).toEqual(args);
    const items = { items: [{ requestId: "a" }, { requestId: "b", x: 1 }] };
    expect(withoutVolatile(["CANCEL"], items)).toEqual({ items: [{ requestId: "a" }, { x: 1 }] });
    expect(withoutVolatile(["CANCEL"], [{ requestId: "a" }])).toEqual([{ requestId: "a" }]);
  });

  it("keeps a value that is more than an id under such a name", () => {
    const args = { requestId: { user: 1 }, traceId: ["a"], x: 1 };
    expect(withoutVolatile(SMS, args)).toEqual(args);
    expect(withoutVolatile(SMS, { requestId: { user: 1, spanId: 2 } })).toEqual({ requestId: { user: 1 } });
  });

  it.each<[Json]>([[null], [true], [7], ["requestId"], [[]], [["a", [1]]]])(
    "returns %j unchanged",
    (args) => {
      expect(withoutVolatile(SMS, args)).toEqual(args);
    },
  );

  it('keeps a field named "__proto__" as plain data', () => {
    const args = JSON.parse('{"__proto__":{"requestId":1,"a":2},"b":3}') as Json;
    expect(canonicalJson(withoutVolatile(SMS, args))).toBe('{"__proto__":{"a":2},"b":3}');
    expect({}).not.toHaveProperty("a");
  });

  const volatile = fc.constantFrom(...KEYS, ...REQUEST_IDS, ...TRACE_IDS);
  const value = fc.oneof(fc.string(), fc.integer(), fc.constant(null));

  it("returns the same for calls that differ only in such fields", () => {
    const own = fc
      .dictionary(fc.string(), someJson, { minKeys: 1 })
      .filter((o) => Object.keys(o).some(isOwn));
    fc.assert(
      fc.property(own, fc.dictionary(volatile, value), (args, extra) => {
        expect(canonicalJson(withoutVolatile(SMS, { ...args, ...extra }))).toBe(
          canonicalJson(withoutVolatile(SMS, args)),
        );
      }),
    );
  });

  it("never changes its input, and leaves nothing more to remove", () => {
    const name = fc.oneof(volatile, fc.string());
    const { args } = fc.letrec<{ args: Json }>((tie) => ({
      args: fc.oneof(
        { maxDepth: 4 },
        value,
        fc.array(tie("args"), { maxLength: 3 }),
        fc.dictionary(name, tie("args"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(args, (given) => {
        const before = canonicalJson(given);
        const once = withoutVolatile(SMS, frozen(given));
        expect(canonicalJson(given)).toBe(before);
        expect(withoutVolatile(SMS, once)).toEqual(once);
      }),
    );
  });
});

describe("the built-in scope of", () => {
  const mail = { to: "a@example.org", subject: "Hi" };
  const file = { path: "/tmp/a" };
  const fact = { content: "The sky is blue." };

  it.each<[IdentityScope | null, string, SideEffectClass, JsonObject]>([
    ["email", "send_email", "external", mail],
    ["email", "GMAIL_SEND_EMAIL", "external", mail],
    ["email", "sendMail", "external", mail],
    ["email", "sendmail", "external", mail],
    ["email", "SENDEMAIL", "external", mail],
    ["email", "OUTLOOK_REPLY", "external", mail],
    ["email", "forward_email", "external", mail],
    ["email", "smtp.send", "external", mail],
    ["email", "send_email", "local", mail],
    [null, "create_email_draft", "external", mail],
    [null, "reply_email_draft", "external", mail],
    [null, "send_email_drafts", "external", mail],
    [null, "list_emails", "read_only", mail],
    [null, "get_email", "read_only", mail],
    [null, "send_email", "read_only", mail],
    [null, "get_email_reply", "external", mail],
    [null, "create_email_forward_rule", "external", mail],
    [null, "send_message", "external", mail],
    [null, "email", "external", mail],
    [null, "resend_email", "external", mail],
    ["upload", "workbench_upload", "external", file],
    ["upload", "upload_to_composio", "external", file],
    ["upload", "s3Upload", "external", file],
    [null, "s3Uploader", "external", file],
    [null, "get_upload_url", "external", file],
    [null, "cancel_upload", "external", file],
    [null, "upload_file", "read_only", file],
    [null, "write_file", "local", file],
    ["memory", "core_memory_append", "memory", fact],
    ["memory", "archival_memory_insert", "memory", fact],
    ["memory", "remember", "memory", fact],
    [null, "remember", "external", fact],
    [null, "core_memory_replace", "memory", fact],
    [null, "delete_memory", "memory", fact],
    [null, "setMemory", "memory", fact],
    [null, "", "external", mail],
  ])("%s: %s (%s)", (scope, name, effect, args) => {
    expect(builtInIdentity(tokensOf(name), effect, args)?.scope ?? null).toBe(scope);
  });

  it.each<[Json]>([[null], ["a@example.org"], [[{ to: "a@example.org", subject: "Hi" }]], [7], [{}]])(
    "%j is none",
    (args) => {
      expect(email(args)).toBeNull();
      expect(upload(args)).toBeNull();
      expect(memory(args)).toBeNull();
    },
  );

  it("any tool leaves out keys, request ids and trace ids", () => {
    const extra = { idempotencyKey: "k", "X-Request-Id": "r", meta: { traceId: "t" } };
    expect(email({ ...mail, ...extra })).toEqual(email({ ...mail, meta: {} }));
    expect(upload({ ...file, ...extra })).toEqual(upload({ ...file, meta: {} }));
    expect(memory({ ...fact, ...extra })).toEqual(memory({ ...fact, meta: {} }));
    const tokens = ["SEND", "EMAIL", "REQUEST"];
    expect(builtInIdentity(tokens, "external", { ...mail, requestId: "r" })?.identity).toMatchObject({
      other: { requestId: "r" },
    });
  });

  it("any tool does not depend on the order of fields", () => {
    const names =
      "to TO cc subject Subject body from path Path file content text kind type scope thread_id".split(" ");
    const args = fc.dictionary(fc.constantFrom(...names), fc.constantFrom("a@b.c", "x", "y"), { minKeys: 3 });
    let seen = 0;
    fc.assert(
      fc.property(args, (given) => {
        const turned = Object.fromEntries(Object.entries(given).reverse());
        for (const identityOf of [email, upload, memory]) {
          if (identityOf(given) !== null) seen++;
          expect(identityOf(turned)).toEqual(identityOf(given));
        }
      }),
    );
    expect(seen).toBeGreaterThan(100);
  });

  it("any tool never changes the arguments", () => {
    const args = frozen({ message: { to: ["B@x.org", "a@x.org"], subject: " s " }, path: "p", content: "c" });
    for (const identityOf of [email, upload, memory]) expect(identityOf(args)).not.toBeNull();
  });
});

describe("dedupeOf", () => {
  const plain: DedupedTool = {
    declared: null,
    hasIdentity: false,
    scope: null,
    effect: "external",
    known: true,
  };
  const effects: SideEffectClass[] = ["external", "memory", "local", "read_only"];

  it("follows the tool's declaration, unless the run forbids duplicate external actions", () => {
    for (const declared of ["effect", "call"] as const)
      for (const hasIdentity of [true, false])
        for (const scope of ["email", null] as const)
          for (const known of [true, false])
            for (const effect of effects)
              for (const noDuplicateExternalActions of [true, false])
                expect(
                  dedupeOf({ declared, hasIdentity, scope, effect, known }, { noDuplicateExternalActions }),
                ).toBe(noDuplicateExternalActions && known && effect === "external" ? "effect" : declared);
  });

  it("allows a tool with its own or a built-in identity once per run", () => {
    const rules = { noDuplicateExternalActions: false };
    for (const effect of effects)
      for (const known of [true, false]) {
        expect(dedupeOf({ ...plain, effect, known, hasIdentity: true }, rules)).toBe("effect");
        for (const scope of ["email", "upload", "memory"] as const)
          expect(dedupeOf({ ...plain, effect, known, scope }, rules)).toBe("effect");
      }
  });

  it.each<[SideEffectClass, boolean, boolean, "effect" | "call"]>([
    ["external", true, true, "effect"],
    ["external", true, false, "call"],
    ["external", false, true, "call"],
    ["external", false, false, "call"],
    ["memory", true, true, "call"],
    ["local", true, true, "call"],
    ["read_only", true, true, "call"],
  ])("%s, known: %s, no duplicates: %s → %s", (effect, known, noDuplicateExternalActions, expected) => {
    expect(dedupeOf({ ...plain, effect, known }, { noDuplicateExternalActions })).toBe(expected);
  });
});

/** A field that matches none of the spellings above. */
function isOwn(name: string): boolean {
  return !/key|id|parent|state/i.test(name);
}

function frozen<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
