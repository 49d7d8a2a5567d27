import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import type { AnswerHold } from "./answer-hold.ts";
import { jsonAnswer, listenOnLoopback } from "./loopback-server.ts";

type AcceptedMail = {
  /** Without its angle brackets. */
  readonly messageId: string;
  readonly to: readonly string[];
  readonly raw: string;
};

export type MailService = {
  readonly smtpPort: number;
  /** `GET {sentUrl}/:messageId` returns whether such a mail was accepted. */
  readonly sentUrl: string;
  /** Every mail that was accepted, in order. */
  readonly accepted: readonly AcceptedMail[];
  /** The message ids that were looked up, in order. */
  readonly lookUps: readonly string[];
  readonly close: () => Promise<void>;
};

/**
 * A real SMTP server, and the equivalent of a mail provider's "sent" folder: a look-up by Message-ID. Like any mail server
 * it does not deduplicate: what is sent twice is delivered twice.
 */
export async function openMailService(hold: AnswerHold): Promise<MailService> {
  const accepted: AcceptedMail[] = [];
  const lookUps: string[] = [];
  /** An incomplete message is not accepted. */
  const accept: AcceptMail = async (stream, to, done) => {
    try {
      const raw = await text(stream);
      const messageId = messageIdOf(raw);
      accepted.push({ messageId, to, raw });
      await hold.pass("mail", messageId);
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const smtp = await listenForMail(accept);
  const sent = await listenOnLoopback(({ path }) => {
    const messageId = decodeURIComponent(path.split("/")[2] ?? "");
    lookUps.push(messageId);
    const mail = accepted.find((each) => each.messageId === messageId);
    if (mail === undefined) return jsonAnswer(404, { error: "No such mail was sent." });
    return jsonAnswer(200, { messageId, to: mail.to });
  });
  return {
    smtpPort: (smtp.server.address() as AddressInfo).port,
    sentUrl: `${sent.url}/sent`,
    accepted,
    lookUps,
    close: async () => {
      await sent.close();
      await new Promise<void>((resolve) => smtp.close(() => resolve()));
    },
  };
}

type AcceptMail = (stream: Readable, to: readonly string[], done: (error?: Error) => void) => Promise<void>;

async function listenForMail(accept: AcceptMail): Promise<SMTPServer> {
  const smtp = new SMTPServer({
    name: "mail.example",
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData: (stream, { envelope }, done) => {
      const to = envelope.rcptTo.map(({ address }) => address);
      void accept(stream, to, done);
    },
  });
  // Clients are killed in the middle of a session.
  smtp.on("error", () => undefined);
  smtp.listen(0, "127.0.0.1");
  await once(smtp.server, "listening");
  return smtp;
}

/** The header may be folded over two lines. */
function messageIdOf(raw: string): string {
  const [head = ""] = raw.split("\r\n\r\n");
  const unfolded = head.replace(/\r\n[ \t]+/g, " ");
  return /^Message-ID:\s*<([^>]*)>/im.exec(unfolded)?.[1] ?? "";
}
