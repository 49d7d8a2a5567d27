import { lookup } from "node:dns";
import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { Readable } from "node:stream";
import type MailComposer from "nodemailer/lib/mail-composer";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import { checkAddress, type NetworkPolicy } from "../../core/network-policy.ts";
import { NetworkRefusedError, refusal } from "../../core/network-refusal.ts";
import { causesOf } from "../net/error-causes.ts";
import { checkedLookup } from "../net/guarded-fetch.ts";
import { loadPackage } from "./load-package.ts";

/** The address of a mail server, and our login. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  /** True if its name may resolve to a private address. An IP address, and `localhost`, may be private anyway. */
  readonly mayBePrivate: boolean;
  readonly secure: boolean;
  readonly ignoreTls: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | null;
};

export type Mail = ConstructorParameters<typeof MailComposer>[0];

export type MailDelivery = { readonly accepted: readonly string[]; readonly rejected: readonly string[] };

/** A mail that was not accepted, and how far its delivery got. */
export class DeliveryFailure extends Error {
  /** True if any byte of the mail itself was sent: before that, no server can have accepted it. */
  readonly hasBegun: boolean;
  /** The status code of the server's answer, such as 550; null without an answer. */
  readonly answer: number | null;
  readonly isAboutLogin: boolean;
  /** Why the network policy refuses the connection; null if something else failed. */
  readonly refused: string | null;

  constructor(cause: unknown, { hasBegun }: { readonly hasBegun: boolean }) {
    const { message, responseCode, code } = cause as {
      message?: unknown;
      responseCode?: unknown;
      code?: unknown;
    };
    super(typeof message === "string" ? message : String(cause), { cause });
    this.hasBegun = hasBegun;
    this.answer = typeof responseCode === "number" ? responseCode : null;
    this.isAboutLogin = code === "EAUTH" || this.answer === 530;
    this.refused = whyRefused(cause);
  }
}

function whyRefused(failure: unknown): string | null {
  for (const cause of causesOf(failure)) if (NetworkRefusedError.isInstance(cause)) return cause.details.why;
  return null;
}

const CONNECT_MS = 20_000;
const SILENCE_MS = 60_000;

/**
 * Delivers one mail to a mail server. Not with nodemailer's transport: it does not report whether the mail itself was being
 * sent when the connection broke, and that decides whether it may be sent again. Nor with its sockets: they do not check
 * whether an address may be connected to.
 */
export async function deliver(
  server: SmtpServer,
  mail: Mail,
  network: NetworkPolicy,
  signal: AbortSignal,
): Promise<MailDelivery> {
  const { Composer, Connection } = await loadNodemailer();
  const { bytes, envelope } = await composed(new Composer(mail));
  const socket = await connected(server, network, signal).catch((error: unknown) => {
    throw new DeliveryFailure(error, { hasBegun: false });
  });
  const connection = new Connection({
    connection: socket,
    host: server.host,
    port: server.port,
    secure: server.secure,
    ignoreTLS: server.ignoreTls,
    // Otherwise a machine in the middle could remove TLS from the server's offers, and read the password.
    requireTLS: server.auth !== null && !server.ignoreTls && !LOOPBACK.test(server.host),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
  });
  const message = onceRead(bytes);
  const stop = () => connection.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    return await converse(connection, server, envelope, message.stream);
  } catch (error) {
    throw new DeliveryFailure(error, { hasBegun: message.hasBegun() });
  } finally {
    signal.removeEventListener("abort", stop);
    connection.close();
  }
}

/** Connects to exactly the address that was checked. */
async function connected(
  { host, port, mayBePrivate }: SmtpServer,
  { allowPrivateAddresses }: NetworkPolicy,
  signal: AbortSignal,
): Promise<Socket> {
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const policy = { allowedDomains: [`${address}${mayBePrivate ? "!private" : ""}`], allowPrivateAddresses };
  const origin = URL.parse(`http://${address}`);
  const verdict = origin === null || isIP(host) === 0 ? null : checkAddress(policy, address, host);
  if (origin === null || verdict?.ok === false)
    throw refusal(origin, verdict?.ok === false ? verdict.why : `The host ${host} cannot be read.`);
  const socket = connect({ host, port, lookup: checkedLookup(policy, origin, lookup) });
  try {
    await once(socket, "connect", { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

type Envelope = Parameters<SMTPConnection["send"]>[0];

async function composed(
  composer: MailComposer,
): Promise<{ readonly bytes: Buffer; readonly envelope: Envelope }> {
  try {
    const message = composer.compile();
    const bytes = await message.build();
    return { bytes, envelope: { ...message.getEnvelope(), size: bytes.length } };
  } catch (error) {
    throw new DeliveryFailure(error, { hasBegun: false });
  }
}

function converse(
  connection: SMTPConnection,
  { auth }: SmtpServer,
  envelope: Envelope,
  message: Readable,
): Promise<MailDelivery> {
  return new Promise((resolve, reject) => {
    connection.on("error", reject);
    // It closes without an error if our side has closed it.
    connection.once("end", () => reject(new Error("The connection was closed.")));
    const send = () =>
      connection.send(envelope, message, (error, info) => {
        if (error !== null) reject(error);
        else resolve({ accepted: info.accepted.map(String), rejected: info.rejected.map(String) });
      });
    connection.connect((error) => {
      if (error !== undefined && error !== null) return reject(error);
      if (auth === null) return send();
      return connection.login({ credentials: auth }, (refused) => {
        if (refused === null) send();
        else reject(refused);
      });
    });
  });
}

/** The bytes as a stream that is read only when the server asks for them, and that knows whether it was read. */
function onceRead(bytes: Uint8Array): { readonly stream: Readable; readonly hasBegun: () => boolean } {
  let hasBegun = false;
  const stream = new Readable({
    read() {
      hasBegun = true;
      this.push(bytes);
      this.push(null);
    },
  });
  return { stream, hasBegun: () => hasBegun };
}

async function loadNodemailer(): Promise<{
  readonly Composer: typeof MailComposer;
  readonly Connection: typeof SMTPConnection;
}> {
  return loadPackage("send_mail", "nodemailer@10", async () => {
    const [composer, connection] = await Promise.all([
      import("nodemailer/lib/mail-composer"),
      import("nodemailer/lib/smtp-connection"),
    ]);
    return { Composer: composer.default, Connection: connection.default };
  });
}
