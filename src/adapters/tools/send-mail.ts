import { createHash } from "node:crypto";
import { z } from "zod";
import { artifactNameProblem } from "../../core/artifact-name.ts";
import { ConfigurationError, FinalFailure, NeedsHuman, NotApplied } from "../../core/errors.ts";
import { type Tool, type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import { settingSecrets } from "../net/hiding-secrets.ts";
import { readableText } from "../net/readable-text.ts";
import { checkSettings, type SettingsOf } from "./settings.ts";
import { DeliveryFailure, deliver, type SmtpServer } from "./smtp-delivery.ts";
import { normalizedName } from "./workspace-files.ts";

const WHERE_THE_HASH_IS = "give the hash that write_file or render_pdf returned for this file";

const addresses = z.union([z.email(), z.array(z.email()).min(1).max(100)]);

const mailInput = z.object({
  to: addresses.describe("One address, or several."),
  cc: addresses.optional(),
  subject: z
    .string()
    .min(1)
    .max(998)
    .regex(/^[^\r\n]*$/, "use one line"),
  text: z.string().min(1).describe("The mail as plain text."),
  html: z.string().min(1).optional().describe("The same as HTML, if it needs formatting."),
  attachments: z
    .array(
      z.object({
        path: z
          .string()
          .min(1)
          .describe("A file that the run has kept, by the path that write_file or render_pdf returned."),
        // Required, since mails are compared before any file is read: without it, a changed file would be the same mail.
        hash: z
          .string(WHERE_THE_HASH_IS)
          .regex(/^[0-9a-f]{64}$/, WHERE_THE_HASH_IS)
          .describe(
            "The hash that was returned with it: exactly this content is sent, and a changed file is another mail.",
          ),
      }),
    )
    .max(20)
    .optional(),
});

type MailInput = z.output<typeof mailInput>;

/** The result of `send_mail`. */
export type SentMail = { readonly messageId: string; readonly rejected?: readonly string[] };

/** Returns whether a mail with this Message-ID was sent; `null` if that is unknown. */
export type FindSent = (messageId: string, call: ToolCallContext) => Promise<boolean | null>;

/** The settings of `sendMail`. */
export type SendMailOptions = SettingsOf<"send_mail"> & { readonly findSent?: FindSent };

/**
 * Sends mail over SMTP. Mail has no idempotency keys: a mail that is sent twice arrives twice. But each has a Message-ID made
 * from the call's key: with a `findSent` that can search the sent mail, a mail in doubt is looked up before a person is asked.
 * The mail server is part of the settings, so `allowedDomains` does not apply to it. If its name resolves to a private address,
 * it needs `private: true`, since the owner of the name decides what it resolves to.
 *
 * @example
 * const send_mail = sendMail({ url: secret("smtps://me:password@mail.example.com"), from: "reports@example.com" });
 */
export function sendMail(options: SendMailOptions): Tool<z.input<typeof mailInput>, SentMail> {
  const { findSent, ...plain } = options;
  const { settings, secrets } = checkSettings("send_mail", plain);
  const server = serverOf(settings);
  return tool({
    name: "send_mail",
    description: "Send one email, with files of the run attached. The same mail is sent once.",
    inputSchema: mailInput,
    effect: "external",
    recovery: findSent === undefined ? "opaque" : "reconcile",
    // Not the text: the same subject to the same people is the same mail, however it is worded.
    identity: ({ to, cc, subject, attachments = [] }) => ({
      recipients: setOf([...listOf(to), ...listOf(cc)].map((each) => each.toLowerCase())),
      subject: subject.trim(),
      attachments: setOf(attachments.map(({ path, hash }) => `${hash} ${normalizedName(path)}`)),
    }),
    timeoutMs: 120_000,
    secrets: settingSecrets([...secrets, ...(server.auth === null ? [] : [server.auth.pass])]),
    execute: (mail: MailInput, call) => send(mail, server, settings.from, call),
    ...(findSent === undefined
      ? {}
      : { reconcile: (_: MailInput, call: ToolCallContext) => lookUp(findSent, call) }),
  });
}

function listOf(given: string | readonly string[] | undefined): readonly string[] {
  if (given === undefined) return [];
  return typeof given === "string" ? [given] : given;
}

/** Without duplicates, in a fixed order. */
function setOf(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}

async function send(
  mail: MailInput,
  server: SmtpServer,
  from: string,
  call: ToolCallContext,
): Promise<SentMail> {
  const attachments = await Promise.all((mail.attachments ?? []).map((each) => attachmentOf(each, call)));
  const messageId = messageIdOf(call);
  await call.correlate(messageId);
  const { to, cc, subject, text, html } = mail;
  const composed = {
    from,
    to: [...listOf(to)],
    cc: [...listOf(cc)],
    subject,
    text,
    ...(html === undefined ? {} : { html }),
    messageId: `<${messageId}>`,
    attachments,
    // A model's text is never used as a file name or as a URL to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  try {
    const { rejected } = await deliver(server, composed, call.network, call.signal);
    return { messageId, ...(rejected.length > 0 ? { rejected } : {}) };
  } catch (error) {
    throw error instanceof DeliveryFailure ? meaningOf(error, server, call) : error;
  }
}

/** Every attempt of the call has the same key, so it has the same id in any process. */
function messageIdOf({ idempotencyKey }: ToolCallContext): string {
  return `${idempotencyKey}@pawl.invalid`;
}

async function attachmentOf(
  { path, hash }: NonNullable<MailInput["attachments"]>[number],
  call: ToolCallContext,
): Promise<{ readonly filename: string; readonly content: Buffer }> {
  const name = normalizedName(path);
  const bytes = artifactNameProblem(name) === null ? await call.readArtifact(name) : null;
  if (bytes === null) throw unsent(`The run has kept no file ${JSON.stringify(path)}`);
  const content = Buffer.from(bytes);
  const actual = createHash("sha256").update(content).digest("hex");
  if (hash !== actual)
    throw unsent(`The content of ${JSON.stringify(path)} has changed (its hash is now ${actual})`);
  return { filename: path.split("/").at(-1) ?? path, content };
}

function unsent(why: string): FinalFailure {
  return new FinalFailure(`${why}: nothing was sent.`, { applied: false });
}

/** The error for a failed delivery: its class shows whether the mail was not sent, will never be, or may have been. */
function meaningOf(failure: DeliveryFailure, { host }: SmtpServer, call: ToolCallContext): Error {
  const { answer, isAboutLogin, hasBegun, refused } = failure;
  const why = readableText(call.hide(failure.message));
  const cause = { cause: failure };
  if (refused !== null) {
    const advice = refused.replace(
      /: add \S+ to allowedDomains .*$/,
      ": give send_mail private: true if that is intended.",
    );
    return new FinalFailure(`Nothing was sent. ${advice}`, { applied: false }, cause);
  }
  if (isAboutLogin && (answer === null || answer >= 500))
    return new NeedsHuman(
      "auth_failure",
      `The mail server ${host} refused the login: check the settings of send_mail.`,
      cause,
    );
  if (answer !== null && answer >= 500)
    return new FinalFailure(`The mail server ${host} refused the mail: ${why}.`, { applied: false }, cause);
  if (answer !== null && answer >= 400)
    return new NotApplied(`The mail server ${host} refused the mail for now: ${why}.`, {}, cause);
  if (!hasBegun) return new NotApplied(`Nothing was sent to the mail server ${host}: ${why}.`, {}, cause);
  return new Error(`The mail server ${host} did not confirm that it accepted the mail: ${why}.`, cause);
}

async function lookUp(findSent: FindSent, call: ToolCallContext) {
  const messageId = messageIdOf(call);
  const found = await findSent(messageId, call);
  if (found === null) return { status: "unknown" } as const;
  if (!found) return { status: "absent" } as const;
  await call.correlate(messageId);
  return { status: "done", result: { messageId } } as const;
}

function serverOf({
  url,
  host,
  port,
  secure = false,
  user,
  password,
  private: mayBePrivate = false,
}: ReturnType<typeof checkSettings<"send_mail">>["settings"]): SmtpServer {
  if (url !== undefined) return { ...serverAt(url), mayBePrivate };
  const auth = user === undefined || password === undefined ? null : { user, pass: password };
  return {
    host: host ?? "",
    port: port ?? usualPort({ secure }),
    secure,
    ignoreTls: false,
    auth,
    mayBePrivate,
  };
}

function usualPort({ secure }: Pick<SmtpServer, "secure">): number {
  return secure ? 465 : 587;
}

function serverAt(address: string): Omit<SmtpServer, "mayBePrivate"> {
  const url = URL.parse(address);
  const login = url === null ? null : loginIn(url);
  if (url === null || url.hostname === "" || login === null)
    throw new ConfigurationError(
      "The settings of send_mail cannot be used: its url cannot be read: write smtp://user:password@host:587, with %25 for %.",
    );
  const secure = url.protocol === "smtps:";
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? usualPort({ secure }) : Number(url.port),
    secure,
    // For a server on the same machine, with a self-signed certificate.
    ignoreTls: url.searchParams.get("ignoreTLS") === "true",
    auth: login.user === "" ? null : login,
  };
}

/** Null if it is not properly percent-encoded. */
function loginIn({ username, password }: URL): { readonly user: string; readonly pass: string } | null {
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    return null;
  }
}
