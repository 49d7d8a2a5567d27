import { Readable } from "node:stream";
import type MailComposer from "nodemailer/lib/mail-composer";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import { loadPackage } from "./load-package.ts";

/** Where a mail server is, and who we are to it. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number | undefined;
  readonly secure: boolean;
  readonly ignoreTls: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | null;
};

export type Mail = ConstructorParameters<typeof MailComposer>[0];

export type Delivery = { readonly accepted: readonly string[]; readonly rejected: readonly string[] };

/** A mail that was not accepted, with how far it came. */
export class DeliveryFailure extends Error {
  /** Whether any byte of the mail itself went out: before that, no server can have accepted it. */
  readonly hasBegun: boolean;
  /** What the server answered, if it did: 550. */
  readonly answer: number | null;
  readonly isAboutLogin: boolean;

  constructor(cause: unknown, hasBegun: boolean) {
    const { message, responseCode, code } = cause as {
      message?: unknown;
      responseCode?: unknown;
      code?: unknown;
    };
    super(typeof message === "string" ? message : String(cause), { cause });
    this.hasBegun = hasBegun;
    this.answer = typeof responseCode === "number" ? responseCode : null;
    this.isAboutLogin = code === "EAUTH" || this.answer === 530;
  }
}

const CONNECT_MS = 20_000;
const SILENCE_MS = 60_000;

/**
 * Hands one mail to a mail server. Not by nodemailer's transport: it does not tell whether the mail itself was already on its
 * way when the connection broke, and that decides whether it may be sent again.
 */
export async function deliver(server: SmtpServer, mail: Mail, signal: AbortSignal): Promise<Delivery> {
  const { Composer, Connection } = await loadNodemailer();
  const { bytes, envelope } = await composed(new Composer(mail));
  const connection = new Connection({
    host: server.host,
    ...(server.port === undefined ? {} : { port: server.port }),
    secure: server.secure,
    ignoreTLS: server.ignoreTls,
    // Whoever sits in between could otherwise leave TLS out of what the server offers, and read the password.
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
    throw new DeliveryFailure(error, message.hasBegun());
  } finally {
    signal.removeEventListener("abort", stop);
    connection.close();
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
    throw new DeliveryFailure(error, false);
  }
}

function converse(
  connection: SMTPConnection,
  { auth }: SmtpServer,
  envelope: Envelope,
  message: Readable,
): Promise<Delivery> {
  return new Promise((resolve, reject) => {
    connection.on("error", reject);
    // It is closed without an error where somebody here has closed it.
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

/** The bytes as a stream that is read only when the server has asked for them, and that knows whether it was. */
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
