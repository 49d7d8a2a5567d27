// What identifies a mail, an upload and a memory: fields of the arguments that tools name in many ways.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalHash, canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { email, memory, namesOf, upload } from "./tool-identity-fixture.ts";

const hashOf = (value: Json) => canonicalHash(value).toString("hex");

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
