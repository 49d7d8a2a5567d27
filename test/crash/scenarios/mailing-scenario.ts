// An agent that sends one mail over SMTP and, with `insists`, asks for it again in other words.

import { connect } from "node:net";
import { z } from "zod";
import { agent, Step, type StepNode, tool } from "../../../src/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { linesOf, readMails } from "../harness/mail-log.ts";
import { labelOf, resultsIn } from "../harness/prompt.ts";
import { recordWitness } from "../harness/witness.ts";
import type { MailingVariant } from "../harness/worker-order.ts";
import { type Setting, toolWork } from "./tool-work.ts";

export function mailing(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const { insists = false } = mailingOf(setting);
  const mail = (body: string) => ({
    toolCalls: [{ name: "send_email", input: { to: "maria@example.com", subject: "Results", body } }],
  });
  const model = scriptedPort(({ turn, options }) => {
    const results = resultsIn(options);
    recordWitness(folder, { kind: "asked", label: labelOf(options), turn });
    recordWitness(folder, { kind: "saw", turn, results });
    if (turn === 1) return mail("All tests pass.");
    if (turn === 2 && insists) return mail("Not one test has failed.");
    return { text: `Done: ${results.join("; ")}.` };
  });
  const clerk = agent({ name: "clerk", model, tools: { send_email: emailTool(setting) } });
  return Step.granular("mailing", clerk, variant.step);
}

function mailingOf({ variant }: Setting): MailingVariant {
  if (variant.mailing === undefined) throw new Error("The variant has no mail server.");
  return variant.mailing;
}

/** It declares no identity: Pawl derives one from its name. */
function emailTool(setting: Setting) {
  const { port, recovery } = mailingOf(setting);
  return tool({
    description: "Send one email.",
    inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
    recovery,
    timeoutMs: 5_000,
    landsWithinMs: 100,
    execute: (mail, call) =>
      toolWork(setting, "send_email", mail.body, call, () => {
        void call.correlate(call.idempotencyKey);
        return submit(port, mail, call.idempotencyKey);
      }),
    reconcile: (_, call) => {
      const found = readMails(setting.folder).find(({ messageId }) => messageId === call.idempotencyKey);
      if (found === undefined) return { status: "absent" };
      void call.correlate(found.messageId);
      return { status: "done", result: `found in the log: ${found.text}` };
    },
  });
}

type OutgoingMail = { readonly to: string; readonly subject: string; readonly body: string };

/** Sends one message over one connection. Throws unless the server accepts it. */
async function submit(port: number, { to, subject, body }: OutgoingMail, messageId: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const message = `Message-ID: <${messageId}@example.com>\r\nTo: <${to}>\r\nSubject: ${subject}\r\n\r\n${body}`;
  const lines = [
    "EHLO example.com",
    "MAIL FROM:<us@example.com>",
    `RCPT TO:<${to}>`,
    "DATA",
    `${message}\r\n.`,
  ];
  const replies = linesOf(socket);
  try {
    for (const line of [...lines, "QUIT"]) {
      const { value: reply } = await replies.next();
      if (!/^[23]/.test(reply ?? "")) throw new Error(`The server answered ${reply ?? "nothing"}.`);
      socket.write(`${line}\r\n`);
    }
    return "250 accepted";
  } finally {
    socket.destroy();
  }
}
