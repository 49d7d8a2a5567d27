/**
 * An agent that tells a customer that a parcel is on its way. It comes twice: with a tool that would send the mail a second
 * time after a crash, and with that tool mended.
 */
import { z } from "zod";
import { agent, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

type Mail = { readonly to: string; readonly subject: string };

/** What a mail service takes: with a key, the same mail is sent once. This one sends nothing, so no test reaches anybody. */
const mailService = {
  send: (mail: Mail, _options: { readonly key?: string } = {}) => ({ id: `mail to ${mail.to}` }),
};

const definition = {
  description: "Send one email.",
  inputSchema: z.object({ to: z.string(), subject: z.string() }),
  effect: "external",
  recovery: "keyed", // After a crash it may run again: the mail service drops a second mail with the same key.
} as const;

/** Says that it has a key, and does not hand it on. */
const sendEmail = tool({
  ...definition,
  execute: (mail) => mailService.send(mail),
});

const sendEmailOnce = tool({
  ...definition,
  execute: (mail, call) => mailService.send(mail, { key: call.idempotencyKey }),
});

/** Any AI SDK model goes here; in a crash test a script stands in for it anyway. */
export const model = scriptedModel([
  {
    toolCalls: [{ name: "send_email", input: { to: "ann@example.com", subject: "It is on its way" } }],
  },
  { text: "Ann knows." },
]);

const instructions = "Tell the customer that the parcel is on its way.";

export const mailer = agent({ name: "mailer", model, instructions, tools: { send_email: sendEmail } });

export const mended = agent({ name: "mended", model, instructions, tools: { send_email: sendEmailOnce } });
