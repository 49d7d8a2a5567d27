// A real mail server on the loopback interface, behind a connection that can be cut.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { onTestFinished } from "vitest";

export type MailServer = {
  readonly port: number;
  /** The accepted mails, in full. */
  readonly accepted: string[];
  /** The number of clients that connected. */
  readonly visits: () => number;
};

/** Faults of the server. */
export type Trouble = {
  /** The code of its refusal at this stage. */
  readonly refuse?: { readonly [stage in "connect" | "auth" | "from" | "to" | "data"]?: number };
  /** Cuts the connection: at once, before the mail, or after the mail was accepted and before that is confirmed. */
  readonly cut?: "greeting" | "from" | "accepted";
  /** How many times; afterwards there are no faults. */
  readonly times?: number;
  readonly password?: string;
};

type Stage = keyof NonNullable<Trouble["refuse"]>;

export async function openMailServer(trouble: Trouble = {}): Promise<MailServer> {
  const accepted: string[] = [];
  let left = trouble.times ?? Number.POSITIVE_INFINITY;
  let visits = 0;
  const clients = new Set<Socket>();
  const cutAt = (stage: Trouble["cut"]): boolean => {
    if (trouble.cut !== stage || left <= 0) return false;
    left--;
    for (const client of clients) client.destroy();
    return true;
  };
  const refusalAt = (stage: Stage): Error | null => {
    const responseCode = trouble.refuse?.[stage];
    if (responseCode === undefined || left <= 0) return null;
    left--;
    return Object.assign(new Error(`no ${stage}`), { responseCode });
  };
  const takeMail = async (stream: Readable, done: (error?: Error | null) => void) => {
    const mail = await readText(stream).catch(() => null);
    if (mail === null) return;
    const refusal = refusalAt("data");
    if (refusal !== null) return done(refusal);
    accepted.push(mail);
    if (!cutAt("accepted")) done();
  };
  const options: SMTPServerOptions = {
    authOptional: trouble.password === undefined,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect: (_session, done) => done(refusalAt("connect")),
    onAuth: ({ password, username }, _session, done) => {
      const refusal = refusalAt("auth");
      if (refusal !== null) return done(refusal);
      return password === trouble.password
        ? done(null, { user: username })
        : done(new Error("Invalid login"));
    },
    onMailFrom: (_address, _session, done) => {
      if (!cutAt("from")) done(refusalAt("from"));
    },
    onRcptTo: (_address, _session, done) => done(refusalAt("to")),
    onData: (stream, _session, done) => {
      void takeMail(stream, done);
    },
  };
  const smtp = new SMTPServer(options);
  smtp.on("error", () => undefined);
  const inner = await listening(smtp.listen(0, "127.0.0.1"));
  const wire = createServer((client) => {
    visits++;
    clients.add(client);
    const behind = connect(inner, "127.0.0.1");
    client.on("error", () => undefined).on("close", () => behind.destroy());
    behind.on("error", () => undefined).on("close", () => client.destroy());
    if (!cutAt("greeting")) client.pipe(behind).pipe(client);
  });
  const port = await listening(wire.listen(0, "127.0.0.1"));
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    await new Promise((resolve) => wire.close(resolve));
    await new Promise<void>((resolve) => smtp.close(() => resolve()));
  });
  return { port, accepted, visits: () => visits };
}

async function listening(server: Server): Promise<number> {
  if (!server.listening) await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A port that nothing listens at. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listening(server.listen(0, "127.0.0.1"));
  await new Promise((resolve) => server.close(resolve));
  return port;
}
