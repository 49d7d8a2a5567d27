import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type SendMailOptions, sendMail, writeFile } from "../../../src/adapters/tools/index.ts";
import { secret } from "../../../src/index.ts";
import { asking, crashAt, jumpingClock, runnerOf, timedStore } from "../../engine/call/call-fixture.ts";
import { resolveEveryNameToLocalhost } from "../../resolve-to-localhost.ts";
import { closedPort, type MailServer, openMailServer } from "./mail-server.ts";
import { callTool, callTools, temporaryFolder } from "./tool-fixture.ts";

const MAIL = { to: "ann@example.org", subject: "Report", text: "Here it is." };
const FROM = "Reports <reports@example.com>";

const mailTool = (server: Pick<MailServer, "port">, more: Partial<SendMailOptions> = {}) =>
  sendMail({ url: `smtp://127.0.0.1:${server.port}`, from: FROM, ...more });

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const file = (path: string) => ({ path, hash: sha256("content") });

describe("send_mail", () => {
  it("sends one mail whose Message-ID is made from the key", async () => {
    const server = await openMailServer();
    const { result, call } = await callTool(mailTool(server), { ...MAIL, cc: ["bob@example.org"] });

    const id = `${call.idempotencyKey}@pawl.invalid`;
    expect(result).toEqual({ messageId: id });
    expect([call.effect, call.recovery, call.receipt?.correlationId]).toEqual(["external", "opaque", id]);
    expect(server.accepted).toHaveLength(1);
    const [mail = ""] = server.accepted;
    for (const line of [
      `Message-ID: <${id}>`,
      "From: Reports <reports@example.com>",
      "To: ann@example.org",
      "Cc: bob@example.org",
      "Subject: Report",
    ])
      expect(mail.replace(/\r\n[ \t]+/g, " ")).toContain(line);
    expect(mail).toContain("Here it is.");
  });

  it("attaches files of the run, and treats a changed file as another mail", async () => {
    const server = await openMailServer();
    const attached = (text: string) => ({
      ...MAIL,
      attachments: [{ path: "out/report.md", hash: sha256(text) }],
    });
    const { results, calls } = await callTools({ write_file: writeFile, send_mail: mailTool(server) }, [
      [["write_file", { path: "out/report.md", text: "first" }]],
      [["send_mail", attached("first")]],
      [["send_mail", { ...attached("first"), text: "The same in other words." }]],
      [["write_file", { path: "out/report.md", text: "second" }]],
      [["send_mail", attached("second")]],
    ]);
    expect(calls.map(({ status }) => status)).toEqual([
      "succeeded",
      "succeeded",
      "deduplicated",
      "succeeded",
      "succeeded",
    ]);
    // The model sees that the reworded mail was not sent, and the result of the first one.
    expect(String(results[2])).toMatch(/^\[This call did not run: .*\]\n/);
    expect(String(results[2])).toContain(JSON.stringify(results[1]));
    expect(server.accepted).toHaveLength(2);
    expect(server.accepted[1]).toContain(Buffer.from("second").toString("base64"));
    expect(server.accepted[1]).toMatch(/filename="?report\.md/);
  });

  it.each([
    ["another spelling of a path", {}, { attachments: [file("./a.txt"), file("b.txt")] }],
    ["its attachments in another order", {}, { attachments: [file("b.txt"), file("a.txt")] }],
    [
      "its recipients in another order",
      { to: ["ann@example.org", "bob@example.org"] },
      { to: ["bob@example.org", "ann@example.org"] },
    ],
    ["a domain in capitals", {}, { to: "ann@EXAMPLE.org" }],
  ])("treats as the same mail %s", async (_what, first, second) => {
    const server = await openMailServer();
    const mail = { ...MAIL, attachments: [file("a.txt"), file("b.txt")] };
    const { calls } = await callTools({ write_file: writeFile, send_mail: mailTool(server) }, [
      [
        ["write_file", { path: "a.txt", text: "content" }],
        ["write_file", { path: "b.txt", text: "content" }],
      ],
      [["send_mail", { ...mail, ...first }]],
      [["send_mail", { ...mail, ...second }]],
    ]);
    expect(calls.slice(2).map(({ status }) => status)).toEqual(["succeeded", "deduplicated"]);
    expect(server.accepted).toHaveLength(1);
  });

  it("requires the hash of an attachment, and says where to get it", async () => {
    const server = await openMailServer();
    const { results, calls } = await callTools({ write_file: writeFile, send_mail: mailTool(server) }, [
      [["write_file", { path: "a.txt", text: "first" }]],
      [["send_mail", { ...MAIL, attachments: [{ path: "a.txt" }] }]],
      [["send_mail", { ...MAIL, attachments: [{ path: "a.txt", hash: "first" }] }]],
    ]);
    for (const result of results.slice(1))
      expect(result).toContain("give the hash that write_file or render_pdf returned for this file");
    expect(calls.slice(1).map(({ receipt }) => receipt?.errorCode)).toEqual([
      "invalid_input",
      "invalid_input",
    ]);
    expect(server.visits()).toBe(0);
  });

  it("sends nothing if the file is missing or has changed", async () => {
    const server = await openMailServer();
    const { results, calls } = await callTools({ write_file: writeFile, send_mail: mailTool(server) }, [
      [["write_file", { path: "a.txt", text: "now" }]],
      [["send_mail", { ...MAIL, attachments: [{ path: "none.pdf", hash: sha256("now") }] }]],
      [["send_mail", { ...MAIL, attachments: [{ path: "a.txt", hash: sha256("then") }] }]],
    ]);
    expect(results[1]).toBe('The run has kept no file "none.pdf": nothing was sent.');
    expect(results[2]).toMatch(/^The content of "a.txt" has changed \(its hash is now [0-9a-f]{64}\)/);
    expect(calls.map(({ receipt }) => receipt?.uncertain)).toEqual([false, false, false]);
    expect(server.visits()).toBe(0);
  });

  it.each([
    ["two lines in the subject", { ...MAIL, subject: "A\r\nBcc: eve@example.org" }],
    ["what is no address", { ...MAIL, to: "ann@example.org, eve@example.org" }],
    ["a name with a line end in it", { ...MAIL, to: ["x\r\nBcc: eve@example.org <a@b.org>"] }],
  ])("refuses %s before anything is sent", async (_what, input) => {
    const server = await openMailServer();
    const { calls } = await callTool(mailTool(server), input);
    expect(calls[0]?.receipt?.errorCode).toBe("invalid_input");
    expect(server.visits()).toBe(0);
  });

  it("returns the recipients that were refused while others were accepted", async () => {
    const server = await openMailServer({ refuse: { to: 550 }, times: 1 });
    const { result } = await callTool(mailTool(server), {
      ...MAIL,
      to: ["gone@example.org", "ann@example.org"],
    });
    expect(result).toMatchObject({ rejected: ["gone@example.org"] });
    expect(server.accepted).toHaveLength(1);
  });
});

describe("the mail server", () => {
  it("may resolve to a private address only with private: true, and is not retried", async () => {
    resolveEveryNameToLocalhost();
    const server = await openMailServer();
    const settings = { host: "mail.museum.example", port: server.port, from: FROM };
    const { call, result } = await callTool(sendMail(settings), MAIL);
    expect([call.status, call.attempt, call.receipt?.uncertain]).toEqual(["failed", 1, false]);
    expect(result).toBe(
      "Nothing was sent. The host mail.museum.example resolves to 127.0.0.1, which is private or reserved: give send_mail private: true if that is intended.",
    );
    expect(server.visits()).toBe(0);
    expect((await callTool(sendMail({ ...settings, private: true }), MAIL)).call.status).toBe("succeeded");
    expect(server.accepted).toHaveLength(1);
  });

  it.each(["169.254.169.254", "::ffff:169.254.169.254"])("is never %s", async (host) => {
    const { call, result } = await callTool(sendMail({ host, port: 25, from: FROM, private: true }), MAIL);
    expect([call.status, call.attempt]).toEqual(["failed", 1]);
    expect(result).toContain("serves the credentials of a cloud machine");
  });
});

describe("a mail that fails", () => {
  it("because nothing listens has not happened, and is retried", async () => {
    const port = await closedPort();
    const { call, result } = await callTool(mailTool({ port }), MAIL);
    expect([call.status, call.receipt?.uncertain, call.receipt?.errorCode]).toEqual([
      "failed",
      false,
      "not_applied",
    ]);
    expect(call.attempt).toBeGreaterThan(1);
    expect(result).toMatch(/^Nothing was sent to the mail server 127\.0\.0\.1: /);
  });

  it.each([
    ["refused at the greeting for now", { refuse: { connect: 421 }, times: 1 }],
    ["cut off at the greeting", { cut: "greeting", times: 1 }],
    ["cut off before the mail", { cut: "from", times: 1 }],
    ["asked to wait at the sender", { refuse: { from: 451 }, times: 1 }],
    ["asked to wait at the recipient", { refuse: { to: 450 }, times: 1 }],
    ["asked to wait after the mail", { refuse: { data: 452 }, times: 1 }],
  ] as const)("%s is retried, and arrives once", async (_what, trouble) => {
    const server = await openMailServer(trouble);
    const { call } = await callTool(mailTool(server), MAIL);
    expect([call.status, call.attempt]).toEqual(["succeeded", 2]);
    expect(server.accepted).toHaveLength(1);
    expect(server.visits()).toBe(2);
  });

  it.each([
    ["at the greeting", { refuse: { connect: 554 } }],
    ["at the recipient", { refuse: { to: 550 } }],
    ["after the mail", { refuse: { data: 554 } }],
  ] as const)("refused permanently %s is not retried", async (_what, trouble) => {
    const server = await openMailServer(trouble);
    const { call, result } = await callTool(mailTool(server), MAIL);
    expect([call.status, call.attempt, server.visits()]).toEqual(["failed", 1, 1]);
    expect(result).toMatch(/^The mail server 127\.0\.0\.1 refused the mail: .*no (connect|to|data)/);
    expect(server.accepted).toHaveLength(0);
  });

  it("cut off after the server accepted it is not sent again: it may have arrived, and it has", async () => {
    const server = await openMailServer({ cut: "accepted", times: 1 });
    const { call, result } = await callTool(mailTool(server), MAIL);
    expect([call.status, call.attempt, call.receipt?.uncertain]).toEqual(["failed", 1, true]);
    expect(result).toMatch(/^The mail server 127\.0\.0\.1 did not confirm that it accepted the mail/);
    expect([server.accepted.length, server.visits()]).toEqual([1, 1]);
  });

  it("because of its password waits for a person, who does not see the password", async () => {
    const server = await openMailServer({ password: "right-password" });
    const url = `smtp://robot:wrong-password@127.0.0.1:${server.port}`;
    const { store, status } = await callTool(sendMail({ url: secret(url), from: FROM }), MAIL);
    expect(status).toBe("waiting");
    const [wait] = await store.listWaits("r-1");
    expect(wait).toMatchObject({ kind: "escalation", status: "open" });
    expect(JSON.stringify([wait, await store.listToolCallAttempts("r-1")])).toContain("refused the login");
    expect(JSON.stringify([wait, await store.listToolCallAttempts("r-1")])).not.toContain("wrong-password");
    expect(server.accepted).toHaveLength(0);
  });

  it("because the server requires a login and there is none waits for a person", async () => {
    const server = await openMailServer({ password: "right-password" });
    const { status } = await callTool(mailTool(server), MAIL);
    expect(status).toBe("waiting");
  });

  it("because the login cannot be checked just now is retried", async () => {
    const server = await openMailServer({ password: "right-password", refuse: { auth: 454 }, times: 1 });
    const login = {
      host: "127.0.0.1",
      port: server.port,
      user: "robot",
      password: "right-password",
      from: FROM,
    };
    const { call } = await callTool(sendMail(login), MAIL);
    expect([call.status, call.attempt, server.accepted.length]).toEqual(["succeeded", 2, 1]);
  });
});

describe("a mail in doubt", () => {
  /** A run whose worker dies right after the mail was sent, and its resume. */
  async function crashAfterSending(more: Partial<SendMailOptions>, server: MailServer) {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const options = { clock, workspaceRoot: temporaryFolder() };
    const runner = (probe = {}) =>
      runnerOf(store, { send_mail: mailTool(server, more) }, [asking(["send_mail", MAIL])], {
        ...options,
        ...probe,
      }).runner;
    await runner({ probe: crashAt("tool:executed") })
      .run("Go", { runId: "r-1" })
      .catch(() => undefined);
    expect(server.accepted).toHaveLength(1);
    const { status } = await runner().resume("r-1");
    return { status, calls: await store.listToolCalls("r-1") };
  }

  it("is put before a person if it cannot be looked up", async () => {
    const server = await openMailServer();
    const { status, calls } = await crashAfterSending({}, server);
    expect([status, calls[0]?.status]).toEqual(["waiting", "in_doubt"]);
    expect(server.accepted).toHaveLength(1);
  });

  it("is looked up by its Message-ID if that is possible, and not sent again", async () => {
    const server = await openMailServer();
    const asked: string[] = [];
    const findSent = async (messageId: string) => {
      asked.push(messageId);
      return server.accepted.some((mail) => mail.includes(`<${messageId}>`));
    };
    const { status, calls } = await crashAfterSending({ findSent }, server);
    expect([status, calls[0]?.status, calls[0]?.recovery]).toEqual(["succeeded", "succeeded", "reconcile"]);
    expect(asked).toEqual([`${calls[0]?.idempotencyKey}@pawl.invalid`]);
    expect(server.accepted).toHaveLength(1);
  });

  it("is put before a person if the look-up finds nothing out", async () => {
    const server = await openMailServer();
    const { status } = await crashAfterSending({ findSent: async () => null }, server);
    expect([status, server.accepted.length]).toEqual(["waiting", 1]);
  });

  it("cut off after the server accepted it is looked up at once", async () => {
    const server = await openMailServer({ cut: "accepted", times: 1 });
    const findSent = async (messageId: string) => server.accepted.some((mail) => mail.includes(messageId));
    const { call } = await callTool(mailTool(server, { findSent }), MAIL);
    expect([call.status, server.accepted.length, server.visits()]).toEqual(["succeeded", 1, 1]);
  });
});
