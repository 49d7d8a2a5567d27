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
import { canonicalHash, canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";

const hashOf = (value: Json) => canonicalHash(value).toString("hex");
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

describe("a mail", () => {
  const base = { to: "ann@example.org", subject: "Report", body: "Dear Ann" };

  it("is identified by its recipients, its subject and its attachments", () => {
    expect(email({ ...base, attachments: ["r.pdf"] })).toEqual({
      recipients: ["ann@example.org"],
      subject: "Report",
      attachments: hashOf([["attachments", ["r.pdf"]]]),
      other: {},
    });
    expect(email(base)).toEqual({
      recipients: ["ann@example.org"],
      subject: "Report",
      attachments: null,
      other: {},
    });
  });

  it.each<[string, JsonObject]>([
    ["another body", { ...base, body: "Hello Ann" }],
    ["another form of body", { to: base.to, subject: base.subject, html: "<p>", is_html: true, text: "x" }],
    ["a body in an object", { ...base, body: { contentType: "HTML", content: "<p>" } }],
    ["no body", { to: base.to, subject: base.subject }],
    ["white space around the subject", { ...base, subject: "  Report\n" }],
    ["the address in capitals", { ...base, to: " ANN@Example.org " }],
    ["a name with the address", { ...base, to: "Ann Lee <ann@example.org>" }],
    ["a list of one", { ...base, to: ["ann@example.org"] }],
    ["a recipient twice", { ...base, to: ["ann@example.org", "Ann@example.org"], cc: "ann@example.org" }],
    ["an object", { ...base, to: { email: "ann@example.org", name: "Ann" } }],
    ["a list of objects", { ...base, to: [{ address: "ann@example.org", displayName: "A", type: "to" }] }],
    ["objects in objects", { ...base, to: [{ emailAddress: { address: "ann@example.org", name: "Ann" } }] }],
    ["blank fields", { ...base, cc: [], bcc: "", from: null, attachments: [], reply_to: " " }],
  ])("is the same with %s", (_, args) => {
    expect(email(args)).toEqual(email(base));
  });

  it.each<[string, JsonObject]>([
    ["another recipient", { ...base, to: "bob@example.org" }],
    ["one more recipient", { ...base, to: "ann@example.org, bob@example.org" }],
    ["a carbon copy", { ...base, cc: "bob@example.org" }],
    ["a blind carbon copy", { ...base, bcc: ["bob@example.org"] }],
    ["another subject", { ...base, subject: "Report 2" }],
    ["an attachment", { ...base, attachments: ["r.pdf"] }],
    ["another sender", { ...base, from: "me@example.org" }],
    ["another account", { ...base, user_id: "work" }],
    ["a thread", { ...base, thread_id: "t1" }],
    ["a mail that it replies to", { ...base, in_reply_to: "<1@x>" }],
    ["another reply address", { ...base, reply_to: "bob@example.org" }],
    ["a later date", { ...base, send_at: "2030-01-01" }],
    ["a template", { ...base, template_id: "t" }],
    ["a body that is not understood", { ...base, body: ["Dear", "Ann"] }],
    ["more than text in a body object", { ...base, body: { content: "x", file: "y" } }],
  ])("is another mail with %s", (_, args) => {
    expect(email(args)).not.toBeNull();
    expect(email(args)).not.toEqual(email(base));
  });

  it("is another mail with other attachments", () => {
    const hashes = [["a.pdf"], ["b.pdf"], ["a.pdf", "b.pdf"], { s3key: "a.pdf" }].map((attachment) =>
      canonicalJson(email({ ...base, attachment })),
    );
    expect(new Set(hashes).size).toBe(4);
  });

  it.each(
    namesOf(`
    recipient recipients recipient_email recipientEmails to_email toRecipients emailTo extra_recipients
    cc bcc_recipients To send_to email email_address addresses
  `),
  )("finds its recipient in %s", (name) => {
    expect(email({ subject: "Report", [name]: "ann@example.org" })).toEqual(email(base));
  });

  it("sorts its recipients, wherever they were found, and keeps those that are not addresses", () => {
    const args = {
      to: "Zoe <z@x.org>; b@x.org,me",
      cc: ["C@x.org", "b@x.org"],
      bcc: { mail: "a@x.org" },
      subject: "s",
    };
    expect(email(args)).toMatchObject({ recipients: ["a@x.org", "b@x.org", "c@x.org", "me", "z@x.org"] });
  });

  it("keeps an address beside the recipient as other data: it may be the sender", () => {
    expect(email({ ...base, email: "me@example.org" })).toMatchObject({
      recipients: ["ann@example.org"],
      other: { email: "me@example.org" },
    });
  });

  it("is found in the object that contains it", () => {
    const message = { toRecipients: [{ emailAddress: { address: "ann@example.org" } }], subject: "Report" };
    const sent = email({ message: { ...message, body: { content: "x" } }, text: "y", account: "a" });
    expect(sent).toEqual({
      recipients: ["ann@example.org"],
      subject: "Report",
      attachments: null,
      other: { account: "a", message: {} },
    });
    expect(email({ message: { ...message, importance: "high" } })).toMatchObject({
      other: { message: { importance: "high" } },
    });
    expect(email({ email: base })).toMatchObject({ recipients: ["ann@example.org"], other: { email: {} } });
  });

  it("keeps all of a second mail beside the one that was found", () => {
    const second = { to: "bob@example.org", subject: "Two", body: "x" };
    expect(email({ first: base, second })).toMatchObject({ other: { first: {}, second } });
  });

  it("needs a subject, or an id in its place", () => {
    const reply = { recipient_email: "ann@example.org", message_body: "Yes." };
    expect(email(reply)).toBeNull();
    expect(email({ ...reply, subject: " " })).toBeNull();
    expect(email({ ...reply, user_id: "me" })).toBeNull();
    for (const name of [
      "thread_id",
      "threadId",
      "message_id",
      "in_reply_to",
      "templateId",
      "conversationId",
      "id",
    ])
      expect(email({ ...reply, [name]: "t1" })).toEqual({
        recipients: ["ann@example.org"],
        subject: null,
        attachments: null,
        other: { [name]: "t1" },
      });
    expect(email({ ...reply, thread_id: "t1" })).not.toEqual(email({ ...reply, thread_id: "t2" }));
  });

  it.each<[string, JsonObject]>([
    ["no recipient", { subject: "s", body: "b" }],
    ["an empty list", { subject: "s", to: [] }],
    ["nothing but commas", { subject: "s", to: " , ;" }],
    ["a number", { subject: "s", to: 7 }],
    ["an object without an address", { subject: "s", to: { userId: "u" } }],
    ["an object with more than an address", { subject: "s", to: { email: "a@x.org", vars: { a: 1 } } }],
    ["an object with two addresses", { subject: "s", to: { email: "a@x.org", address: "b@x.org" } }],
    ["a known recipient and one that is not understood", { subject: "s", to: ["a@x.org", { list: "all" }] }],
    ["a text that is not an address", { subject: "s", mail: "Write to a@x.org" }],
    ["several mails", { subject: "s", emails: [{ to: "a@x.org", body: "b" }] }],
  ])("to %s has no identity of its own", (_, args) => {
    expect(email(args)).toBeNull();
  });

  it("is the same however its recipients are ordered, spelled and distributed", () => {
    const people = fc.uniqueArray(fc.constantFrom("a@x.org", "b@x.org", "c@x.org", "d@x.org"), {
      minLength: 1,
    });
    const spelling = fc.constantFrom<(address: string) => Json>(
      (address) => address,
      (address) => address.toUpperCase(),
      (address) => ` N <${address}> `,
      (address) => ({ email: address }),
    );
    const field = fc.constantFrom("to", "cc", "bcc");
    const spread = fc.array(fc.tuple(field, spelling), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(people, spread, (addresses, ways) => {
        const fields: Record<string, Json[]> = {};
        addresses.forEach((address, i) => {
          const [name, spell] = ways[i] ?? ["to", (one: string): Json => one];
          fields[name] = [spell(address), ...(fields[name] ?? [])];
        });
        expect(email({ ...fields, subject: "s" })).toEqual(email({ to: addresses, subject: "s" }));
      }),
    );
  });
});

describe("an upload", () => {
  it("is identified by the file and its destination", () => {
    expect(upload({ local_path: "/tmp/a", remote_path: "/b", bucket: "c" })).toEqual({
      path: hashOf("/tmp/a"),
      destination: { remote_path: "/b", bucket: "c" },
    });
  });

  it.each([
    "path",
    "file_path",
    "filePath",
    "file",
    "local_path",
    "localFilePath",
    "source",
    "filename",
    "files",
  ])("finds its file in %s", (name) => {
    expect(upload({ [name]: "/tmp/a", bucket: "c" })).toEqual({
      path: hashOf("/tmp/a"),
      destination: { bucket: "c" },
    });
  });

  it("treats a field named local as the file, and `path` as the destination", () => {
    expect(upload({ path: "/b", local_path: "/tmp/a" })).toEqual({
      path: hashOf("/tmp/a"),
      destination: { path: "/b" },
    });
    expect(upload({ path: "/b", source_path: "/tmp/a" })).toEqual(
      upload({ local_path: "/tmp/a", path: "/b" }),
    );
  });

  it("is the same with another description", () => {
    const base = { path: "/tmp/a", bucket: "c" };
    for (const name of ["description", "caption", "comment", "initial_comment"])
      expect(upload({ ...base, [name]: "words" })).toEqual(upload(base));
  });

  it("is another upload with another file, destination, account or content", () => {
    const base = { path: "/tmp/a", bucket: "c" };
    const others = [
      base,
      { ...base, path: "/tmp/b" },
      { ...base, bucket: "d" },
      { ...base, account: "e" },
      { ...base, content: "f" },
      { path: { s3key: "/tmp/a" }, bucket: "c" },
    ];
    expect(new Set(others.map((args) => canonicalJson(upload(args)))).size).toBe(others.length);
  });

  it("without a path has no identity of its own", () => {
    for (const args of [{ bucket: "c" }, { path: "", bucket: "c" }, { path: null }, { url: "https://x.org" }])
      expect(upload(args)).toBeNull();
  });
});

describe("a memory", () => {
  it("is identified by its kind, its scope and its content", () => {
    expect(memory({ kind: "core", scope: "user", content: "blue", tags: ["a"] })).toEqual({
      kind: "core",
      scope: "user",
      content: hashOf("blue"),
      other: { tags: ["a"] },
    });
    expect(memory({ content: "blue" })).toEqual({
      kind: null,
      scope: null,
      content: hashOf("blue"),
      other: {},
    });
  });

  it.each(["content", "text", "memory", "value", "data", "fact", "note", "messages"])(
    "finds its content in %s",
    (name) => {
      expect(memory({ [name]: "blue" })).toEqual(memory({ content: "blue" }));
    },
  );

  it.each(["kind", "memory_type", "type", "label", "block", "category"])("finds its kind in %s", (name) => {
    expect(memory({ content: "blue", [name]: "core" })).toEqual(memory({ content: "blue", kind: "core" }));
  });

  it("finds its scope in a namespace", () => {
    expect(memory({ content: "blue", namespace: "u" })).toEqual(memory({ content: "blue", scope: "u" }));
  });

  it("is another memory with another kind, scope, content or anything else", () => {
    const base = { kind: "core", scope: "user", content: "blue" };
    const others = [
      base,
      { ...base, kind: "archival" },
      { ...base, scope: "agent" },
      { ...base, content: "Blue" },
      { ...base, user_id: "u" },
      { ...base, label: "l" },
      { ...base, text: "t" },
    ];
    expect(new Set(others.map((args) => canonicalJson(memory(args)))).size).toBe(others.length);
  });

  it("without content has no identity of its own", () => {
    for (const args of [{ id: 7 }, { kind: "core", content: " " }, { content: [] }])
      expect(memory(args)).toBeNull();
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

function email(args: Json): Json {
  return builtInIdentity(["SEND", "EMAIL"], "external", args)?.identity ?? null;
}

function upload(args: Json): Json {
  return builtInIdentity(["UPLOAD", "FILE"], "external", args)?.identity ?? null;
}

function memory(args: Json): Json {
  return builtInIdentity(["MEMORY", "APPEND"], "memory", args)?.identity ?? null;
}

/** A field that matches none of the spellings above. */
function isOwn(name: string): boolean {
  return !/key|id|parent|state/i.test(name);
}

function namesOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

function frozen<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
