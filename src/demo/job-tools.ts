import { z } from "zod";
import { guardedFetch } from "../adapters/net/guarded-fetch.ts";
import { checkCitations } from "../core/citations.ts";
import { NeedsHuman, NotApplied } from "../core/errors.ts";
import { type ToolCallContext, tool } from "../engine/definition/tool.ts";
import type { OutsideAddresses } from "./outside.ts";
import { type ReadPage, readPage } from "./read-page.ts";
import { pageRead, report, reportText, sourcesSlice } from "./research.ts";

// Each tool declares three things that no runtime can find out: what it changes (`effect`), what may be done
// when a crash leaves open whether it happened (`recovery`), and what makes two calls the same effect (`identity`).

/** Reading changes nothing, so an interrupted read is simply repeated. */
export const fetchPage = tool({
  name: "fetch_page",
  description: "Read a web page: its title, its text and the pages that it links to.",
  inputSchema: z.object({ url: z.string().describe("An absolute URL.") }),
  effect: "read_only",
  recovery: "repeat",
  timeoutMs: 10_000,
  urls: ({ url }) => [url],
  execute: async ({ url }, call): Promise<ReadPage> => {
    const { href } = new URL(url);
    const response = await guardedFetch(call)(href);
    if (response.status === 404) return { url: href, title: "Not found", text: "", links: [] };
    if (!response.ok) throw new Error(`${href} answered ${response.status}.`);
    const page = readPage(await response.text(), href);
    // Stored with the receipt and applied with the commit of this turn: a page counts as read once, or not at all.
    call.session.dispatch(pageRead(page));
    return page;
  },
});

/** Uses only the session, which is the same for every process that resumes the run. */
export const checkReport = tool({
  name: "check_citations",
  description:
    "Check a report before you answer with it: `uncited` are pages that it draws on without naming them, `unfetched` are addresses that it names but that were never read. Both must be empty.",
  inputSchema: z.object({ report }),
  effect: "local",
  recovery: "repeat",
  execute: ({ report: written }, call) =>
    checkCitations(reportText(written), call.session.query(sourcesSlice).all()),
});

/** The upload service accepts an idempotency key and stores a file once per key, so a call can be repeated. */
export function uploadTool({ uploads }: OutsideAddresses) {
  return tool({
    name: "upload_file",
    description: "Upload an artifact of the run.",
    inputSchema: z.object({ name: z.string(), hash: z.string() }),
    effect: "external",
    recovery: "keyed",
    identity: ({ name, hash }) => ({ name, hash }),
    timeoutMs: 15_000,
    keyValidForMs: 24 * 60 * 60_000,
    urls: () => [uploads],
    execute: async ({ name }, call) => {
      const response = await guardedFetch(call)(`${uploads}/${encodeURIComponent(name)}`, {
        method: "PUT",
        headers: { "idempotency-key": call.idempotencyKey },
        body: await artifactOf(call, name),
      });
      assertAccepted(response, "upload service");
      const { location } = z.object({ location: z.string() }).parse(await response.json());
      await call.correlate(location);
      return { location };
    },
  });
}

/**
 * Mail has no idempotency keys: what is sent twice arrives twice. But its Message-ID is derived from the call's key, and the
 * provider can look it up. So after a crash the mail is looked up first, and sent only if it is not there.
 */
export function emailTool({ smtpPort, sentMail }: OutsideAddresses) {
  return tool({
    name: "send_email",
    description: "Send one email with an artifact of the run attached.",
    inputSchema: z.object({
      to: z.string(),
      subject: z.string(),
      text: z.string(),
      attachment: z.object({ name: z.string(), hash: z.string() }),
    }),
    effect: "external",
    recovery: "reconcile",
    // Not the text: the same report to the same reader is the same mail, however it is worded.
    identity: ({ to, subject, attachment }) => ({ to, subject, attachment: attachment.hash }),
    timeoutMs: 15_000,
    // A mail sent by a dead process reaches the server within this time, or never.
    landsWithinMs: 500,
    execute: async ({ to, subject, text, attachment }, call) => {
      assertOneAddress(to);
      const content = Buffer.from(await artifactOf(call, attachment.name));
      const messageId = messageIdOf(call);
      await call.correlate(messageId);
      const attachments = [{ filename: attachment.name, content }];
      await sendMail(smtpPort, { to, subject, text, messageId: `<${messageId}>`, attachments }, call.signal);
      return { messageId };
    },
    reconcile: async (_, call) => {
      const messageId = messageIdOf(call);
      const response = await guardedFetch(call)(`${sentMail}/${encodeURIComponent(messageId)}`);
      await response.body?.cancel();
      if (response.status === 404) return { status: "absent" };
      if (!response.ok) return { status: "unknown" };
      await call.correlate(messageId);
      return { status: "done", result: { messageId } };
    },
  });
}

function assertOneAddress(to: string): void {
  if (!/^[^\s@,;]+@[^\s@,;]+$/.test(to))
    throw new NeedsHuman(
      "ambiguous_recipient",
      `"${to}" is not one address: name the recipient of the mail.`,
    );
}

type NewMail = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
  readonly attachments: { readonly filename: string; readonly content: Buffer }[];
};

async function sendMail(smtpPort: number, mail: NewMail, signal: AbortSignal): Promise<void> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({ host: "127.0.0.1", port: smtpPort, ignoreTLS: true });
  const stop = () => transport.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await transport.sendMail({ from: "Pawl <reports@pawl.example>", ...mail });
  } finally {
    signal.removeEventListener("abort", stop);
    transport.close();
  }
}

/** Every attempt of the call has the same key, and so the same id, in any process. */
function messageIdOf({ idempotencyKey }: ToolCallContext): string {
  return `${idempotencyKey}@pawl.example`;
}

export function notificationTool({ notifications }: OutsideAddresses) {
  return tool({
    name: "send_notification",
    description: "Tell people that the report is there.",
    inputSchema: z.object({ text: z.string() }),
    effect: "external",
    recovery: "keyed",
    timeoutMs: 10_000,
    urls: () => [notifications],
    execute: async ({ text }, call) => {
      const response = await guardedFetch(call)(notifications, {
        method: "POST",
        headers: { "idempotency-key": call.idempotencyKey },
        body: text,
      });
      assertAccepted(response, "notification service");
      const { id } = z.object({ id: z.string() }).parse(await response.json());
      await call.correlate(id);
      return { id };
    },
  });
}

async function artifactOf(call: ToolCallContext, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await call.readArtifact(name);
  if (bytes === null) throw new NotApplied(`The run has no artifact ${name}: nothing was sent.`);
  return new Uint8Array(bytes);
}

/** Credentials that are refused once will be refused again: a person must fix them. */
function assertAccepted({ ok, status }: Response, service: string): void {
  if (status === 401 || status === 403)
    throw new NeedsHuman("auth_failure", `The ${service} answered ${status}: check its credentials.`);
  if (!ok) throw new Error(`The ${service} answered ${status}.`);
}
